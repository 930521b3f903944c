import tap, { test } from 'tap'
import { EngineError } from '../../src/errors.ts'
import type { Batch } from '../../src/vector/dense/build-batch.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { header } from '../../src/vector/dense/header.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { clusteredRows, definitionOf, rowsOf } from './world.ts'

const nothing = new Uint32Array(0)
tap.setTimeout(300_000)

test('a lost worker costs only the query that it served', async (t) => {
  const dimension = 32
  const rows = clusteredRows(2000, dimension, 1)
  const pool = await openWorkerPool({ threads: 2 })
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 2000), nothing)
  const query = rows.subarray(0, dimension)
  const before = await field.search(query, { k: 10, ef: 64, version: 1 })
  for (let round = 0; round < 5; round++) {
    await pool.loseWorker(round % 2)
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, () => field.search(query, { k: 10, ef: 64, version: 1 })),
    )
    for (const answer of answers) {
      if (answer.status === 'fulfilled') t.same(answer.value.ordinals, before.ordinals)
      else t.ok(answer.reason instanceof EngineError && answer.reason.code === 'worker_lost')
    }
  }
  t.equal(pool.stats.lost, 5)
  t.equal((await field.search(query, { k: 10, ef: 64, version: 1 })).ordinals.length, 10)
  await field.close()
  await pool.close()
})

test('a worker lost during an apply makes the field reject everything from then on', async (t) => {
  const dimension = 256
  const rows = clusteredRows(4000, dimension, 2)
  const pool = await openWorkerPool({ threads: 2 })
  let refused = 0
  // Repeated until it happens, because the timing depends on the machine.
  for (let round = 0; refused === 0; round++) {
    const field = await openDenseField(definitionOf({ dimension }), pool)
    const applied = field.apply(1, rowsOf(rows, dimension, 0, 4000), nothing).then(
      () => 'applied',
      (error: unknown) => (error instanceof EngineError ? error.code : error),
    )
    await new Promise((resolve) => setTimeout(resolve, 30 + (round % 4) * 20))
    await pool.loseWorker(round % 2)
    const outcome = await applied
    if (outcome === 'worker_lost') {
      refused++
      const search = field.search(rows.subarray(0, dimension), { k: 1, ef: 8, version: 1 })
      await t.rejects(search, { code: 'worker_lost' })
      await t.rejects(field.apply(2, rowsOf(rows, dimension, 0, 1), nothing), { code: 'worker_lost' })
    } else t.equal(outcome, 'applied')
    await field.close()
  }
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 500), nothing)
  t.equal(field.rows, 500)
  await field.close()
  await pool.close()
})

test('a kernel that traps costs its query and its worker, and the next worker continues', async (t) => {
  const dimension = 32
  const [k, ef, version] = [5, 16, 1]
  const vectors = clusteredRows(500, dimension, 3)
  const query = vectors.subarray(0, dimension)
  const pool = await openWorkerPool({ threads: 1 })
  const segment = new Segment(definitionOf({ dimension }).params, pool)
  segment.reserve(500)
  const ordinals = Uint32Array.from({ length: 500 }, (_, i) => i)
  await segment.insert({
    ordinals,
    vectors: new VectorRows(vectors, dimension),
    norms: new Float32Array(500).fill(1),
    births: new Uint32Array(500).fill(1),
  })
  const request = {
    kind: 'search',
    memory: segment.arena.id,
    query,
    k,
    ef,
    rerank: 24,
    version,
    compared: 0,
    bits: 500,
  } as const
  // A pool too large for the calling thread.
  await t.rejects(pool.submit({ ...request, ef: 8_000, bitmap: 0xffff_f000 }), { code: 'worker_lost' })
  t.equal((await pool.submit({ ...request, bitmap: 0, bits: 0 })).ordinals.length, k)
  t.equal(pool.stats.lost, 1)
  // A small one, for the calling thread unless a worker that is awake is faster.
  await t.rejects(pool.submit({ ...request, bitmap: 0xffff_f000 }), { code: 'worker_lost' })
  t.equal((await pool.submit({ ...request, bitmap: 0, bits: 0 })).ordinals.length, k)
  await pool.close()
})

test('a worker that loops without progress is terminated, its query is rejected, and the pool continues', async (t) => {
  const dimension = 32
  const [k, ef, version] = [5, 16, 1]
  const vectors = clusteredRows(500, dimension, 3)
  const query = vectors.subarray(0, dimension)
  const pool = await openWorkerPool({ threads: 2 })
  const [stuck, healthy] = [new Segment(definitionOf({ dimension }).params, pool), await filled(pool, vectors)]
  stuck.reserve(500)
  await stuck.insert(batchOf(vectors, 500))
  // Rows with a stride of 0: a scan of all possible ordinals reads the same row four billion times.
  stuck.arena.setWord(header.codeStride, 0)
  stuck.arena.setWord(header.blockShift, 31)
  const looping = {
    kind: 'scan',
    memory: stuck.arena.id,
    query,
    k,
    listed: undefined,
    from: 0,
    to: 0xffff_ffff,
  } as const
  const lost = t.rejects(pool.submit({ ...looping, version: 0 }), { code: 'worker_lost' })
  const request = {
    kind: 'search',
    memory: healthy.arena.id,
    query,
    k,
    ef,
    rerank: 24,
    compared: 0,
    version,
    bits: 0,
    bitmap: 0,
  } as const
  t.equal((await pool.submit(request)).ordinals.length, k, 'the other worker answers meanwhile')
  await lost
  t.equal(pool.stats.lost, 1)
  for (let i = 0; i < 20; i++) t.equal((await pool.submit(request)).ordinals.length, k)
  await pool.close()
})

function batchOf(vectors: Float32Array, n: number): Batch {
  const ordinals = Uint32Array.from({ length: n }, (_, i) => i)
  const [norms, births] = [new Float32Array(n).fill(1), new Uint32Array(n).fill(1)]
  return { ordinals, vectors: new VectorRows(vectors.subarray(0, n * 32), 32), norms, births }
}

async function filled(pool: WorkerPool, vectors: Float32Array): Promise<Segment> {
  const segment = new Segment(definitionOf({ dimension: 32 }).params, pool)
  segment.reserve(500)
  await segment.insert(batchOf(vectors, 500))
  return segment
}

test('queries of a field that is released meanwhile get answers', async (t) => {
  const dimension = 32
  const vectors = clusteredRows(500, dimension, 3)
  const query = vectors.subarray(0, dimension)
  const pool = await openWorkerPool({ threads: 2 })
  const segment = await filled(pool, vectors)
  // Workers that never used the field learn that it is released before they have seen it.
  await pool.loseWorker(0)
  await pool.loseWorker(1)
  const scan = {
    kind: 'scan',
    memory: segment.arena.id,
    query,
    k: 5,
    version: 1,
    listed: undefined,
    from: 0,
    to: 500,
  } as const
  const answers = Array.from({ length: 100 }, () => pool.submit(scan))
  segment.close()
  for (const { ordinals } of await Promise.all(answers)) t.equal(ordinals.length, 5)
  await t.rejects(pool.submit(scan), { code: 'closed' })
  await pool.close()
})
