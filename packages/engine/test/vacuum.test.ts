// Deletes free memory: after nine of ten objects are deleted, a vacuum frees at least 85 % of the accounted bytes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const dimension = 64
const count = 10_000
const fields = [
  { name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'int8', M: 8, ef_con: 16 } },
] as const

function objects(from: number) {
  return Array.from({ length: 1_000 }, (_, i) => {
    const n = from + i
    return {
      id: `object-${n}`,
      meta: { n, title: `the object of number ${n}`.repeat(3) },
      filter: { kept: n % 10 === 0, price: n % 100 },
      fields: { v: Array.from({ length: dimension }, (__, index) => Math.sin(n * (index + 1))) },
    }
  })
}

test('deleting 90 % and a vacuum free 85 % of the memory, and the next start uses as little', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-vacuum-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  const engine = await openEngine({ dataDir })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  for (let from = 0; from < count; from += 1_000) await collection.upsert(objects(from))
  const bytes = (): number => Object.values(collection.describe().memory).reduce((sum, part) => sum + part, 0)
  const before = bytes()
  await collection.deleteWhere([{ kept: { $eq: false } }])
  await collection.vacuum()
  const left = bytes()
  t.ok(left <= 0.15 * before, `${left} of ${before} bytes are left: ${JSON.stringify(collection.describe().memory)}`)
  const digest = collection.stateDigest()
  await engine.close()
  const again = await openEngine({ dataDir })
  const loaded = again.database().collection('c')
  const memory = Object.values(loaded.describe().memory).reduce((sum, part) => sum + part, 0)
  t.equal(loaded.stateDigest(), digest)
  t.ok(memory <= 0.15 * before, `${memory} of ${before} bytes after a start`)
  await again.close()
})
