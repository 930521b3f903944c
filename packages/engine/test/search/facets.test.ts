// Facets of a key with very many values: exact as of one version, with bounded work in each turn.
import tap, { test } from 'tap'
import { countFacets } from '../../src/search/facets.ts'
import { openDirectory, openIn } from './rig.ts'

tap.setTimeout(120_000)

const turnMax = 4_096

test('no turn counts more than a few thousand values, however many the key has', async (t) => {
  for (const values of [0, 1, turnMax - 1, turnMax, 100_000]) {
    let visited = 0
    const filters = {
      evaluate: () => ({ bitmap: undefined as never, count: 0 }),
      *valuesOf() {
        for (; visited < values; ) {
          visited++
          yield { value: `v${visited % 977}-${visited}`, count: (visited * 7) % 13 }
        }
      },
    }
    const work = countFacets({ filters, lsnApplied: 5 as never }, { key: 'k', filter: [], texts: [], limit: 3 })
    let turns = 0
    let most = 0
    for (let before = 0; ; before = visited) {
      const step = work.next()
      turns++
      most = Math.max(most, visited - before)
      if (!step.done) continue
      t.match(step.value, { distinct: values, lsn: 5 })
      t.equal(step.value.values.length, Math.min(3, values))
      break
    }
    t.ok(most <= turnMax, `${most} of ${values} values in one turn`)
    t.equal(turns, Math.floor(values / turnMax) + 1)
  }
})

test('concurrent writes do not change the result and are applied after it, and other work has its turns', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const fields = [{ name: 'words', type: 'sparse', sparse_model: 'default' }] as const
  const collection = await engine.database().createCollection({ name: 'things', fields })
  const distinct = 3 * turnMax
  const objectsFrom = (from: number, count: number, text: string) =>
    Array.from({ length: count }, (_, i) => ({
      id: `${from + i}`,
      filter: { key: `${text}${from + i}` },
      fields: { words: { indices: [1], values: [1] } },
    }))
  for (let from = 0; from < distinct; from += 1_000)
    await collection.upsert(objectsFrom(from, Math.min(1_000, distinct - from), 'old'))
  let turns = 0
  let isOver = false
  const tick = () => {
    turns++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const asking = collection.facets({ key: 'key', limit: 10_000 })
  // Replaces values at both ends while they are counted.
  const writing = collection.upsert([...objectsFrom(0, 500, 'new'), ...objectsFrom(distinct - 500, 500, 'new')])
  const facets = await asking
  isOver = true
  const written = await writing
  t.equal(facets.distinct, distinct)
  t.ok(facets.lsn < written.lsn, 'as of before the write')
  t.notOk(facets.values.some(({ value }) => `${value}`.startsWith('new')))
  t.ok(turns >= distinct / turnMax, `${turns} turns of others`)
  const after = await collection.facets({ key: 'key', limit: 10_000 })
  t.equal(after.values.filter(({ value }) => `${value}`.startsWith('new')).length, 1_000)
  t.equal(after.lsn, written.lsn)
})
