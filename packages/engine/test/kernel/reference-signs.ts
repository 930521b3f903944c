// Codes of rotated vectors in plain TypeScript: one component after another in single precision. The kernel must compute the same, bit for
// bit.
import type { DenseSchemaParams } from '../../src/model/schema.ts'
import { type Codes, laneSum, nearest, type Row } from './reference-graph.ts'

const f = Math.fround

export function bitsOf(dimension: number): number {
  return Math.max(256, Math.ceil(dimension / 128) * 128)
}

function isFlipped(place: number, round: number): boolean {
  let h = Math.imul((0x5bd1e995 + round * 65_536 + place) | 0, 0x9e3779b1)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h < 0
}

/** The orthonormal Walsh-Hadamard transform of `size` components from the given index on. */
function transform(x: Float32Array, start: number, size: number): void {
  for (let half = 1; half < size; half *= 2)
    for (let i = 0; i < size; i++) {
      if ((i & half) !== 0) continue
      const a = x[start + i] as number
      const b = x[start + i + half] as number
      x[start + i] = f(a + b)
      x[start + i + half] = f(a - b)
    }
  const scale = f(1 / f(Math.sqrt(size)))
  for (let i = start; i < start + size; i++) x[i] = f((x[i] as number) * scale)
}

export function rotate(vector: Float32Array, length = bitsOf(vector.length)): Float32Array {
  const x = new Float32Array(length)
  x.set(vector)
  const window = 2 ** Math.floor(Math.log2(x.length))
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < x.length; i++) if (isFlipped(i, round)) x[i] = -(x[i] as number)
    transform(x, 0, window)
    if (window < x.length) transform(x, x.length - window, window)
  }
  return x
}

/** The vector minus the center. */
export function subtractCenter(vector: Float32Array, center: Float32Array): Float32Array {
  return vector.map((x, i) => f(x - (center[i] as number)))
}

export function dot(a: Float32Array, b: Float32Array): number {
  const lanes = Math.ceil(a.length / 16) * 16
  return laneSum(lanes, (i) => (a[i] ?? 0) * (b[i] ?? 0))
}

/** Code values are 1 and -1. */
export function encodeSigns(vector: Float32Array, { spaceType }: DenseSchemaParams, center: Float32Array): Row {
  const x = subtractCenter(vector, center)
  const square = dot(x, x)
  const y = rotate(x)
  const along = laneSum(y.length, (i) => Math.abs(y[i] as number))
  const beyond = spaceType === 'cosine' && dot(vector, vector) === 0 ? 1 : 0
  return {
    code: Int32Array.from(y, (value) => (value > 0 ? 1 : -1)),
    a: spaceType === 'ip' ? -dot(center, x) : f(square + beyond),
    factor: along > 0 ? f(square / along) : 0,
  }
}

/** Key of one row with another as the query. */
function keyOfRows(query: Row, row: Row, { spaceType }: DenseSchemaParams): number {
  const bits = row.code.length
  const different = row.code.reduce((sum, value, i) => sum + (value === query.code[i] ? 0 : 1), 0)
  const m = f(1 - f(different * f(2 / bits)))
  const square = f(m * m)
  const inner = f(f(-0.6432292) + f(square * f(0.0727102)))
  const sine = f(m * f(f(1.5706268) + f(square * inner)))
  const product = f(sine * f(f(0.63661977) * bits))
  const gain = spaceType === 'ip' ? query.factor : f(2 * query.factor)
  return f(f(query.a + row.a) - f(f(gain * row.factor) * product))
}

/** Rows of an arena around a center. */
export function signCodes(center: Float32Array): Codes {
  return { encode: (vector, params) => encodeSigns(vector, params, center), key: keyOfRows }
}

/** The reported similarity of a row to a query, whose code has values from -127 to 127. */
export function estimate(
  query: Float32Array,
  row: Row,
  { spaceType }: DenseSchemaParams,
  center: Float32Array,
): number {
  const q = subtractCenter(query, center)
  const square = dot(q, q)
  const z = rotate(q, row.code.length)
  const largest = z.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
  const step = f(largest / 127)
  const scale = largest > 0 ? f(127 / largest) : 0
  let product = 0
  for (let i = 0; i < z.length; i++) product += nearest(f((z[i] as number) * scale)) * (row.code[i] as number)
  const gain = spaceType === 'ip' ? step : f(2 * step)
  const near = f(f(gain * row.factor) * product)
  const key = f(f((spaceType === 'ip' ? 0 : square) + row.a) - near)
  if (spaceType === 'l2') return Math.min(0, -key)
  const dotCenter = dot(query, center)
  if (spaceType === 'ip') return f(f(-key) + dotCenter)
  const product2 = f(f(f(square + row.a) - key) * 0.5)
  const rest = f(f(f(1 - row.a) - dot(center, center)) * 0.5)
  return Math.max(-1, Math.min(1, f(f(product2 + dotCenter) + rest)))
}
