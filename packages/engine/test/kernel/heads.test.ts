// The head of every row, the bound of every query, and the steps of learning a projection are those of the reference, bit for bit, in both
// builds; and a walk rejects exactly the rows whose bound is too large.
import { chosenSeed } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import type { Arena } from '../../src/vector/dense/arena.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf, normalize } from '../vector/world.ts'
import {
  boundOf,
  type CodedRow,
  headBytes,
  headOf,
  multiply,
  orthonormalize,
  type Projection,
  prepareBound,
  readProjection,
} from './reference-heads.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 60 : 4
/** By the largest `ef` that has them. */
const deviationsOf = (ef: number) => (ef <= 12 ? 3 : ef <= 24 ? 2.5 : ef <= 48 ? 2 : 1)

interface World {
  readonly segment: Segment
  readonly arena: Arena
  readonly spaceType: SpaceType
  readonly random: () => number
}

/** A segment with heads: rows of a random dimension and metric, some of them equal, some zero, some of a thousandth of the length. */
async function openWorld(pool: WorkerPool, worldSeed: number, headsFrom?: number): Promise<World> {
  const random = createRandom(worldSeed)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const dimension = between(3, 90)
  const n = between(260, 700)
  const pick = <T>(all: readonly T[]) => all[between(0, all.length - 1)] as T
  const spaceType = pick<SpaceType>(['l2', 'ip', 'cosine'])
  const precision = pick<Precision>(['int8', 'int16', 'float16', 'float32'])
  const { params } = definitionOf({ dimension, spaceType, precision, M: 4, efConstruction: 16, rules: 4 })
  const vectors = clusteredRows(n, dimension, between(1, 1e9), between(1, 6))
  if (random() < 0.3) vectors.fill(0, 0, dimension)
  if (random() < 0.3) vectors.fill(0.001, dimension, 2 * dimension)
  if (random() < 0.3) vectors.copyWithin(3 * dimension, 2 * dimension, 3 * dimension)
  if (spaceType === 'cosine') normalize(vectors, dimension)
  const segment = new Segment(params, pool, undefined, { headsFrom: headsFrom ?? between(257, n - 1) })
  segment.reserve(headsFrom ?? 0)
  for (let from = 0; from < n; ) {
    const to = Math.min(n, from + between(1, 300))
    segment.reserve(to)
    await segment.insert({
      ordinals: Uint32Array.from({ length: to - from }, (_, i) => from + i),
      births: new Uint32Array(to - from).fill(1),
      norms: new Float32Array(to - from).fill(1),
      vectors: new VectorRows(vectors.subarray(from * dimension, to * dimension), dimension),
    })
    from = to
  }
  return { segment, arena: segment.arena, spaceType, random }
}

function projectionOf(arena: Arena): Projection {
  const { address, bytes } = arena.projection
  return readProjection(arena.u8.slice(address, address + bytes), arena.shape.lanes)
}

function rowAt(arena: Arena, ordinal: number): CodedRow {
  const place = arena.tailAddress(ordinal)
  const { codeBytes } = arena.shape
  const code = Int32Array.from(arena.u8.subarray(place - codeBytes, place), (value) => value - 64)
  return { code, a: arena.f32[place / 4] as number, factor: arena.f32[place / 4 + 1] as number }
}

function headAt(arena: Arena, ordinal: number): Uint8Array {
  const { blockShift, blockRows } = arena.shape
  const from = arena.headsAddress(ordinal >>> blockShift) + (ordinal & (blockRows - 1)) * headBytes
  return arena.u8.slice(from, from + headBytes)
}

/** The query minus the center, padded; its vector is in the query buffer. */
function centeredQuery(arena: Arena): Float32Array {
  const { lanes } = arena.shape
  const [query, center] = [arena.ownScratch.query / 4, arena.centerAddress / 4]
  return Float32Array.from(
    { length: lanes },
    (_, i) => (arena.f32[query + i] as number) - (arena.f32[center + i] as number),
  )
}

function compareHeads(t: Test, { arena, segment }: World): void {
  const projection = projectionOf(arena)
  const different: number[] = []
  for (let id = 0; id < segment.end; id++)
    if (!Buffer.from(headAt(arena, id)).equals(headOf(projection, rowAt(arena, id)))) different.push(id)
  t.same(different, [], 'the heads of all rows')
}

function compareBounds(t: Test, { arena, segment, spaceType, random }: World): void {
  const { kernel, ownScratch, shape } = arena
  const projection = projectionOf(arena)
  const [ids, keys] = [ownScratch.ids / 4, ownScratch.keys / 4]
  kernel.attach(arena.ownThread)
  for (const ef of [1, 12, 13, 24, 25, 48, 49, 200]) {
    const near = segment.row(Math.floor(random() * segment.end)) as Float32Array
    arena.f32.fill(0, ownScratch.query / 4, ownScratch.query / 4 + shape.lanes)
    arena.f32.set(
      near.map((value) => value + (random() - 0.5)),
      ownScratch.query / 4,
    )
    kernel.prepareQuery()
    kernel.prepareQueryBound(ef)
    const bound = prepareBound(projection, centeredQuery(arena), spaceType, deviationsOf(ef))
    const count = 1 + Math.floor(random() * 60)
    const listed = Uint32Array.from({ length: count }, () => Math.floor(random() * segment.end))
    const expected = Float32Array.from(listed, (id) => boundOf(bound, headAt(arena, id)))
    arena.u32.set(listed, ids)
    kernel.boundsOfIds(count)
    t.same(arena.f32.slice(keys, keys + count), expected, `bounds of ${count} rows, ef ${ef}`)
    // Any limit, and limits that are bounds themselves: only what is above is rejected.
    for (const limit of [Math.fround(random() * 2 * (expected[0] as number)), expected[count >> 1] as number]) {
      arena.u32.set(listed, ids)
      const kept = kernel.screen(count, limit)
      t.same(
        arena.u32.slice(ids, ids + kept),
        listed.filter((_, i) => !((expected[i] as number) > limit)),
      )
    }
  }
}

for (const build of ['relaxed', 'plain'] as const)
  test(`heads and bounds equal those of the reference, ${build} build, seed ${seed}`, async (t) => {
    const pool = new ThreadPool(await compileKernel(build), 1)
    await pool.started()
    t.teardown(() => pool.close())
    for (let round = 0; round < rounds; round++) {
      const world = await openWorld(pool, seed + round)
      t.ok(world.arena.hasHeads)
      compareHeads(t, world)
      compareBounds(t, world)
      world.segment.close()
    }
  })

test(`the steps of learning equal those of the reference, seed ${seed}`, async (t) => {
  const pool = new ThreadPool(await compileKernel(), 1)
  await pool.started()
  t.teardown(() => pool.close())
  // The space of learning is there, and nothing was learned.
  const { segment, arena } = await openWorld(pool, seed, 2000)
  const { kernel, shape } = arena
  const { lanes } = shape
  const columns = 48
  const space = arena.learning.address
  const [table, matrix] = [space, space + lanes * columns]
  const form = matrix + lanes * lanes * 4
  const vectors = form + columns * 2
  arena.u8.fill(64, table, table + lanes * columns)
  const ordinals = Array.from({ length: 41 }, (_, i) => i * 5)
  for (const [column, ordinal] of ordinals.entries()) kernel.copyColumn(ordinal, table, columns, column)
  for (let line = 0; line < lanes; line++) kernel.writeCovariance(table, columns, line, form, matrix)
  for (let line = 0; line < lanes; line++) kernel.mirrorCovariance(line, matrix)
  const codes = ordinals.map((ordinal) => rowAt(arena, ordinal).code)
  const covariance = Int32Array.from({ length: lanes * lanes }, (_, i) =>
    codes.reduce((sum, code) => sum + (code[Math.floor(i / lanes)] as number) * (code[i % lanes] as number), 0),
  )
  t.same(new Int32Array(arena.memory.buffer, matrix, lanes * lanes), covariance, 'covariance')
  const random = createRandom(seed)
  const first = Array.from({ length: 8 }, () => Float64Array.from({ length: lanes }, () => random() - 0.5))
  // The last depends on two of the others.
  ;(first[7] as Float64Array).set(
    (first[0] as Float64Array).map((value, i) => value + ((first[1] as Float64Array)[i] as number)),
  )
  const inArena = (index: number) => new Float64Array(arena.memory.buffer, vectors + index * lanes * 8, lanes)
  for (const [i, vector] of first.entries()) inArena(i).set(vector)
  kernel.multiply4(matrix, vectors, vectors + 8 * lanes * 8)
  kernel.multiply4(matrix, vectors + 4 * lanes * 8, vectors + 12 * lanes * 8)
  const products = first.map((vector) => multiply(covariance, vector))
  for (const [i, product] of products.entries()) t.same(inArena(8 + i), product, `product ${i}`)
  for (let i = 0; i < 8; i++) {
    kernel.orthonormalize(vectors + 8 * lanes * 8, i)
    orthonormalize(products.slice(0, i + 1))
    t.same(inArena(8 + i), products[i], `direction ${i}`)
  }
  segment.close()
})
