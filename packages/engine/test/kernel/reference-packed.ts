// Packed codes of rotated vectors, of four and two bits, in plain TypeScript: one component after another in single precision. The kernel
// must compute the same, bit for bit.
import type { DenseSchemaParams } from '../../src/model/schema.ts'
import { type Codes, laneSum, type Row } from './reference-graph.ts'
import { dot, rotate, subtractCenter } from './reference-signs.ts'

const f = Math.fround

type Packed = 'int4' | 'int2'

const bits = { int4: 4, int2: 2 } as const

/** Number of components of a code. */
function lengthOf(dimension: number, precision: Packed): number {
  return precision === 'int4'
    ? Math.ceil(Math.max(64, dimension) / 32) * 32
    : Math.ceil(Math.max(128, dimension) / 64) * 64
}

/** Code values are the odd numbers from -15 to 15, or from -3 to 3. */
function encodePacked(vector: Float32Array, params: DenseSchemaParams, center: Float32Array): Row {
  const precision = params.precision as Packed
  const x = subtractCenter(vector, center)
  const square = dot(x, x)
  const y = rotate(x, lengthOf(vector.length, precision))
  const largest = y.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const step = precision === 'int4' ? f(largest / 7.5) : f(f(0.9957) * f(Math.sqrt(f(square / y.length))))
  const inverse = step > 0 ? f(1 / step) : 0
  const half = 2 ** (bits[precision] - 1)
  const code = Int32Array.from(y, (value) => {
    const level = Math.floor(f(value * inverse))
    return 2 * Math.max(-half, Math.min(half - 1, level)) + 1
  })
  const along = laneSum(y.length, (i) => (y[i] as number) * (code[i] as number))
  const beyond = params.spaceType === 'cosine' && dot(vector, vector) === 0 ? 1 : 0
  return {
    code,
    a: params.spaceType === 'ip' ? -dot(center, x) : f(square + beyond),
    factor: along > 0 ? f(square / along) : 0,
  }
}

/** Key of one row with another as the query. */
function keyOfRows(query: Row, row: Row, { spaceType }: DenseSchemaParams): number {
  const product = row.code.reduce((sum, value, i) => sum + value * (query.code[i] as number), 0)
  const gain = spaceType === 'ip' ? query.factor : f(2 * query.factor)
  return f(f(query.a + row.a) - f(f(gain * row.factor) * f(product)))
}

/** Rows of an arena around a center. */
export function packedCodes(center: Float32Array): Codes {
  return { encode: (vector, params) => encodePacked(vector, params, center), key: keyOfRows }
}

/** The values of a code as the arena stores it. */
export function unpack(bytes: Uint8Array, precision: Packed): number[] {
  const perByte = 8 / bits[precision]
  return Array.from({ length: bytes.length * perByte }, (_, i) => {
    const byte = bytes[Math.floor(i / (16 * perByte)) * 16 + (i % 16)] as number
    const shift = (Math.floor(i / 16) % perByte) * bits[precision]
    return 2 * ((byte >> shift) % 2 ** bits[precision]) + 1 - 2 ** bits[precision]
  })
}
