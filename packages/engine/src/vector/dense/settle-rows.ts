// The rows around which a segment settles: those of its first arena, and their center.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { elementAt } from '../element-at.ts'
import type { Arena } from './arena.ts'
import type { Batch } from './build-batch.ts'
import { header, none } from './header.ts'
import { VectorRows } from './vector-rows.ts'

/** The rows of an arena by ordinal, except for those whose ordinals are reused. */
export async function batchOf(arena: Arena, others: ReadonlySet<number>): Promise<Batch> {
  const { dimension } = arena.shape.params
  const ordinals: number[] = []
  const end = arena.word(header.end)
  for (let ordinal = 0; ordinal < end; ordinal++)
    if (arena.birth(ordinal) !== undefined && !others.has(ordinal)) ordinals.push(ordinal)
  const vectors = new Float32Array(ordinals.length * dimension)
  const from = arena.ownScratch.query / 4
  const turns = new FloatTurns()
  for (const [i, ordinal] of ordinals.entries()) {
    arena.kernel.decodeRow(ordinal)
    vectors.set(arena.f32.subarray(from, from + dimension), i * dimension)
    if (turns.isOver(dimension)) await nextTurn()
  }
  return {
    ordinals: Uint32Array.from(ordinals),
    births: Uint32Array.from(ordinals, (ordinal) => arena.birth(ordinal) ?? none),
    norms: Float32Array.from(ordinals, (ordinal) => arena.norm(ordinal)),
    vectors: new VectorRows(vectors, dimension),
  }
}

export function joinBatches(a: Batch, b: Batch): Batch {
  const n = a.ordinals.length + b.ordinals.length
  const ordinals = new Uint32Array(n)
  const births = new Uint32Array(n)
  const norms = new Float32Array(n)
  for (const [whole, first, second] of [
    [ordinals, a.ordinals, b.ordinals],
    [births, a.births, b.births],
    [norms, a.norms, b.norms],
  ] as const) {
    whole.set(first)
    whole.set(second, first.length)
  }
  return { ordinals, births, norms, vectors: b.vectors.after(a.vectors) }
}

/** A row is far from the others if its squared distance from their mean is more than this many times that of the row in the middle. */
const farSquares = 8 ** 2
/** Rows that are longer by many orders of magnitude hide others, which are found around the next mean. */
const roundsMax = 32

/**
 * The center around which a graph of these rules settles: the mean of the rows. Since rules 2, rows that are copies of an earlier one do not
 * count; since rules 5, neither do rows that are far from the others. One row a million times as long would move the center so far away that codes
 * hardly distinguished the others (docs/decisions/0124-centers-leave-out-far-rows.md). At least half of the rows count.
 */
export async function centerOf(vectors: VectorRows, rules: number): Promise<Float32Array> {
  const rows = await distinctRows(vectors, rules)
  let center = await meanOf(vectors, rows)
  if (rules < 5) return center
  let counted = rows.length
  for (let round = 0; round < roundsMax; round++) {
    const squares = await squaresAround(center, vectors, rows)
    const limit = farSquares * elementAt(squares.slice().sort(), rows.length >> 1)
    const near = rows.filter((_, i) => elementAt(squares, i) <= limit)
    if (near.length === counted) break
    center = await meanOf(vectors, near)
    counted = near.length
  }
  return center
}

/** Indexes of the rows that count: since rules 2, those that are not copies of an earlier one. */
async function distinctRows(vectors: VectorRows, rules: number): Promise<readonly number[]> {
  const counts = rules > 1 ? createCopyDetector() : () => true
  const turns = new FloatTurns()
  const rows: number[] = []
  for (let index = 0; index < vectors.length; index++) {
    if (turns.isOver(vectors.dimension)) await nextTurn()
    if (counts(vectors.row(index))) rows.push(index)
  }
  return rows
}

/** Mean of the rows, summed by ordinal in double precision: the same on every machine. */
async function meanOf(vectors: VectorRows, rows: readonly number[]): Promise<Float32Array> {
  const { dimension } = vectors
  const sums = new Float64Array(dimension)
  const turns = new FloatTurns()
  for (const index of rows) {
    if (turns.isOver(dimension)) await nextTurn()
    const row = vectors.row(index)
    for (let i = 0; i < dimension; i++) sums[i] = elementAt(sums, i) + elementAt(row, i)
  }
  return Float32Array.from(sums, (sum) => sum / rows.length)
}

/** Squared distances of the rows from a point. */
async function squaresAround(point: Float32Array, vectors: VectorRows, rows: readonly number[]): Promise<Float64Array> {
  const squares = new Float64Array(rows.length)
  const turns = new FloatTurns()
  for (const [at, index] of rows.entries()) {
    if (turns.isOver(point.length)) await nextTurn()
    const row = vectors.row(index)
    let square = 0
    for (let i = 0; i < point.length; i++) square += (elementAt(row, i) - elementAt(point, i)) ** 2
    squares[at] = square
  }
  return squares
}

/** Numbers processed in one turn of the event loop, which takes a few milliseconds. Counted, because the fold uses no clock. */
const turnFloats = 2 ** 18

class FloatTurns {
  #floats = 0

  /** Whether the turn ends with these numbers; then the next one starts. */
  isOver(floats: number): boolean {
    this.#floats += floats
    if (this.#floats < turnFloats) return false
    this.#floats = 0
    return true
  }
}

/**
 * Returns a function that must be called for the rows in order and returns whether a row is not a copy of an earlier one. Thousands of
 * copies would pull the center toward themselves, and codes distinguish rows by their side of the center. Copies are rows of equal length
 * whose values are equal in 63rds of the largest, compared by a hash of 53 bits; one row less in a mean does no harm.
 */
function createCopyDetector(): (row: Float32Array) => boolean {
  const seen = new Set<number>()
  const length = new Float32Array(1)
  const lengthBits = new Uint32Array(length.buffer)
  return (row) => {
    let [most, square] = [0, 0]
    for (let i = 0; i < row.length; i++) {
      const value = elementAt(row, i)
      most = Math.max(most, Math.abs(value))
      square += value * value
    }
    length[0] = square
    let [a, b] = [0x9e3779b9 ^ (elementAt(lengthBits, 0) >>> 8), 0x85ebca6b]
    const scale = most > 0 ? 63 / most : 0
    for (let i = 0; i < row.length; i++) {
      const value = Math.round(elementAt(row, i) * scale) + 64
      a = Math.imul(a ^ value, 0x21f0aaad)
      a ^= a >>> 15
      b = Math.imul(b ^ value ^ (a >>> 16), 0x735a2d97)
      b ^= b >>> 13
    }
    const hash = (a >>> 0) * 2 ** 21 + (b >>> 11)
    if (seen.has(hash)) return false
    seen.add(hash)
    return true
  }
}
