// The head of every row, the bound of every query, and the steps of learning a projection are those of the reference, bit for bit, in both
// builds; and a walk compares, expands, and returns the same rows as that of the reference.
import { chosenSeed } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import type { Arena } from '../../src/vector/dense/arena.ts'
import { header } from '../../src/vector/dense/header.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf, normalize } from '../vector/world.ts'
import { listsOf } from './lists-of.ts'
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
import { type ScreenedGraph, ScreenedWalk } from './reference-screened.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 60 : 4
/** A version as of which all rows are visible. */
const latest = 1e6
/** By the largest `ef` that has them. */
const deviationsOf = (ef: number) => (ef <= 48 ? 2.5 : 2)

const inOrder = (ids: readonly number[]) => [...ids].sort((a, b) => a - b)

interface World {
  readonly segment: Segment
  readonly arena: Arena
  readonly spaceType: SpaceType
  readonly random: () => number
}

/** A segment with heads: rows of a random dimension and metric, some of them equal, some zero, some of a thousandth of the length. */
async function openWorld(
  pool: WorkerPool,
  worldSeed: number,
  {
    headsFrom,
    metric,
    isDistinct = false,
  }: { readonly headsFrom?: number; readonly metric?: SpaceType; readonly isDistinct?: boolean } = {},
): Promise<World> {
  const random = createRandom(worldSeed)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const dimension = between(3, 90)
  const n = between(260, 700)
  const pick = <T>(all: readonly T[]) => all[between(0, all.length - 1)] as T
  const spaceType = metric ?? pick<SpaceType>(['l2', 'ip', 'cosine'])
  const precision = pick<Precision>(['int8', 'int16', 'float16', 'float32'])
  const { params } = definitionOf({ dimension, spaceType, precision, M: 4, efConstruction: 16, rules: 4 })
  const vectors = clusteredRows(n, dimension, between(1, 1e9), between(1, 6))
  if (!isDistinct && random() < 0.3) vectors.fill(0, 0, dimension)
  if (!isDistinct && random() < 0.3) vectors.fill(0.001, dimension, 2 * dimension)
  if (!isDistinct && random() < 0.3) vectors.copyWithin(3 * dimension, 2 * dimension, 3 * dimension)
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

/** Calls a function of the kernel that writes a number for each ordinal of the list. */
function numbersOf({ ownScratch, u32, f32 }: Arena) {
  const [from, to] = [ownScratch.ids / 4, ownScratch.keys / 4]
  return (ids: readonly number[], write: () => void): number[] => {
    u32.set(ids, from)
    write()
    return [...f32.slice(to, to + ids.length)]
  }
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
  for (const ef of [1, 10, 48, 49, 200]) {
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
      const isNear = (i: number) => !((expected[i] as number) > limit)
      t.same(
        arena.u32.slice(ids, ids + kept),
        listed.filter((_, i) => isNear(i)),
      )
      t.same(
        arena.f32.slice(keys, keys + kept),
        expected.filter((_, i) => isNear(i)),
      )
    }
    const mean = prepareBound(projection, centeredQuery(arena), spaceType, 0)
    arena.u32.set(listed, ids)
    kernel.useEstimates(1)
    kernel.boundsOfIds(count)
    kernel.useEstimates(0)
    const estimates = Float32Array.from(listed, (id) => boundOf(mean, headAt(arena, id)))
    t.same(arena.f32.slice(keys, keys + count), estimates, `estimates of ${count} rows`)
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

for (const build of ['relaxed', 'plain'] as const)
  test(`a walk with heads is that of the reference, ${build} build, seed ${seed}`, async (t) => {
    const pool = new ThreadPool(await compileKernel(build), 1)
    await pool.started()
    t.teardown(() => pool.close())
    for (let round = 0; round < rounds; round++) {
      // Keys of inner products are not distances, so neither the beam nor the walk is checked for being lost.
      const { segment, arena, random } = await openWorld(pool, seed + round, { metric: 'ip', isDistinct: true })
      const { kernel, ownScratch, shape } = arena
      const { dimension } = shape.params
      const listed = numbersOf(arena)
      const graph: ScreenedGraph = {
        entry: arena.word(header.entry),
        linksAtBase: shape.linksAtBase,
        levelOf: (id) => kernel.levelOf(id),
        list: (id, level) => listsOf(segment, id, shape.params.M)[level] ?? [],
        bounds: (ids) => listed(ids, () => kernel.boundsOfIds(ids.length)),
        estimates: (ids) => {
          kernel.useEstimates(1)
          const estimates = listed(ids, () => kernel.boundsOfIds(ids.length))
          kernel.useEstimates(0)
          return estimates
        },
        keys: (ids) => listed(ids, () => kernel.keysOf(ownScratch.ids, ids.length, ownScratch.keys)),
      }
      for (const ef of [1, 3, 10, 40, 100]) {
        const near = segment.row(Math.floor(random() * segment.end)) as Float32Array
        const query = near.map((value) => value + (random() - 0.5) / 4)
        kernel.attach(arena.ownThread)
        arena.f32.set(query.subarray(0, dimension), ownScratch.query / 4)
        kernel.prepareQuery()
        kernel.prepareQueryBound(ef)
        const walk = new ScreenedWalk(graph, ef)
        const expected = walk.run()
        kernel.takeHops()
        kernel.takeHeads()
        kernel.takeDistances()
        const count = kernel.search(ef, ef, ef, latest, 0, 0)
        const { answers } = ownScratch
        const found = [...arena.u32.slice(answers / 4, answers / 4 + count)]
        const counts = { hops: kernel.takeHops(), heads: kernel.takeHeads(), codes: kernel.takeDistances() }
        const { hops, heads, codes } = walk
        t.same(counts, { hops, heads, codes }, `what is compared at ef ${ef}`)
        // A walk that finds fewer rows than there are is followed by a scan of all rows.
        if (expected.length < ef) continue
        t.same(inOrder(found), inOrder(expected), `rows at ef ${ef}`)
        const { similarities } = ownScratch
        // Four float32 rows at a time are summed in another order than one.
        if (shape.precision !== 'float32')
          t.same(
            arena.f32.slice(similarities / 4, similarities / 4 + count),
            Float32Array.from(found, (id) => -kernel.exactKey(id)),
            `similarities at ef ${ef}`,
          )
      }
      segment.close()
    }
  })

test(`the steps of learning equal those of the reference, seed ${seed}`, async (t) => {
  const pool = new ThreadPool(await compileKernel(), 1)
  await pool.started()
  t.teardown(() => pool.close())
  // The space of learning is there, and nothing was learned.
  const { segment, arena } = await openWorld(pool, seed, { headsFrom: 2000 })
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
