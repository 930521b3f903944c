// Numbers as vectors hold them: finite after they were rounded to 32 bits.
import { invalidArgument, type ServerError } from '../http/errors.ts'

/** From here on Math.fround gives Infinity. */
export const floatMax = 2 ** 128 - 2 ** 103

/** Vectors of a request share allocations: one of its own for each costs more than reading its numbers. */
const slabFloats = 16_384
let slab = new Float32Array(slabFloats)
let slabUsed = 0

/** Room for a vector that lives as long as its request: what is kept longer keeps its neighbors too. */
export function floatRoom(length: number): Float32Array {
  if (length > slabFloats / 8) return new Float32Array(length)
  if (slabUsed + length > slabFloats) {
    slab = new Float32Array(slabFloats)
    slabUsed = 0
  }
  const room = new Float32Array(slab.buffer, slabUsed * 4, length)
  slabUsed += length
  return room
}

/** The placeholder of an array of numbers. It reads as an empty array; `floatsFrom` and `indicesFrom` return the numbers. */
export class ScannedNumbers extends Array<never> {
  /** Doubles where every digit may count. */
  readonly floats: Float32Array | Float64Array
  /** The first number that is infinite with 32 bits. */
  readonly infiniteAt: number

  constructor(floats: Float32Array | Float64Array, infiniteAt = -1) {
    super()
    this.floats = floats
    this.infiniteAt = infiniteAt
  }
}

/** Takes what JSON gave for a vector. Refuses anything but finite numbers: nothing is converted from text. */
export function floatsFrom(value: unknown, field: string): Float32Array {
  if (value instanceof ScannedNumbers) {
    const { floats, infiniteAt } = value
    if (infiniteAt >= 0) throw notFinite(`${field}[${infiniteAt}]`, floats[infiniteAt])
    return floats instanceof Float32Array ? floats : Float32Array.from(floats)
  }
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of numbers`, { field, value })
  const items: readonly unknown[] = value
  const floats = floatRoom(items.length)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item !== 'number' || !(Math.abs(item) < floatMax)) throw notFinite(`${field}[${i}]`, item)
    floats[i] = item
  }
  return floats
}

export function notFinite(field: string, value: unknown): ServerError {
  return invalidArgument(`${field} must be a finite 32-bit number`, { field, value })
}

/** Several vectors; the engine judges how many there are and how long. */
export function vectorsFrom(value: unknown, field: string): Float32Array[] {
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of vectors`, { field, value })
  const items: readonly unknown[] = value
  return items.map((item, i) => floatsFrom(item, `${field}[${i}]`))
}

/** Positions of a sparse vector: whole numbers from 0 to 2^32 - 1. */
export function indicesFrom(value: unknown, field: string): Uint32Array {
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of whole numbers`, { field, value })
  const items: ArrayLike<unknown> = value instanceof ScannedNumbers ? value.floats : value
  const indices = new Uint32Array(items.length)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item !== 'number' || !Number.isInteger(item) || item < 0 || item > 0xffffffff) {
      throw invalidArgument(`${field}[${i}] must be a whole number from 0 to 4294967295`, {
        field: `${field}[${i}]`,
        value: item,
      })
    }
    indices[i] = item
  }
  return indices
}
