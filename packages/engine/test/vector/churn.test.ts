import { test } from 'tap'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { DenseField } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, createRandom, definitionOf, exactNearest, recall, rowsOf } from './world.ts'

const nothing = new Uint32Array(0)
const long = process.env.ANNAL_LONG === '1'
const n = long ? 20_000 : 4_000
const dimension = 24

/** The current vectors by ordinal; a free ordinal has its previous vector. */
interface Living {
  readonly vectors: Float32Array
  readonly alive: Uint8Array
  readonly queries: Float32Array
}

async function meanRecall(field: DenseField, { vectors, alive, queries }: Living, version: number): Promise<number> {
  let sum = 0
  for (let i = 0; i < 100; i++) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    const truth = exactNearest('l2', vectors, dimension, query, 10, (ordinal) => alive[ordinal] === 1)
    const hits = await field.search(query, { k: 10, ef: 64, version })
    if ([...hits.ordinals].some((ordinal) => alive[ordinal] !== 1)) return Number.NaN
    sum += recall(hits, truth)
  }
  return sum / 100
}

test('after twenty cycles of removing and inserting a tenth, the graph is as good as a new one', async (t) => {
  const seed = Number(process.env.ANNAL_SEED ?? 77)
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const pool = await openWorkerPool({ threads: 2 })
  const definition = definitionOf({ dimension, precision: 'int8' })
  const field = await openDenseField(definition, pool)
  const all = clusteredRows(4 * n + 100, dimension, seed)
  const living: Living = {
    vectors: all.slice(0, n * dimension),
    alive: new Uint8Array(n).fill(1),
    queries: all.subarray(4 * n * dimension),
  }
  const fresh = all.subarray(n * dimension, 4 * n * dimension)
  let version = 1
  await field.apply(version, rowsOf(living.vectors, dimension, 0, n), nothing)
  let next = 0
  for (let cycle = 0; cycle < 20; cycle++) {
    const gone = new Set<number>()
    while (gone.size < n / 10) gone.add(Math.floor(random() * n))
    const ordinals = Uint32Array.from(gone).sort()
    await field.apply(++version, undefined, ordinals)
    await field.sweep(version)
    for (const ordinal of ordinals) living.alive[ordinal] = 0
    if (cycle % 7 === 3) t.ok((await meanRecall(field, living, version)) > 0.9, 'with a tenth removed')
    const vectors = fresh.subarray(next * dimension, (next + ordinals.length) * dimension)
    next += ordinals.length
    // Some cycles insert all rows at once, some a few at a time, to test both ways of repairing.
    const step = cycle % 2 === 0 ? ordinals.length : 40
    for (let i = 0; i < ordinals.length; i += step) {
      const some = ordinals.subarray(i, i + step)
      const rows = vectors.subarray(i * dimension, (i + some.length) * dimension)
      await field.apply(
        ++version,
        { ordinals: some, vectors: rows, norms: new Float32Array(some.length).fill(1) },
        nothing,
      )
      some.forEach((ordinal, j) => {
        living.vectors.set(rows.subarray(j * dimension, (j + 1) * dimension), ordinal * dimension)
        living.alive[ordinal] = 1
      })
    }
  }
  const again = await openDenseField(definition, pool)
  await again.apply(1, rowsOf(living.vectors, dimension, 0, n), nothing)
  const worn = await meanRecall(field, living, version)
  const rebuilt = await meanRecall(again, living, 1)
  t.comment(`recall ${worn} after churn, ${rebuilt} of a fresh build`)
  t.ok(worn >= rebuilt - 0.005, `${worn} against ${rebuilt}`)
  t.equal(field.rows, n)
  t.ok(field.health().unreachable <= n / 1000, `${field.health().unreachable} rows cannot be reached`)
  await field.close()
  await again.close()
  await pool.close()
})

test('a segment that loses nearly all rows still finds the rest', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  const segment = new Segment(definitionOf({ dimension }).params, pool)
  const vectors = clusteredRows(2000, dimension, 5)
  segment.reserve(2000)
  const ordinals = Uint32Array.from({ length: 2000 }, (_, i) => i)
  await segment.insert({
    ordinals,
    births: new Uint32Array(2000).fill(1),
    norms: new Float32Array(2000),
    vectors: new VectorRows(vectors, dimension),
  })
  await segment.remove(
    ordinals.filter((i) => i % 50 !== 0),
    2,
  )
  t.ok(segment.isSweepDue)
  await segment.sweep()
  t.equal(segment.rows, 40)
  t.equal(segment.unreachable(), 0)
  segment.close()
  await pool.close()
})
