// One of the first rows is far from all others. It does not count for the center of the graph, so codes distinguish the others.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'
import { openPrecisions } from './rig.ts'

const seed = chosenSeed()
const dimension = 32
/** More than a search with this ef compares in order. */
const n = 1_600
const ef = 16
const k = 10
const precisions: readonly Precision[] = ['float32', 'int8', 'int4', 'int2', 'binary']

test(`a first row that is a million times as long hides no others, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const draw = () => Float32Array.from({ length: dimension }, (_, i) => (random.next() - 0.5) / (1 + i))
  const rows = Array.from({ length: n }, (_, i) => (i === 0 ? draw().map((x) => x * 1e6) : draw()))
  const collection = await openPrecisions(t, precisions, rows)
  const queries = Array.from({ length: 20 }, draw)
  for (const precision of precisions) {
    let found = 0
    for (const query of queries) {
      const { results } = await collection.search({ fields: { [precision]: { query, limit: k, ef } } })
      const truth = nearest(rows, query)
      found += (results[precision] ?? []).filter(({ id }) => truth.has(Number(id))).length
    }
    const recall = found / k / queries.length
    t.ok(recall >= 0.8, `${precision} finds ${recall}`)
  }
})

function nearest(rows: readonly Float32Array[], query: Float32Array): Set<number> {
  const distances = rows.map((row) => row.reduce((sum, x, i) => sum + (x - (query[i] as number)) ** 2, 0))
  const all = [...rows.keys()].sort((a, b) => (distances[a] as number) - (distances[b] as number))
  return new Set(all.slice(0, k))
}
