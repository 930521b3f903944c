// Many clusters far apart: few links connect them, and a walk that ends in the wrong one must detect it. Without detection, 38 of these
// 1,000 rows were not found by their own vectors, and 7 before lost walks continued from other entries.
import { type Test, test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import { sourceOf } from '../../src/memory/sections.ts'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import { type GraphDenseField, loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { createRandom, definitionOf, dumpField, exactNearest, normalize, rowsOf } from './world.ts'

const [dimension, rows, clusters, queryCount, filtered] = [64, 20_000, 100, 1_000, 50]
/** Measured 3; the same on every machine. */
const missedMax = 4
/** Measured 0.968 and 0.966, and 0.876 and 0.848 before walks over allowed rows started with a wide beam; the same on every machine. */
const [anyLeast, othersLeast] = [0.93, 0.93]

function scattered(seed: number): Float32Array {
  const random = createRandom(seed)
  const centers = Float32Array.from({ length: clusters * dimension }, random)
  return Float32Array.from({ length: rows * dimension }, (_, i) => {
    const center = Math.floor(i / dimension) % clusters
    return (centers[center * dimension + (i % dimension)] ?? 0) + (random() - 0.5) * 0.8
  })
}

test('rows in clusters far apart are found by their own vectors', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  const vectors = scattered(1)
  const params = { dimension, precision: 'int8', M: 8, efConstruction: 32 } as const
  const field = await openDenseField(definitionOf(params), pool)
  for (let from = 0; from < rows; from += 5_000)
    await field.apply(from + 1, rowsOf(vectors, dimension, from, from + 5_000), new Uint32Array(0))
  let missed = 0
  for (let row = 0; row < rows; row += rows / queryCount) {
    const query = vectors.subarray(row * dimension, (row + 1) * dimension)
    const found = field.searchSync(query, { k: 10, ef: 32, version: rows })
    if (found.ordinals[0] !== row) missed++
  }
  t.ok(missed <= missedMax, `${missed} of ${queryCount} missed`)
  await readAgain(t, field, vectors, pool)

  // A tenth of the rows is allowed: any rows, or whole clusters other than the query's.
  const anyRow = (row: number) => (row * 7_919) % 10 === 3
  const otherClusters = (from: number) => (row: number) => row % 10 === (from + 5) % 10
  const recall = { any: 0, others: 0 }
  for (let query = 0; query < filtered; query++) {
    const near = (query * 7_873) % rows
    recall.any += recallOf(field, vectors, near, anyRow) / filtered
    recall.others += recallOf(field, vectors, near, otherClusters(near)) / filtered
  }
  t.ok(recall.any >= anyLeast, `${recall.any} of the ten nearest of a tenth`)
  t.ok(recall.others >= othersLeast, `${recall.others} of the ten nearest in other clusters`)
  await field.close()
  await pool.close()
})

/** The expected distance of a walk is not stored: a field that is loaded again finds the same with the same number of comparisons. */
async function readAgain(t: Test, field: GraphDenseField, vectors: Float32Array, pool: WorkerPool): Promise<void> {
  const other = await loadDenseField(field.definition, pool, sourceOf([await dumpField(field)]))
  let differing = 0
  for (let row = 0; row < rows; row += rows / queryCount) {
    // Some resemble the data, some do not.
    const query = vectors.subarray(row * dimension, (row + 1) * dimension).map((x) => x + (row % 3) * 0.05)
    const options = { k: 10, ef: 32, version: rows }
    const [a, b] = [field.searchSync(query, options), other.searchSync(query, options)]
    if (a.distances !== b.distances || a.ordinals.join() !== b.ordinals.join()) differing++
  }
  t.strictSame(differing, 0, 'the same answers')
  await other.close()
}

/** How many of the ten nearest allowed rows are found, for queryCount queries near a row. */
function recallOf(
  field: GraphDenseField,
  vectors: Float32Array,
  near: number,
  isAllowed: (row: number) => boolean,
): number {
  const query = vectors.subarray(near * dimension, (near + 1) * dimension).map((x) => x + 0.01)
  const listed = Array.from({ length: rows }, (_, row) => row).filter(isAllowed)
  const squared = (row: number) => query.reduce((sum, x, i) => sum + (x - (vectors[row * dimension + i] ?? 0)) ** 2, 0)
  const nearest = new Set(
    listed
      .map((row) => ({ row, distance: squared(row) }))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 10)
      .map(({ row }) => row),
  )
  const { ordinals } = field.searchSync(query, { k: 10, ef: 64, version: rows, allowed: Bitmap.from(listed) })
  return ordinals.filter((row) => nearest.has(row)).length / 10
}

/** Recall of 40 walks and of 40 comparisons by code in 4,000 rows around 20 centers, whose rows are a hundredth as far from each other. */
async function recallInTightClusters(
  pool: WorkerPool,
  spaceType: SpaceType,
  precision: Precision,
): Promise<{ walk: number; compared: number }> {
  const [width, count, k, ef, version] = [16, 4_000, 10, 16, 1e6]
  const random = createRandom(7)
  const centers = Float32Array.from({ length: 20 * width }, () => random() - 0.5)
  const near = (row: number) =>
    Float32Array.from(
      { length: width },
      (_, i) => (centers[(row % 20) * width + i] as number) + 0.01 * (random() - 0.5),
    )
  const vectors = new Float32Array(count * width)
  for (let row = 0; row < count; row++) vectors.set(near(row), row * width)
  const queries = Array.from({ length: 40 }, (_, i) => near(i))
  if (spaceType === 'cosine') for (const rowsOfSet of [vectors, ...queries]) normalize(rowsOfSet, width)
  const field = await openDenseField(
    definitionOf({ dimension: width, spaceType, precision, M: 8, efConstruction: 32, rules: 4 }),
    pool,
  )
  await field.apply(1, rowsOf(vectors, width, 0, count), new Uint32Array(0))
  const recall = { walk: 0, compared: 0 }
  for (const query of queries) {
    const exact = new Set(exactNearest(spaceType, vectors, width, query, k).map(({ ordinal }) => ordinal))
    const countFound = (found: Uint32Array) => found.filter((row) => exact.has(row)).length / k / queries.length
    recall.walk += countFound(field.searchSync(query, { k, ef, version }).ordinals)
    recall.compared += countFound(field.searchSync(query, { k, ef, version, compared: count }).ordinals)
  }
  await field.close()
  return recall
}

// Codes have 127 steps for the largest distance from the center of the field, so they order the rows of such a cluster at random. Before searches
// noticed this, they found 0.48 to 0.54 of the ten nearest (float32), and 0.95 to 0.98 since then. Keys of float16 rows were products, which rounding
// changes by more than the distances in a cluster: 0.23 and 0.29.
test('rows are found in clusters much smaller than the distances between them', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  for (const spaceType of ['l2', 'cosine'] as const)
    for (const precision of ['float32', 'float16'] as const) {
      const { walk, compared } = await recallInTightClusters(pool, spaceType, precision)
      t.ok(walk >= 0.9, `${spaceType}, ${precision}: walks find ${walk}`)
      t.ok(compared >= 0.9, `${spaceType}, ${precision}: comparisons find ${compared}`)
    }
  await pool.close()
})
