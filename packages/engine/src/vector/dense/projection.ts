// Learns the projection of a segment: the directions in which a sample of its rows varies most, the width of each component of a head, and
// how the cosines of the rests relate to those of the heads. Everything follows from the codes of the sample: sums of products of codes are
// integers, and the rest is float64 in a fixed order, so every machine learns the same bytes. docs/formats/arena.md has the rule.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { elementAt } from '../element-at.ts'
import { roundUp } from '../round-up.ts'
import type { Arena } from './arena.ts'
import { header } from './header.ts'
import { planLearning, sampleMax } from './learning-space.ts'
import { headComponents } from './shape.ts'

/** Components of seven bits; the others have four. */
const fineComponents = 32
/** Steps of the subspace iteration. More find directions that hold less than a thousandth more of the variance. */
const iterations = 6
/** Steps of the first components in a deviation, and of the others. Larger values are clipped. */
const fineRange = 8 / 126
const coarseRange = 5 / 16
/** Rows of the sample that are compared with the others, and the share of the sample that counts as near. */
const comparedRows = 128
const nearShare = 1 / 170
const nearMin = 8
/** Offset of the floats in a head. */
const tailOffset = 112

/** Writes the projection of the arena, from its rows. Searches continue, and nothing may be applied meanwhile. */
export async function learnProjection(arena: Arena): Promise<void> {
  const sample = sampleOf(arena)
  const turns = new Turns()
  await writeCovariance(arena, sample, turns)
  await iterate(arena, turns)
  writeDirections(arena)
  await writeWidths(arena, sample, turns)
  await writeCosines(arena, sample, turns)
  // The counter is that of searches.
  arena.kernel.takeDistances()
}

/** Ordinals spread evenly over those of the segment, without removed rows and copies. */
function sampleOf(arena: Arena): Uint32Array {
  const end = arena.word(header.end)
  const count = Math.min(sampleMax, end)
  const spread = Uint32Array.from({ length: count }, (_, i) => Math.floor(((2 * i + 1) * end) / (2 * count)))
  return spread.filter((ordinal) => arena.isAlive(ordinal) && !arena.kernel.isFollower(ordinal))
}

async function writeCovariance(arena: Arena, sample: Uint32Array, turns: Turns): Promise<void> {
  const { lanes } = arena.shape
  const { kernel } = arena
  const { table, matrix, form } = addressesIn(arena)
  const columns = roundUp(sample.length, 16)
  // The value 0 of a code, for columns without a row.
  arena.u8.fill(64, table, table + lanes * columns)
  for (const [column, ordinal] of sample.entries()) {
    kernel.copyColumn(ordinal, table, columns, column)
    await turns.spend(lanes * 16)
  }
  for (let line = 0; line < lanes; line++) {
    kernel.writeCovariance(table, columns, line, form, matrix)
    await turns.spend((line * columns) / 8)
  }
  for (let line = 0; line < lanes; line++) {
    kernel.mirrorCovariance(line, matrix)
    await turns.spend(line * 2)
  }
}

/** Leaves the directions in `vectors`, the one with the most variance first. */
async function iterate(arena: Arena, turns: Turns): Promise<void> {
  const { lanes } = arena.shape
  const { kernel } = arena
  const { vectors, products, matrix } = addressesIn(arena)
  const vectorBytes = lanes * 8
  let [from, to] = [vectors, products]
  const first = new Float64Array(arena.memory.buffer, from, headComponents * lanes)
  for (let i = 0; i < first.length; i++) first[i] = signAt(i)
  // An even number of steps, so that the last result is where the first vectors were.
  for (let step = 0; step < iterations; step++) {
    for (let i = 0; i < headComponents; i += 4) {
      kernel.multiply4(matrix, from + i * vectorBytes, to + i * vectorBytes)
      await turns.spend(lanes * lanes * 2)
    }
    for (let i = 0; i < headComponents; i++) {
      kernel.orthonormalize(to, i)
      await turns.spend(lanes * i)
    }
    ;[from, to] = [to, from]
  }
}

/** A hash of the position decides. */
function signAt(i: number): number {
  let h = Math.imul(i + 1, 0x9e3779b1)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h < 0 ? -1 : 1
}

/** Rounds the directions to seven bits, each with its own scale. */
function writeDirections(arena: Arena): void {
  const { lanes } = arena.shape
  const { vectors } = addressesIn(arena)
  const { directions, scales } = projectionParts(arena)
  const all = new Float64Array(arena.memory.buffer, vectors, headComponents * lanes)
  for (let j = 0; j < headComponents; j++) {
    const direction = all.subarray(j * lanes, (j + 1) * lanes)
    const most = direction.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
    const steps = most > 0 ? 63 / most : 0
    direction.forEach((value, i) => {
      directions[j * lanes + i] = Math.round(value * steps) + 64
    })
    scales[j] = most / 63
  }
}

/** The width of a step of each component, from its mean square over the sample. */
async function writeWidths(arena: Arena, sample: Uint32Array, turns: Turns): Promise<void> {
  const { kernel, shape, ownScratch } = arena
  const { widths } = projectionParts(arena)
  kernel.attach(arena.ownThread)
  const squares = new Float64Array(headComponents)
  for (const ordinal of sample) {
    kernel.projectRow(ordinal)
    const values = arena.f32.subarray(ownScratch.headValues / 4, ownScratch.headValues / 4 + headComponents)
    for (let i = 0; i < headComponents; i++) {
      const value = elementAt(values, i)
      squares[i] = elementAt(squares, i) + value * value
    }
    await turns.spend(shape.lanes * 16)
  }
  squares.forEach((sum, i) => {
    widths[i] = Math.sqrt(sum / sample.length) * (i < fineComponents ? fineRange : coarseRange)
  })
}

/**
 * The cosine of the rests of two near rows is about mean + slope * the cosine of their heads, with a deviation. Compares some rows of the
 * sample with those of the sample that are nearest to them.
 */
async function writeCosines(arena: Arena, sample: Uint32Array, turns: Turns): Promise<void> {
  const { kernel, shape } = arena
  for (const ordinal of sample) {
    kernel.writeHead(ordinal)
    await turns.spend(shape.lanes * 16)
  }
  const fit = new Fit()
  const near = Math.min(sample.length - 1, Math.max(nearMin, Math.round(sample.length * nearShare)))
  const step = Math.max(1, Math.floor(sample.length / comparedRows))
  for (let i = 0; i < sample.length; i += step) {
    for (const [rest, head] of cosinesAround(arena, elementAt(sample, i), sample, near)) fit.add(head, rest)
    await turns.spend(shape.lanes * sample.length * 2)
  }
  const { mean, deviation, slope } = fit.line()
  projectionParts(arena).cosines.set([mean, deviation, slope])
}

/** The cosines of rest and head of a row with each of the nearest rows of the sample. */
function cosinesAround(arena: Arena, ordinal: number, sample: Uint32Array, near: number): [number, number][] {
  const { kernel, ownScratch, u32, f32 } = arena
  const isIp = arena.shape.params.spaceType === 'ip'
  const [ids, keys] = [ownScratch.ids / 4, ownScratch.keys / 4]
  u32.set(sample, ids)
  kernel.keysFromOrdinal(ordinal, sample.length)
  const all = f32.slice(keys, keys + sample.length)
  // Sorted with the row itself, whose place in the sample is known.
  const limit = elementAt(all.slice().sort(), near)
  const places = [...all.keys()].filter((i) => elementAt(all, i) <= limit && elementAt(sample, i) !== ordinal)
  const nearest = Uint32Array.from(places, (i) => elementAt(sample, i))
  if (nearest.length > sample.length / 4) return []
  u32.set(nearest, ids)
  kernel.estimatesFrom(ordinal, nearest.length)
  const estimates = f32.slice(keys, keys + nearest.length)
  const own = restOf(arena, ordinal)
  const weight = isIp ? 1 : 2
  const base = isIp ? 0 : own.square
  const cosines: [number, number][] = []
  for (const [i, other] of nearest.entries()) {
    const { rest, head, a } = restOf(arena, other)
    if (own.rest * rest === 0 || own.head * head === 0) continue
    const product = (own.a + a - elementAt(all, elementAt(places, i))) / weight
    const ofHeads = (base + a - elementAt(estimates, i)) / weight
    cosines.push([(product - ofHeads) / (own.rest * rest), ofHeads / (own.head * head)])
  }
  return cosines
}

/** The lengths of the rest and of the head of a row, and the square of both together. */
function restOf(arena: Arena, ordinal: number): { rest: number; head: number; a: number; square: number } {
  const { blockShift, blockRows, headBytes } = arena.shape
  const place = arena.headsAddress(ordinal >>> blockShift) + (ordinal & (blockRows - 1)) * headBytes
  const [a = 0, factor = 0, restFactor = 0, rest = 0] = arena.f32.subarray((place + tailOffset) / 4)
  const head = restFactor > 0 ? (factor * rest) / restFactor : 0
  return { rest, head, a, square: head * head + rest * rest }
}

/** A straight line through points, by least squares. */
class Fit {
  #count = 0
  #x = 0
  #y = 0
  #xx = 0
  #xy = 0
  #yy = 0

  add(x: number, y: number): void {
    this.#count++
    this.#x += x
    this.#y += y
    this.#xx += x * x
    this.#xy += x * y
    this.#yy += y * y
  }

  /** Without points, a bound that rejects nothing that is possible. */
  line(): { mean: number; deviation: number; slope: number } {
    const count = this.#count
    if (count === 0) return { mean: 1, deviation: 0, slope: 0 }
    const variance = this.#xx - (this.#x * this.#x) / count
    const covariance = this.#xy - (this.#x * this.#y) / count
    const slope = variance > 1e-9 * count ? covariance / variance : 0
    const mean = (this.#y - slope * this.#x) / count
    const left = this.#yy - (this.#y * this.#y) / count - slope * covariance
    return { mean, deviation: Math.sqrt(Math.max(0, left) / count), slope }
  }
}

/** Addresses in the space of learning. */
function addressesIn(arena: Arena) {
  const { address } = arena.learning
  const plan = planLearning(arena.shape)
  return {
    table: address + plan.table,
    vectors: address + plan.vectors,
    products: address + plan.products,
    matrix: address + plan.matrix,
    form: address + plan.form,
  }
}

/** The parts of the projection in memory. */
function projectionParts(arena: Arena) {
  const { lanes } = arena.shape
  const { address } = arena.projection
  const { buffer } = arena.memory
  const scales = address + headComponents * lanes
  const widths = scales + headComponents * 4
  return {
    directions: new Uint8Array(buffer, address, headComponents * lanes),
    scales: new Float32Array(buffer, scales, headComponents),
    widths: new Float32Array(buffer, widths, headComponents),
    cosines: new Float32Array(buffer, widths + headComponents * 4, 4),
  }
}

/** Operations of one turn of the event loop: one or two milliseconds. Counted, because the fold uses no clock. */
const turnOperations = 2 ** 22

class Turns {
  #spent = 0

  async spend(operations: number): Promise<void> {
    this.#spent += operations
    if (this.#spent < turnOperations) return
    this.#spent = 0
    await nextTurn()
  }
}
