import tap, { type Test, test } from 'tap'
import type { SpaceType } from '../../src/model/schema.ts'
import { none } from '../../src/vector/dense/header.ts'
import { bestBuild, compileKernel } from '../../src/vector/dense/kernel.ts'
import { levelOf } from '../../src/vector/dense/level.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf } from '../vector/world.ts'
import { listsOf } from './lists-of.ts'
import { ReferenceGraph } from './reference-graph.ts'

tap.setTimeout(300_000)

async function compareGraphs(t: Test, pool: WorkerPool, graphs: number, seed: number): Promise<void> {
  const random = createRandom(seed)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  let compared = 0
  let different = 0
  for (let graph = 0; graph < graphs; graph++) {
    const dimension = between(2, 40)
    const n = between(2, 90)
    const spaceType = (['l2', 'ip', 'cosine'] satisfies SpaceType[])[between(0, 2)] ?? 'l2'
    const [M, efConstruction] = [between(2, 8), between(4, 32)]
    const rules = graph % 2 === 0 ? {} : { rules: 2 }
    const { params } = definitionOf({ dimension, spaceType, M, efConstruction, ...rules })
    const vectors = clusteredRows(n, dimension, between(1, 1e9), between(1, 6))
    if (random() < 0.2) vectors.fill(0, 0, dimension)
    if (random() < 0.2) vectors.copyWithin(dimension, 0, dimension)
    // Up to a third of them are copies of a few rows.
    if (random() < 0.4)
      for (let i = between(0, Math.floor(n / 3)); i > 0; i--)
        vectors.copyWithin(between(0, n - 1) * dimension, i * dimension, (i + 1) * dimension)
    const reference = new ReferenceGraph(params)
    const segment = new Segment(params, pool)
    segment.reserve(n)
    let isWhole = true
    for (let from = 0; from < n; ) {
      const to = Math.min(n, from + between(1, 60))
      const rows = Array.from({ length: to - from }, (_, i) =>
        vectors.subarray((from + i) * dimension, (from + i + 1) * dimension),
      )
      reference.insert(rows)
      isWhole &&= reference.isWhole()
      const ordinals = Uint32Array.from(rows, (_, i) => from + i)
      const given = vectors.subarray(from * dimension, to * dimension)
      const [births, norms] = [new Uint32Array(rows.length).fill(1), new Float32Array(rows.length).fill(1)]
      await segment.insert({ ordinals, births, norms, vectors: new VectorRows(given, dimension) })
      from = to
    }
    // The reference does not reconnect rows, so only graphs that stayed connected are compared completely.
    if (isWhole) {
      compared++
      const same = reference.links.every(
        (lists, id) =>
          JSON.stringify(lists) === JSON.stringify(listsOf(segment, id, params.M)) &&
          segment.arena.kernel.leaderOf(id) >>> 0 === (reference.leaders[id] ?? none),
      )
      if (!same) different++
    }
    segment.close()
  }
  t.comment(`seed ${seed}: ${compared} of ${graphs} graphs needed no mending`)
  t.equal(different, 0)
  t.ok(compared > graphs / 2)
}

test('a thousand small graphs equal those of the reference, link for link', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  await compareGraphs(t, pool, 1000, Number(process.env.ANNAL_SEED ?? 5))
  await pool.close()
})

test('the build without relaxed SIMD builds the same graphs', async (t) => {
  t.comment(`this engine runs the ${bestBuild()} build by default`)
  const pool = new ThreadPool(await compileKernel('plain'), 1)
  await pool.started()
  await compareGraphs(t, pool, 200, 6)
  await pool.close()
})

test('levels are the same in the kernel and the host, and one in M reaches the next level', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  for (const M of [2, 16, 512]) {
    const segment = new Segment(definitionOf({ dimension: 2, M }).params, pool)
    let above = 0
    for (let id = 0; id < 20_000; id++) {
      const level = levelOf(id, M)
      if (segment.arena.kernel.levelOf(id) !== level) t.fail(`level of ${id}`)
      if (level > 0) above++
    }
    t.ok(Math.abs(above / 20_000 - 1 / M) < 0.02)
    segment.close()
  }
  await pool.close()
})
