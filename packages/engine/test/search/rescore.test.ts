// Results from the original vectors on disk: what fields of few bits report by default, and what `exact` compares for every precision, checked
// by plain arithmetic in double precision.
import { test } from 'tap'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import { candidatesMaxFor } from '../../src/search/rescore.ts'
import { clusteredRows, createRandom } from '../vector/world.ts'
import { openCollection } from './rig.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const spaces = ['cosine', 'l2', 'ip'] as const
const precisions = ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32'] as const
const dimension = 64
const n = 600

const rows = clusteredRows(n, dimension, seed)
const vectorOf = (i: number) => Array.from(rows.subarray(i * dimension, (i + 1) * dimension))

function exactly(space: SpaceType, a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [sum, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number]
    sum += space === 'l2' ? -((x - y) ** 2) : x * y
    aa += x * x
    bb += y * y
  }
  return space === 'cosine' ? sum / Math.sqrt(aa * bb) : sum
}

/** Ids of the k nearest among the matching objects, best first. */
function nearest(
  space: SpaceType,
  query: ArrayLike<number>,
  k: number,
  counts: (i: number) => boolean = () => true,
): string[] {
  return Array.from({ length: n }, (_, i) => ({ i, similarity: exactly(space, vectorOf(i), query) }))
    .filter(({ i }) => counts(i))
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, k)
    .map(({ i }) => `${i}`)
}

const fieldOf = (spaceType: SpaceType, precision: Precision) => ({
  name: `${spaceType}_${precision}`,
  type: 'vector' as const,
  params: { dimension, spaceType, precision },
})

for (const space of spaces)
  test(`every precision with ${space}`, async (t) => {
    t.comment(`seed ${seed}`)
    const fields = precisions.map((precision) => fieldOf(space, precision))
    const collection = await openCollection(t, fields)
    for (let from = 0; from < n; from += 300)
      await collection.upsert(
        Array.from({ length: 300 }, (_, i) => ({
          id: `${from + i}`,
          filter: { third: (from + i) % 3 },
          fields: Object.fromEntries(fields.map(({ name }) => [name, vectorOf(from + i)])),
        })),
      )
    const random = createRandom(seed + 1)
    const queries = Array.from({ length: 6 }, () => vectorOf(Math.floor(random() * n)).map((x) => x + random() - 0.5))
    const [first = [], second = []] = queries

    /** The largest error of reported similarities over all queries, in units of max(1, |similarity|), and the recall. */
    const measureErrors = async (name: string, more: object) => {
      let [error, found] = [0, 0]
      for (const query of queries) {
        const { results } = await collection.search({ fields: { [name]: { query, limit: 10 } }, ...more })
        const hits = results[name] ?? []
        const truth = nearest(space, query, 10)
        found += hits.filter(({ id }) => truth.includes(id)).length
        for (const { id, similarity } of hits) {
          const exact = exactly(space, vectorOf(Number(id)), query)
          error = Math.max(error, Math.abs(similarity - exact) / Math.max(1, Math.abs(exact)))
        }
      }
      return { error, found: found / 10 / queries.length }
    }
    const explanationOf = async (name: string, more: object) => {
      const { explain } = await collection.search({
        fields: { [name]: { query: first, limit: 10 } },
        explain: true,
        ...more,
      })
      return explain?.fields[name]
    }

    for (const precision of precisions) {
      const name = `${space}_${precision}`
      t.test(`${name}: exact compares the original vectors`, async (t) => {
        for (const more of [{ exact: true }, { exact: true, rescore: false }]) {
          const { error, found } = await measureErrors(name, more)
          t.equal(found, 1)
          t.ok(error < 1e-6, `error ${error}`)
        }
        const filter = [{ third: { $eq: 1 } }]
        const { results } = await collection.search({
          fields: { [name]: { query: first, limit: 7 } },
          filter,
          exact: true,
        })
        const ids = results[name]?.map(({ id }) => id)
        t.strictSame(
          ids,
          nearest(space, first, 7, (i) => i % 3 === 1),
          'of those that match',
        )
        t.match(await explanationOf(name, { filter, exact: true }), { plan: 'scan', distances: n / 3 })
      })
    }

    for (const precision of ['binary', 'int2', 'int4'] as const) {
      const coarse = `${space}_${precision}`
      t.test(`${coarse} is rescored unless the search disables it`, async (t) => {
        const byDefault = await measureErrors(coarse, {})
        t.ok(byDefault.error < 1e-6, `error ${byDefault.error}`)
        t.ok(byDefault.found >= 0.95, `recall ${byDefault.found}`)
        t.strictSame(await measureErrors(coarse, { rescore: true }), byDefault)
        t.ok((await measureErrors(coarse, { rescore: false })).error > 1e-4, 'codes estimate')
        const rescored = (await explanationOf(coarse, {}))?.rescored ?? 0
        t.ok(rescored >= 10 && rescored <= candidatesMaxFor(10, precision), `${rescored} reads of one search`)
        t.equal((await explanationOf(coarse, { rescore: false }))?.rescored, undefined)
      })

      t.test(`${coarse}: a search by a stored object uses its original vector and excludes it`, async (t) => {
        const { results } = await collection.search({ fields: { [coarse]: { query: { id: '77' }, limit: 10 } } })
        const hits = results[coarse] ?? []
        const truth = nearest(space, vectorOf(77), 10, (i) => i !== 77)
        t.equal(hits.length, 10)
        t.notOk(hits.some(({ id }) => id === '77'))
        t.ok(hits.filter(({ id }) => truth.includes(id)).length >= 9)
        for (const { id, similarity } of hits) {
          const exact = exactly(space, vectorOf(77), vectorOf(Number(id)))
          t.ok(Math.abs(similarity - exact) <= 1e-6 * Math.max(1, Math.abs(exact)))
        }
      })

      t.test(`${coarse}: a threshold applies to exact similarities`, async (t) => {
        const third = exactly(space, vectorOf(Number(nearest(space, second, 3)[2])), second)
        const scoreThreshold = third - Math.abs(third) * 1e-6
        const fields = { [coarse]: { query: second, limit: 10, scoreThreshold } }
        const { results } = await collection.search({ fields: fields })
        const ids = results[coarse]?.map(({ id }) => id)
        t.strictSame(ids, nearest(space, second, 3))
      })
    }

    t.test('other precisions are rescored only if the search requests it', async (t) => {
      for (const precision of ['int8', 'int16', 'float16'] as const) {
        const name = `${space}_${precision}`
        t.equal((await explanationOf(name, {}))?.rescored, undefined, name)
        t.ok((await measureErrors(name, { rescore: true })).error < 1e-6, name)
      }
    })
  })
