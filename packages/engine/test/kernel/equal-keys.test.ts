// The similarity of a row and a query does not depend on how it was found: by a walk or a scan, alone or with others, at any position. Otherwise
// equal rows would be ordered by where they are, and two plans of one search would return different scores.
import { chosenSeed } from '@annal/wal/testing'
import { test } from 'tap'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf, normalize } from '../vector/world.ts'

const seed = chosenSeed()
const precisions: Precision[] = ['float32', 'float16', 'int16', 'int8', 'int4', 'int2', 'binary']
const spaces: SpaceType[] = ['l2', 'ip', 'cosine']
const latest = 1e6

interface Case {
  readonly precision: Precision
  readonly spaceType: SpaceType
  readonly dimension: number
  readonly rows: number
}

async function openSegment(pool: WorkerPool, { precision, spaceType, dimension, rows }: Case): Promise<Segment> {
  const { params } = definitionOf({ dimension, spaceType, precision, M: 6, efConstruction: 32, rules: 4 })
  const vectors = clusteredRows(rows, dimension, rows, 3)
  if (spaceType === 'cosine') normalize(vectors, dimension)
  const segment = new Segment(params, pool)
  segment.reserve(rows)
  await segment.insert({
    ordinals: Uint32Array.from({ length: rows }, (_, i) => i),
    births: new Uint32Array(rows).fill(1),
    norms: new Float32Array(rows).fill(1),
    vectors: new VectorRows(vectors, dimension),
  })
  return segment
}

/** The similarities of rows by ordinal, as found in each way. */
function* similaritiesOf({ arena, end }: Segment, some: readonly number[]): Generator<[string, Map<number, number>]> {
  const { kernel, ownScratch, u32, f32 } = arena
  const found = (count: number) => {
    const [ids, values] = [ownScratch.answers / 4, ownScratch.similarities / 4]
    return new Map(Array.from({ length: count }, (_, i) => [u32[ids + i] as number, f32[values + i] as number]))
  }
  yield ['walk', found(kernel.search(end, end, end, latest, 0, 0))]
  yield ['comparison', found(kernel.compare(end, end, latest, 0, 0))]
  kernel.beginScan(end, latest)
  kernel.scanRange(0, end)
  yield ['scan', found(kernel.endScan(end))]
  for (const listed of [some, ...some.map((row) => [row])]) {
    kernel.beginScan(end, latest)
    u32.set(listed, ownScratch.ids / 4)
    kernel.scanIds(listed.length)
    yield [`scan of ${listed}`, found(kernel.endScan(end))]
  }
}

for (const build of ['relaxed', 'plain'] as const)
  test(`a similarity is the same however it is found, ${build} build, seed ${seed}`, async (t) => {
    const pool = new ThreadPool(await compileKernel(build), 1)
    await pool.started()
    t.teardown(() => pool.close())
    const random = createRandom(seed)
    const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
    for (const precision of precisions)
      for (const spaceType of spaces) {
        // A segment of fewer than 256 rows keeps float32 rows at every precision.
        const segment = await openSegment(pool, {
          precision,
          spaceType,
          dimension: between(1, 90),
          rows: between(256, 300),
        })
        const { arena, end } = segment
        const query = segment.row(between(0, end - 1)) as Float32Array
        arena.kernel.attach(arena.ownThread)
        arena.f32.set(
          query.map((value) => value + random() / 4),
          arena.ownScratch.query / 4,
        )
        let known: Map<number, number> | undefined
        for (const [way, similarities] of similaritiesOf(segment, [7, 2, 255, 100, 30, 9, 201])) {
          known ??= similarities
          const different = [...similarities].filter(([row, similarity]) => known?.get(row) !== similarity)
          t.same(different, [], `${way}: ${precision}, ${spaceType}, ${end} rows`)
        }
        segment.close()
      }
  })
