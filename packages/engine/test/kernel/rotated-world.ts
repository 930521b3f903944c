// Compares codes of rotated vectors in the kernel, and graphs of such rows, with a reference in plain TypeScript.
import type { Test } from 'tap'
import type { DenseSchemaParams, Precision, SpaceType } from '../../src/model/schema.ts'
import { Arena } from '../../src/vector/dense/arena.ts'
import { header } from '../../src/vector/dense/header.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { shapeOf } from '../../src/vector/dense/shape.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { clusteredRows, createRandom, definitionOf, normalize } from '../vector/world.ts'
import { listsOf } from './lists-of.ts'
import { type Codes, ReferenceGraph } from './reference-graph.ts'
import { estimate } from './reference-signs.ts'

/** A precision whose codes are those of rotated vectors, and its reference. */
export interface RotatedCodes {
  readonly precision: Precision
  codes(center: Float32Array): Codes
  /** The values of a code as the arena stores it. */
  unpack(bytes: Uint8Array): readonly number[]
}

const spaces = ['l2', 'ip', 'cosine'] satisfies SpaceType[]

function paramsOf(
  precision: Precision,
  dimension: number,
  spaceType: SpaceType,
  more: Partial<DenseSchemaParams> = {},
) {
  return definitionOf({ dimension, spaceType, precision, rules: 3, M: 8, efConstruction: 32, ...more }).params
}

/** A segment at the precision of its field from the first row on, around a center. */
function openSettled(params: DenseSchemaParams, pool: WorkerPool, center: Float32Array): Segment {
  const arena = new Arena(shapeOf(params, params.precision), pool.module, pool.threads)
  arena.f32.set(center, arena.centerAddress / 4)
  return new Segment(params, pool, { arena, settled: true })
}

async function insert(segment: Segment, vectors: readonly Float32Array[], first = 0): Promise<void> {
  const { dimension } = segment.params
  const all = new Float32Array(vectors.length * dimension)
  for (const [i, vector] of vectors.entries()) all.set(vector, i * dimension)
  await segment.insert({
    ordinals: Uint32Array.from(vectors, (_, i) => first + i),
    births: new Uint32Array(vectors.length).fill(1),
    norms: new Float32Array(vectors.length).fill(1),
    vectors: new VectorRows(all, dimension),
  })
}

/** The kernel's similarities of all rows, by ordinal. */
function scanAll({ arena, end }: Segment, query: Float32Array): Float32Array {
  const { kernel, ownScratch, ownThread } = arena
  kernel.attach(ownThread)
  arena.f32.fill(0, ownScratch.query / 4, ownScratch.query / 4 + arena.shape.lanes)
  arena.f32.set(query, ownScratch.query / 4)
  kernel.beginScan(end, 1)
  kernel.scanRange(0, end)
  const found = kernel.endScan(end)
  const similarities = new Float32Array(end)
  for (let i = 0; i < found; i++)
    similarities[arena.u32[ownScratch.answers / 4 + i] as number] = arena.f32[ownScratch.similarities / 4 + i] as number
  return similarities
}

function rowsOf(vectors: Float32Array, dimension: number): Float32Array[] {
  return Array.from({ length: vectors.length / dimension }, (_, i) =>
    vectors.subarray(i * dimension, (i + 1) * dimension),
  )
}

/** How often, and from which random numbers. */
export interface Rounds {
  readonly rounds: number
  readonly seed: number
}

/** Codes, factors, and similarities of random rows are those of the reference. */
export async function compareCodes(
  t: Test,
  pool: WorkerPool,
  { precision, codes: codesOf, unpack }: RotatedCodes,
  { rounds, seed }: Rounds,
): Promise<void> {
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  for (let round = 0; round < rounds; round++) {
    const dimension = round % 3 === 0 ? between(257, 1100) : between(2, 256)
    const spaceType = spaces[round % 3] as SpaceType
    const params = paramsOf(precision, dimension, spaceType)
    const n = between(3, 20)
    const all = clusteredRows(n + 2, dimension, between(1, 1e9), between(1, 4))
    if (random() < 0.3) all.fill(0, 0, dimension)
    // One vector with a single non-zero part, and lengths far from 1.
    if (random() < 0.3) all.fill(0, dimension + 1, 2 * dimension)
    const size = [1, 1, 1e-12, 1e12][between(0, 3)] as number
    for (const [i, value] of all.entries()) all[i] = value * size
    if (spaceType === 'cosine') normalize(all, dimension)
    const vectors = rowsOf(all, dimension)
    const center = random() < 0.2 ? new Float32Array(dimension) : (vectors[n] as Float32Array)
    const query = random() < 0.1 ? center : (vectors[n + 1] as Float32Array)
    const segment = openSettled(params, pool, center)
    segment.reserve(n)
    await insert(segment, vectors.slice(0, n))
    const codes = codesOf(center)
    const similarities = scanAll(segment, query)
    const { arena } = segment
    const { codeBytes } = arena.shape
    for (let id = 0; id < n; id++) {
      const expected = codes.encode(vectors[id] as Float32Array, params)
      const tail = arena.tailAddress(id)
      const bytes = arena.u8.subarray(tail - codeBytes, tail)
      const stored = unpack(bytes)
      const isSame = expected.code.every((value, i) => stored[i] === value)
      const [a, factor] = arena.f32.subarray(tail / 4, tail / 4 + 2)
      const similarity = estimate(query, expected, params, center)
      const what = `${spaceType} of ${dimension} dimensions, round ${round}, row ${id}`
      // Compared by Object.is, except for the sign of a zero.
      if (!isSame || expected.code.length !== stored.length) t.fail(`code: ${what}`)
      if (a !== expected.a || factor !== expected.factor)
        t.fail(`factors ${a} ${factor}, not ${expected.a} ${expected.factor}: ${what}`)
      if (similarities[id] !== similarity) t.fail(`similarity ${similarities[id]}, not ${similarity}: ${what}`)
    }
    segment.close()
  }
}

/** Graphs of random rows have the links of the reference. */
export async function compareGraphs(
  t: Test,
  pool: WorkerPool,
  { precision, codes }: RotatedCodes,
  { rounds: graphs, seed }: Rounds,
): Promise<void> {
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  let compared = 0
  for (let graph = 0; graph < graphs; graph++) {
    const dimension = between(2, 300)
    const params = paramsOf(precision, dimension, spaces[graph % 3] as SpaceType, {
      M: between(2, 8),
      efConstruction: between(4, 32),
    })
    const n = between(2, 90)
    const all = clusteredRows(n + 1, dimension, between(1, 1e9), between(1, 6))
    for (let i = random() < 0.4 ? between(0, Math.floor(n / 3)) : 0; i > 0; i--)
      all.copyWithin(between(0, n - 1) * dimension, i * dimension, (i + 1) * dimension)
    const vectors = rowsOf(all, dimension)
    // For inner products, equal rows are found by their length in steps of the code, which the reference does not implement.
    const center = params.spaceType === 'ip' ? new Float32Array(dimension) : (vectors[n] as Float32Array)
    const reference = new ReferenceGraph(params, codes(center))
    const segment = openSettled(params, pool, center)
    segment.reserve(n)
    let isWhole = true
    for (let from = 0; from < n; ) {
      const rows = vectors.slice(from, Math.min(n, from + between(1, 60)))
      reference.insert(rows)
      isWhole &&= reference.isWhole()
      await insert(segment, rows, from)
      from += rows.length
    }
    if (isWhole) {
      compared++
      const same = reference.links.every(
        (lists, id) => JSON.stringify(lists) === JSON.stringify(listsOf(segment, id, params.M)),
      )
      if (!same) t.fail(`graph ${graph}: ${JSON.stringify(params)}`)
    }
    t.equal(segment.arena.word(header.end), n)
    segment.close()
  }
  t.ok(compared > graphs / 2, `${compared} of ${graphs} needed no mending`)
}
