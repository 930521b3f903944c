import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { Found, GraphQuery, Query, ScanQuery, WorkerPool } from '../../src/vector/pool.ts'
import { clusteredRows, definitionOf } from './world.ts'

const dimension = 32
const k = 10

class Reader {
  readonly #worker: Worker

  constructor(pool: WorkerPool, segment: Segment, thread: number) {
    const workerData = { handle: segment.arena.handle, module: pool.module, thread }
    this.#worker = new Worker(new URL('./reader-program.ts', import.meta.url), { workerData })
  }

  async answer(query: Query): Promise<Found> {
    const answer = once(this.#worker, 'message')
    this.#worker.postMessage(query)
    const [found] = await answer
    return found
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}

test('threads outside the pool search a memory while its owner changes it', async (t) => {
  const pool = await openWorkerPool({ threads: 1, readers: 2 })
  t.equal(pool.attachments, 3)
  const vectors = clusteredRows(6000, dimension, 11)
  const segment = new Segment(definitionOf({ dimension }).params, pool)
  await insert(segment, vectors, 0, 2000, 1)
  const readers = [new Reader(pool, segment, 1), new Reader(pool, segment, 2)]
  const queries = Array.from({ length: 40 }, (_, i) => vectors.subarray(i * dimension * 100, (i * 100 + 1) * dimension))

  const compare = async (version: number, end: number) => {
    for (const query of queries)
      for (const request of [walk(segment, query, version), scan(segment, query, version, end)]) {
        const expected = await pool.submit(request)
        const found = await Promise.all(readers.map((reader) => reader.answer(request)))
        for (const answer of found) {
          t.same(answer.ordinals, expected.ordinals)
          t.same(answer.similarities, expected.similarities)
        }
      }
  }
  await compare(1, 2000)
  const before = await pool.submit(walk(segment, queries[0] as Float32Array, 1))
  // Readers search while the graph grows: what a version has stays the same.
  let applied = false
  const applying = insert(segment, vectors, 2000, 6000, 2).then(() => {
    applied = true
  })
  let during = 0
  do {
    const answers = await Promise.all(
      readers.map((reader) => reader.answer(scan(segment, queries[0] as Float32Array, 1, 2000))),
    )
    for (const { ordinals } of answers) t.equal(ordinals[0], before.ordinals[0])
    during++
  } while (!applied)
  await applying
  t.ok(during > 0)
  await compare(2, 6000)
  for (const reader of readers) await reader.end()
  segment.close()
  await pool.close()
})

function walk({ arena }: Segment, query: Float32Array, version: number): GraphQuery {
  return { kind: 'search', memory: arena.id, query, k, version, ef: 64, rerank: 24, compared: 0, bitmap: 0, bits: 0 }
}

function scan({ arena }: Segment, query: Float32Array, version: number, to: number): ScanQuery {
  return { kind: 'scan', memory: arena.id, query, k, version, listed: undefined, from: 0, to }
}

async function insert(
  segment: Segment,
  vectors: Float32Array,
  from: number,
  to: number,
  version: number,
): Promise<void> {
  segment.reserve(to)
  const rows = vectors.subarray(from * dimension, to * dimension)
  await segment.insert({
    ordinals: Uint32Array.from({ length: to - from }, (_, i) => from + i),
    births: new Uint32Array(to - from).fill(version),
    norms: new Float32Array(to - from).fill(1),
    vectors: new VectorRows(rows, dimension),
  })
}
