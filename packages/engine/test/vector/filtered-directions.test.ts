// Filters in every direction from the query, at every precision, with removed and reused rows: recall against the exact answer has a floor,
// no search returns a row that is not allowed, and every thread returns the same. Recall depends on the data, mostly on how few bits tell the
// rows of one cluster apart, so the floors are those of fixed data. The rest also holds for random data, which ANNAL_SEED chooses.
import { chosenSeed } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import { isCoarse } from '../../src/model/choices.ts'
import { type Precision, rulesNewest } from '../../src/model/schema.ts'
import { candidatesFor } from '../../src/search/rescore.ts'
import { type GraphDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { createRandom, definitionOf, rowsOf } from './world.ts'

const fixedSeed = 59
const drawnSeed = chosenSeed()
const isLong = process.env.ANNAL_LONG !== undefined
const [k, ef, queries] = [10, 128, isLong ? 100 : 12]
/** Least mean over all filters and queries of a field, and of one kind of filter. Codes of few bits order candidates coarsely. */
const floors: Partial<Record<Precision, readonly [number, number]>> = { int2: [0.95, 0.88], binary: [0.92, 0.85] }
const floor = [0.97, 0.9] as const

const kinds = [
  'any',
  'own cluster',
  'another cluster',
  'other clusters',
  'not the own cluster',
  'a run of rows',
] as const
type Kind = (typeof kinds)[number]

/** Rows around centers that are some distance apart, one cluster after another or mixed. */
function clusters(n: number, dimension: number, random: () => number) {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const count = 5 + Math.floor(random() * 15)
  const spread = 0.5 + random() * 2
  const inOrder = random() < 0.5
  const centers = Float32Array.from({ length: count * dimension }, () => 3 + spread * gauss())
  const clusterOf = (row: number) => (inOrder ? Math.floor((row * count) / n) : row % count)
  const near = (cluster: number) =>
    Float32Array.from({ length: dimension }, (_, i) => (centers[cluster * dimension + i] as number) + gauss())
  const vectors = new Float32Array(n * dimension)
  for (let row = 0; row < n; row++) vectors.set(near(clusterOf(row)), row * dimension)
  return { count, clusterOf, near, vectors }
}

function allows(
  kind: Kind,
  {
    own,
    count,
    n,
    clusterOf,
    random,
  }: { own: number; count: number; n: number; clusterOf: (row: number) => number; random: () => number },
): (row: number) => boolean {
  const share = [0.05, 0.1, 0.5, 0.9][Math.floor(random() * 4)] as number
  const other = (own + 1 + Math.floor(random() * (count - 1))) % count
  const first = Math.floor(random() * n * (1 - share))
  const drawn = Uint8Array.from({ length: n }, () => (random() < share ? 1 : 0))
  if (kind === 'any') return (row) => drawn[row] === 1
  if (kind === 'own cluster') return (row) => clusterOf(row) === own
  if (kind === 'another cluster') return (row) => clusterOf(row) === other
  if (kind === 'other clusters') return (row) => clusterOf(row) !== own && (clusterOf(row) + other) % 3 === 0
  if (kind === 'not the own cluster') return (row) => clusterOf(row) !== own
  return (row) => row >= first && row < first + share * n
}

interface Data {
  readonly precision: Precision
  readonly seed: number
  readonly n: number
}

/** Searches, and returns the mean recall of each kind of filter. */
async function measure(
  t: Test,
  { precision, seed, n }: Data,
): Promise<{ readonly kind: Kind; readonly mean: number }[]> {
  const random = createRandom(seed)
  const dimension = isCoarse(precision) ? 256 : 16 + Math.floor(random() * 48)
  const [one, two] = await Promise.all([openWorkerPool({ threads: 1 }), openWorkerPool({ threads: 2 })])
  const definition = definitionOf({ dimension, precision, rules: rulesNewest })
  const field = await openDenseField(definition, one)
  const twin = await openDenseField(definition, two)
  const { count, clusterOf, near, vectors } = clusters(n, dimension, random)
  const removed = Uint32Array.from({ length: n }, (_, row) => row).filter((row) => row % 9 === 4)
  const reused = removed.filter((_, i) => i % 2 === 0)
  // Some rows are removed, and every second ordinal of them gets another row, near the center of the next cluster.
  const fresh = reused.map((row) => (clusterOf(row) + 1) % count)
  const clusterNow = (row: number) => (reused.includes(row) ? (fresh[reused.indexOf(row)] as number) : clusterOf(row))
  const later = new Float32Array(reused.length * dimension)
  fresh.forEach((cluster, i) => {
    later.set(near(cluster), i * dimension)
  })
  for (const one of [field, twin]) {
    await one.apply(1, rowsOf(vectors, dimension, 0, n), new Uint32Array(0))
    await one.apply(2, undefined, removed)
    await one.sweep(2)
    const norms = new Float32Array(reused.length).fill(1)
    await one.apply(3, { ordinals: reused, vectors: later, norms }, new Uint32Array(0))
  }
  reused.forEach((row, i) => {
    vectors.set(later.subarray(i * dimension, (i + 1) * dimension), row * dimension)
  })
  const clusterOfRow = Array.from({ length: n }, (_, row) => clusterNow(row))
  const recalls = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]))
  for (let q = 0; q < queries; q++) {
    const own = Math.floor(random() * count)
    const query = near(own)
    for (const kind of kinds) {
      const isAllowed = allows(kind, { own, count, n, clusterOf: (row) => clusterOfRow[row] as number, random })
      const listed = Array.from({ length: n }, (_, row) => row).filter(isAllowed)
      const recall = await recallOf(t, { field, twin, vectors, query, listed })
      recalls.get(kind)?.push(recall)
    }
  }
  const means = [...recalls].map(([kind, all]) => ({ kind, mean: all.reduce((a, b) => a + b, 0) / all.length }))
  t.comment(
    `seed ${seed}, ${precision} x ${dimension}, ${n} rows, ${count} clusters: ${means.map((one) => `${one.kind} ${one.mean.toFixed(3)}`).join(', ')}`,
  )
  await field.close()
  await twin.close()
  await Promise.all([one.close(), two.close()])
  return means
}

async function recallOf(
  t: Test,
  {
    field,
    twin,
    vectors,
    query,
    listed,
  }: { field: GraphDenseField; twin: GraphDenseField; vectors: Float32Array; query: Float32Array; listed: number[] },
): Promise<number> {
  const { dimension, precision } = field.definition.params
  const squared = (row: number) =>
    query.reduce((sum, x, i) => sum + (x - (vectors[row * dimension + i] as number)) ** 2, 0)
  const live = listed.filter((row) => field.has(row, 3))
  const nearest = live.map((row) => ({ row, distance: squared(row) })).sort((a, b) => a.distance - b.distance)
  const truth = new Set(nearest.slice(0, k).map(({ row }) => row))
  // A search of a coarse precision orders its candidates by the original vectors.
  const wanted = isCoarse(precision) ? candidatesFor(k, ef, precision) : k
  const options = { k: wanted, ef: Math.max(ef, wanted), version: 3, allowed: Bitmap.from(listed) }
  const found = await field.search(query, options)
  const again = await twin.search(query, options)
  if (found.ordinals.join() !== again.ordinals.join()) t.fail('two workers return something else')
  if (!found.ordinals.every((row) => live.includes(row))) t.fail('a row that is not allowed, or removed')
  if (found.ordinals.length !== Math.min(wanted, live.length)) t.fail(`${found.ordinals.length} rows`)
  const good = found.ordinals.filter((row) => truth.has(row)).length
  return truth.size === 0 ? 1 : good / truth.size
}

for (const precision of ['float32', 'int8', 'int4', 'int2', 'binary'] as Precision[])
  test(`filters in every direction find the nearest allowed rows, ${precision}`, async (t) => {
    const [meanLeast, kindLeast] = floors[precision] ?? floor
    for (let i = 0; i < (isLong ? 20 : 1); i++) {
      const means = await measure(t, { precision, seed: fixedSeed + i, n: 3_000 })
      const mean = means.reduce((sum, one) => sum + one.mean, 0) / means.length
      t.ok(mean >= meanLeast, `${precision}: mean recall ${mean.toFixed(4)}`)
      for (const one of means) t.ok(one.mean >= kindLeast, `${precision}, ${one.kind}: recall ${one.mean.toFixed(4)}`)
      await measure(t, { precision, seed: drawnSeed + i, n: 1_000 })
    }
  })

test('a filter that allows exactly the rows farthest from the query finds the nearest of them', async (t) => {
  const random = createRandom(fixedSeed)
  const [n, dimension] = [6_000, 48]
  const { count, near, vectors } = clusters(n, dimension, random)
  const pool = await openWorkerPool({ threads: 1 })
  const field = await openDenseField(definitionOf({ dimension, precision: 'float32', rules: rulesNewest }), pool)
  await field.apply(1, rowsOf(vectors, dimension, 0, n), new Uint32Array(0))
  for (const share of [0.1, 0.25, 0.5, 0.75]) {
    let found = 0
    for (let q = 0; q < queries; q++) {
      const query = near(Math.floor(random() * count))
      const squared = (row: number) =>
        query.reduce((sum, x, i) => sum + (x - (vectors[row * dimension + i] as number)) ** 2, 0)
      const farthest = Array.from({ length: n }, (_, row) => ({ row, distance: squared(row) }))
        .sort((a, b) => b.distance - a.distance)
        .slice(0, share * n)
      const truth = new Set(farthest.slice(-k).map(({ row }) => row))
      const allowed = Bitmap.from(farthest.map(({ row }) => row).sort((a, b) => a - b))
      const { ordinals } = await field.search(query, { k, ef: 64, version: 1, allowed })
      found += ordinals.filter((row) => truth.has(row)).length
    }
    const recall = found / (k * queries)
    t.ok(recall >= 0.95, `${share * 100} % of the rows: recall ${recall}`)
    t.comment(`seed ${fixedSeed}, the farthest ${share * 100} %: recall ${recall}`)
  }
  await field.close()
  await pool.close()
})
