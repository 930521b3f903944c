// A walk without heads compares the same codes, expands the same rows, and returns the same rows as that of the reference, in both builds and
// at every precision.
import { chosenSeed } from '@annal/wal/testing'
import { test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'
import { header } from '../../src/vector/dense/header.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf } from '../vector/world.ts'
import { listsOf } from './lists-of.ts'
import { ReferenceWalk, type WalkedGraph } from './reference-walk.ts'

const seed = chosenSeed()
/** A list of the second graph of this seed names a row twice. */
const seedOfTwice = 443561249
const runs = [
  { seed: seedOfTwice, rounds: 2 },
  { seed, rounds: process.env.ANNAL_LONG === '1' ? 200 : 8 },
]
/** A version as of which all rows are visible. */
const latest = 1e6
const precisions: readonly Precision[] = ['float32', 'int8', 'int16', 'float16', 'int4', 'int2', 'binary']

const inOrder = (ids: readonly number[]) => [...ids].sort((a, b) => a - b)

/** A segment of distinct rows. Keys of inner products are not distances, so walks are not checked for being lost. */
async function openSegment(pool: WorkerPool, precision: Precision, random: () => number): Promise<Segment> {
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const dimension = between(8, 90)
  const n = between(2, 900)
  // Lists of 6 to 80 links: 8 to 3 of them are expanded at a time.
  const M = between(3, 40)
  const { params } = definitionOf({ dimension, spaceType: 'ip', precision, M, efConstruction: 40, rules: 4 })
  const vectors = clusteredRows(n, dimension, between(1, 1e9), between(1, 6))
  const segment = new Segment(params, pool)
  segment.reserve(n)
  await segment.insert({
    ordinals: Uint32Array.from({ length: n }, (_, i) => i),
    births: new Uint32Array(n).fill(1),
    norms: new Float32Array(n).fill(1),
    vectors: new VectorRows(vectors, dimension),
  })
  return segment
}

/** Whether a list of the graph names a row twice. */
function hasTwice(segment: Segment, M: number): boolean {
  const lists = Array.from({ length: segment.end }, (_, id) => listsOf(segment, id, M)).flat()
  return lists.some((list) => new Set(list).size < list.length)
}

for (const build of ['relaxed', 'plain'] as const)
  for (const run of runs)
    test(`a walk is that of the reference, ${build} build, seed ${run.seed}`, async (t) => {
      const pool = new ThreadPool(await compileKernel(build), 1)
      await pool.started()
      t.teardown(() => pool.close())
      const random = createRandom(run.seed)
      for (let round = 0; round < run.rounds; round++) {
        const precision = precisions[round % precisions.length] as Precision
        const segment = await openSegment(pool, precision, random)
        if (run.seed === seedOfTwice && round === 1)
          t.ok(hasTwice(segment, segment.params.M), 'a list names a row twice')
        const { arena } = segment
        const { kernel, ownScratch, shape, u32, f32 } = arena
        t.notOk(arena.hasHeads)
        const [ids, keys] = [ownScratch.ids / 4, ownScratch.keys / 4]
        const graph: WalkedGraph = {
          entry: arena.word(header.entry),
          linksAtBase: shape.linksAtBase,
          levelOf: (id) => kernel.levelOf(id),
          list: (id, level) => listsOf(segment, id, shape.params.M)[level] ?? [],
          keys: (listed) => {
            u32.set(listed, ids)
            kernel.keysOf(ownScratch.ids, listed.length, ownScratch.keys)
            return [...f32.slice(keys, keys + listed.length)]
          },
        }
        for (const ef of [1, 2, 9, 10, 11, 16, 17, 64, 200].filter((one) => one <= segment.end)) {
          const near = segment.row(Math.floor(random() * segment.end)) as Float32Array
          kernel.attach(arena.ownThread)
          f32.set(
            near.map((value) => value + (random() - 0.5) / 4),
            ownScratch.query / 4,
          )
          kernel.prepareQuery()
          const walk = new ReferenceWalk(graph, ef)
          const expected = walk.run()
          kernel.takeHops()
          kernel.takeDistances()
          const count = kernel.search(ef, ef, ef, latest, 0, 0)
          const { answers } = ownScratch
          const found = [...u32.slice(answers / 4, answers / 4 + count)]
          const what = `${precision}, ${segment.end} rows, M ${shape.params.M}, ef ${ef}`
          // A walk that finds fewer rows than there are is followed by a scan.
          if (expected.length < ef) continue
          t.same(inOrder(found), inOrder(expected), `rows: ${what}`)
          const counts = { hops: kernel.takeHops(), codes: kernel.takeDistances() }
          t.same(counts, { hops: walk.hops, codes: walk.codes }, `what is compared: ${what}`)
        }
        segment.close()
      }
    })
