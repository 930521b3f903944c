// Objects of multi-vector fields whose vectors are in clusters much smaller than the distances between them. Codes order the pooled vectors of a
// cluster at random, so searches compare the members of more objects.
import { type FieldDefinition, openEngine } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'
import { openDirectory } from './rig.ts'

const seed = chosenSeed()
const dimension = 32
const clusters = 8
/** More than a search with this ef compares in order. */
const n = 1_600
const ef = 16
const k = 10
const precisions: readonly Precision[] = ['float16', 'int8', 'int4', 'int2', 'binary']

test(`objects of tight clusters are found at every precision, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  const centers = Array.from({ length: clusters }, () => Array.from({ length: dimension }, normal))
  const near = (cluster: number) => Array.from(centers[cluster] as number[], (x) => Math.fround(x + 0.01 * normal()))
  const objects = Array.from({ length: n }, (_, i) => Array.from({ length: 1 + (i % 2) }, () => near(i % clusters)))
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const fields: FieldDefinition[] = precisions.map((precision) => ({
    name: precision,
    type: 'multi_vector',
    params: { dimension, spaceType: 'l2', precision },
  }))
  const collection = await engine.database().createCollection({ name: 'things', fields })
  for (let from = 0; from < n; from += 400)
    await collection.upsert(
      objects.slice(from, from + 400).map((members, i) => ({
        id: `${from + i}`,
        fields: Object.fromEntries(precisions.map((precision) => [precision, members])),
      })),
    )
  const queries = Array.from({ length: 20 }, (_, i) => near(i % clusters))
  const truths = queries.map((query) => nearest(objects, query))

  for (const precision of precisions) {
    let [found, widened] = [0, 0]
    for (const [i, query] of queries.entries()) {
      const request = { fields: { [precision]: { query, limit: k, ef } }, explain: true }
      const { results, explain } = await collection.search(request)
      found += (results[precision] ?? []).filter(({ id }) => truths[i]?.has(Number(id))).length
      if (explain?.fields[precision]?.reason.includes('more original vectors were compared')) widened++
    }
    const recall = found / k / queries.length
    t.ok(recall >= 0.95, `${precision} finds ${recall}`)
    t.ok(widened > 0, `${precision} says that it compared more original vectors`)
  }

  t.test('rescore: false compares no more of them', async (t) => {
    const [query] = queries
    const request = { fields: { int4: { query: query as number[], limit: k, ef } }, rescore: false, explain: true }
    const { explain } = await collection.search(request)
    t.ok((explain?.fields.int4?.rescored ?? n) <= 3 * k + 1)
  })
})

/** The k objects whose most similar member is nearest. */
function nearest(objects: readonly number[][][], query: readonly number[]): Set<number> {
  const distance = (row: readonly number[]) => row.reduce((sum, x, i) => sum + (x - (query[i] as number)) ** 2, 0)
  const distances = objects.map((members) => Math.min(...members.map(distance)))
  const all = [...distances.keys()].sort((a, b) => (distances[a] as number) - (distances[b] as number))
  return new Set(all.slice(0, k))
}
