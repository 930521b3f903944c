// Many clusters far apart: next to nothing leads from one to another, and a walk that comes down in the wrong one must notice.
// Before it did, 38 of these 1,000 rows were not found by their own vectors.
import { test } from 'tap'
import { openDenseField } from '../../src/vector/dense-field.ts'
import { openWorkerPool } from '../../src/vector/worker-pool.ts'
import { definitionOf, rowsOf, seeded } from './world.ts'

const [dimension, rows, clusters, asked] = [64, 20_000, 100, 1_000]

function scattered(seed: number): Float32Array {
  const random = seeded(seed)
  const centres = Float32Array.from({ length: clusters * dimension }, random)
  return Float32Array.from({ length: rows * dimension }, (_, i) => {
    const centre = Math.floor(i / dimension) % clusters
    return (centres[centre * dimension + (i % dimension)] ?? 0) + (random() - 0.5) * 0.8
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
  for (let row = 0; row < rows; row += rows / asked) {
    const query = vectors.subarray(row * dimension, (row + 1) * dimension)
    const found = field.searchSync(query, { k: 10, ef: 32, version: rows })
    if (found.ordinals[0] !== row) missed++
  }
  t.ok(missed <= 15, `${missed} of ${asked} missed`)
  await field.close()
  await pool.close()
})
