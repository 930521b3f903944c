// Heads in plain TypeScript: one component after another in single precision (docs/formats/arena.md). The kernel must compute the same, bit
// for bit.
import type { SpaceType } from '../../src/model/schema.ts'
import { laneSum, nearest } from './reference-graph.ts'

const f = Math.fround
const components = 192
const fine = 32
export const headBytes = 128
const tail = 112

export interface Projection {
  /** Values of 192 directions, one after another. */
  readonly directions: Int32Array
  readonly scales: Float32Array
  readonly widths: Float32Array
  readonly mean: number
  readonly deviation: number
  readonly slope: number
}

export function readProjection(bytes: Uint8Array, lanes: number): Projection {
  const floats = new Float32Array(bytes.slice(components * lanes).buffer)
  const [mean = 0, deviation = 0, slope = 0] = floats.subarray(2 * components)
  return {
    directions: Int32Array.from(bytes.subarray(0, components * lanes), (value) => value - 64),
    scales: floats.subarray(0, components),
    widths: floats.subarray(components, 2 * components),
    mean,
    deviation,
    slope,
  }
}

/** The row as the arena has it: values of its code, its factor, and `a`. */
export interface CodedRow {
  readonly code: Int32Array
  readonly factor: number
  readonly a: number
}

/** Components of the vector factor * code. */
function project({ directions, scales }: Projection, code: Int32Array, factor: number): Float32Array {
  return Float32Array.from({ length: components }, (_, j) => {
    let dot = 0
    for (const [i, value] of code.entries()) dot += value * (directions[j * code.length + i] as number)
    return f(f(dot) * f(f(factor) * (scales[j] as number)))
  })
}

function squareOf(code: Int32Array, factor: number): number {
  return f(f(factor * factor) * f(code.reduce((sum, value) => sum + value * value, 0)))
}

/** Not a number becomes 0. */
function clamp(value: number, low: number, high: number): number {
  return Number.isNaN(value) ? 0 : Math.min(high, Math.max(low, value))
}

export function headOf(projection: Projection, { code, factor, a }: CodedRow): Uint8Array {
  const { widths } = projection
  const x = project(projection, code, factor)
  const valueAt = (values: Float32Array, i: number) => values[i] as number
  const steps = Array.from(x, (value, i) => {
    const scaled = f(value / valueAt(widths, i))
    return i < fine ? clamp(nearest(scaled), -63, 63) : clamp(Math.floor(scaled), -8, 7)
  })
  const squares = laneSum(components, (i) => valueAt(x, i) * valueAt(x, i))
  const along = laneSum(components, (i) => {
    const middle = i < fine ? (steps[i] as number) : f((steps[i] as number) + 0.5)
    return valueAt(x, i) * f(middle * valueAt(widths, i))
  })
  const bytes = new Uint8Array(headBytes)
  for (let i = 0; i < fine; i++) bytes[i] = (steps[i] as number) + 64
  for (let i = fine; i < components; i++) {
    const place = fine + Math.floor((i - fine) / 32) * 16 + ((i - fine) % 16)
    const four = (steps[i] as number) + 8
    bytes[place] = (bytes[place] as number) | ((i - fine) % 32 < 16 ? four : four << 4)
  }
  const headFactor = along > 0 ? f(squares / along) : 0
  const rest = f(Math.sqrt(Math.max(0, f(squareOf(code, factor) - squares))))
  const restFactor = squares > 0 ? f(f(headFactor * rest) / f(Math.sqrt(squares))) : 0
  new Float32Array(bytes.buffer, tail).set([a, headFactor, restFactor, rest])
  return bytes
}

/** What the bound takes from a query: values of its weighted components, and four numbers. */
export interface QueryBound {
  readonly values: Int32Array
  readonly base: number
  readonly gain: number
  readonly restGain: number
  readonly rest: number
}

/** `query` is the vector minus the center, padded to `lanes`. */
export function prepareBound(
  projection: Projection,
  query: Float32Array,
  space: SpaceType,
  deviations: number,
): QueryBound {
  const most = query.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
  const inverse = most > 0 ? f(127 / most) : 0
  const code = Int32Array.from(query, (value) => nearest(f(value * inverse)))
  const square = laneSum(query.length, (i) => (query[i] as number) * (query[i] as number))
  const x = project(projection, code, f(most / 127))
  const weighted = x.map((value, i) => f(value * (projection.widths[i] as number)))
  const largest = weighted.reduce((so, value) => Math.max(so, Math.abs(value)), 0)
  const scale = largest > 0 ? f(127 / largest) : 0
  const squares = laneSum(components, (i) => (x[i] as number) * (x[i] as number))
  const left = f(Math.sqrt(Math.max(0, f(square - squares))))
  const weight = space === 'ip' ? 1 : 2
  const unit = f(f(weight * largest) / 254)
  const cosine = f(projection.mean + f(deviations * projection.deviation))
  return {
    values: Int32Array.from(weighted, (value) => nearest(f(value * scale))),
    base: space === 'ip' ? 0 : square,
    gain: unit,
    restGain: squares > 0 ? f(f(f(unit * projection.slope) * left) / f(Math.sqrt(squares))) : 0,
    rest: f(f(weight * cosine) * left),
  }
}

export function boundOf({ values, base, gain, restGain, rest }: QueryBound, head: Uint8Array): number {
  const [a = 0, factor = 0, restFactor = 0, ownRest = 0] = new Float32Array(head.slice(tail).buffer)
  let doubled = 0
  for (const [i, value] of values.entries()) {
    const place = fine + Math.floor((i - fine) / 32) * 16 + ((i - fine) % 16)
    const byte = head[i < fine ? i : place] as number
    const twice = i < fine ? 2 * (byte - 64) : 2 * ((i - fine) % 32 < 16 ? byte & 15 : byte >> 4) - 15
    doubled += value * twice
  }
  const near = f(f(f(gain * factor) + f(restGain * restFactor)) * f(doubled))
  return f(f(f(base + a) - near) - f(rest * ownRest))
}

/** Sum of products of float64 numbers: the even ones and the odd ones in order, then both. */
function dotOf(a: Float64Array, b: Float64Array): number {
  const sums = [0, 0]
  for (const [i, value] of a.entries()) sums[i % 2] = (sums[i % 2] as number) + value * (b[i] as number)
  return (sums[0] as number) + (sums[1] as number)
}

/** The product of the matrix, whose lines follow each other, with a vector. */
export function multiply(matrix: Int32Array, vector: Float64Array): Float64Array {
  const { length } = vector
  return vector.map((_, i) => dotOf(Float64Array.from(matrix.subarray(i * length, (i + 1) * length)), vector))
}

/** Makes the last vector orthogonal to those before it, and of length 1. */
export function orthonormalize(vectors: readonly Float64Array[]): void {
  const own = vectors.at(-1) as Float64Array
  const before = dotOf(own, own)
  for (const other of vectors.slice(0, -1)) {
    const along = dotOf(other, own)
    for (const [i, value] of other.entries()) own[i] = (own[i] as number) - along * value
  }
  const after = dotOf(own, own)
  const scale = after > 1e-18 * before ? 1 / Math.sqrt(after) : 0
  for (const [i, value] of own.entries()) own[i] = value * scale
}
