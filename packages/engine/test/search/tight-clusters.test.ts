// Rows in clusters much smaller than the distances between them. Codes order the rows of a cluster at random, so searches compare more of their
// original vectors, at every precision below float32.
import { test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'
import { createRandom } from '../vector/world.ts'
import { openPrecisions } from './rig.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const dimension = 32
const clusters = 20
/** More than a search with this ef compares in order. */
const n = 3_000
const ef = 32
const k = 10

/** Recall that each precision has at least, with a wide margin. */
const least: Readonly<Partial<Record<Precision, number>>> = {
  float16: 0.95,
  int16: 0.9,
  int8: 0.9,
  int4: 0.9,
  int2: 0.9,
  binary: 0.9,
}

test('rows of tight clusters are found at every precision', async (t) => {
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const centers = Array.from({ length: clusters }, () => Array.from({ length: dimension }, normal))
  const near = (cluster: number) => Float32Array.from(centers[cluster] as number[], (x) => x + 0.01 * normal())
  const rows = Array.from({ length: n }, (_, i) => near(i % clusters))
  const precisions = Object.keys(least) as Precision[]
  const collection = await openPrecisions(t, precisions, rows, (i) => ({ half: i % 2, fifth: isInFifth(i) ? 0 : 1 }))
  const queries = Array.from({ length: 20 }, (_, i) => near(i % clusters))

  for (const precision of precisions) {
    let [found, widened] = [0, 0]
    for (const query of queries) {
      const request = { fields: { [precision]: { query, limit: k, ef } } }
      const { results } = await collection.search(request)
      const truth = nearest(rows, query)
      found += (results[precision] ?? []).filter(({ id }) => truth.has(Number(id))).length
      const { explain } = await collection.search({ ...request, explain: true })
      if (explain?.fields[precision]?.reason.includes('more original vectors were compared')) widened++
    }
    const recall = found / k / queries.length
    t.ok(recall >= (least[precision] as number), `${precision} finds ${recall}`)
    t.ok(widened > 0, `${precision} says that it compared more original vectors`)
  }

  t.test('a filter changes nothing, and neither does a stored object as the query', async (t) => {
    let [filtered, stored] = [0, 0]
    for (const [i, query] of queries.entries()) {
      const half = i % 2
      const { results } = await collection.search({
        fields: { int8: { query, limit: k, ef } },
        filter: [{ half: { $eq: half } }],
      })
      const matching = nearest(rows, query, (row) => row % 2 === half)
      filtered += (results.int8 ?? []).filter(({ id }) => matching.has(Number(id))).length
      const own = await collection.search({ fields: { int8: { query: { id: `${i}` }, limit: k, ef } } })
      const others = nearest(rows, rows[i] as Float32Array, (row) => row !== i)
      t.notOk(own.results.int8?.some(({ id }) => id === `${i}`))
      stored += (own.results.int8 ?? []).filter(({ id }) => others.has(Number(id))).length
    }
    t.ok(filtered / k / queries.length >= 0.9, `${filtered} with a filter`)
    t.ok(stored / k / queries.length >= 0.9, `${stored} by stored objects`)
  })

  t.test('rows of clusters that fill only a part of the candidates are found', async (t) => {
    for (const precision of precisions) {
      let found = 0
      for (const query of queries) {
        const { results } = await collection.search({
          fields: { [precision]: { query, limit: k } },
          filter: [{ fifth: { $eq: 0 } }],
        })
        const truth = nearest(rows, query, isInFifth)
        found += (results[precision] ?? []).filter(({ id }) => truth.has(Number(id))).length
      }
      const recall = found / k / queries.length
      t.ok(recall >= (least[precision] as number), `${precision} finds ${recall}`)
    }
  })

  t.test('similarities that are estimates are in the range of the space', async (t) => {
    for (const precision of ['int4', 'int2', 'binary'])
      for (const query of queries) {
        const { results } = await collection.search({ fields: { [precision]: { query, limit: k } }, rescore: false })
        t.ok(results[precision]?.every(({ similarity, distance }) => similarity <= 0 && distance >= 0))
      }
  })

  t.test('a search that must not rescore reads no original vectors', async (t) => {
    const [query] = queries
    const { explain } = await collection.search({
      fields: { int8: { query: query as Float32Array, limit: k, ef } },
      rescore: false,
      explain: true,
    })
    t.equal(explain?.fields.int8?.rescored, undefined)
  })
})

/** Whether a row is one of 30 of its cluster. */
function isInFifth(row: number): boolean {
  return Math.floor(row / clusters) % 5 === 0
}

/** The k nearest of the rows that count. */
function nearest(rows: readonly Float32Array[], query: Float32Array, counts: (row: number) => boolean = () => true) {
  const distances = rows.map((row) => row.reduce((sum, x, i) => sum + (x - (query[i] as number)) ** 2, 0))
  const all = [...rows.keys()].filter(counts)
  all.sort((a, b) => (distances[a] as number) - (distances[b] as number))
  return new Set(all.slice(0, k))
}
