// Neighbors in the graph as a user sees them, without deleted objects.
import { test } from 'tap'
import { clusteredRows } from '../vector/world.ts'
import { denseField, openCollection } from './rig.ts'

const dimension = 16
const count = 600

test('neighbors of every object are live and mostly the nearest', async (t) => {
  const collection = await openCollection(t, [denseField(dimension), { name: 'words', type: 'sparse', params: {} }])
  const rows = clusteredRows(count, dimension, 7, 10)
  const vector = (i: number) => rows.subarray(i * dimension, (i + 1) * dimension)
  await collection.upsert(Array.from({ length: count }, (_, i) => ({ id: `${i}`, fields: { dense: vector(i) } })))
  await collection.upsert([{ id: 'wordy', fields: { words: { indices: [1], values: [1] } } }])

  const neighbors = collection.neighbors('dense', '0')
  t.ok(neighbors.length > 0 && neighbors.length <= 32, `${neighbors.length} neighbors`)
  t.notOk(neighbors.includes('0'), 'nobody is its own neighbor')
  const { results } = await collection.search({ fields: { dense: { query: vector(0), limit: 2 } } })
  t.ok(neighbors.includes(results.dense?.[1]?.id ?? ''), 'the nearest is one of them')

  const gone = neighbors.slice(0, 2)
  await collection.delete(gone)
  const left = collection.neighbors('dense', '0')
  t.notOk(left.some((id) => gone.includes(id)))
  t.ok(left.length > 0)

  t.strictSame(collection.neighbors('dense', 'wordy'), [], 'an object without a vector has none')
  t.throws(() => collection.neighbors('dense', 'absent'), { code: 'object_not_found' })
  t.throws(() => collection.neighbors('dense', gone[0] ?? ''), { code: 'object_not_found' })
  t.throws(() => collection.neighbors('absent', '0'), { code: 'field_not_found' })
  t.throws(() => collection.neighbors('words', '0'), { code: 'invalid_argument' })
})
