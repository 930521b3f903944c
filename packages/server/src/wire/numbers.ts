// Numbers as vectors hold them: finite after they were rounded to 32 bits.
import { invalidArgument } from '../errors.ts'

/** From here on Math.fround gives Infinity. */
export const floatMax = 2 ** 128 - 2 ** 103

/** Vectors of a request share allocations: one of its own for each costs more than reading its numbers. */
const slabFloats = 16_384
let slab = new Float32Array(slabFloats)
let slabUsed = 0

/** Room for a vector that lives as long as its request: what is kept longer keeps its neighbours too. */
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

/** Stands where an array of numbers stood. Empty for whoever takes it for an array; `floatsFrom` takes the numbers. */
export class ScannedNumbers extends Array<never> {
  readonly floats: Float32Array

  constructor(floats: Float32Array) {
    super()
    this.floats = floats
  }
}

/** Takes what JSON gave for a vector. Refuses anything but finite numbers: nothing is converted from text. */
export function floatsFrom(value: unknown, field: string): Float32Array {
  if (value instanceof ScannedNumbers) return value.floats
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of numbers`, { field, value })
  const items: readonly unknown[] = value
  const floats = floatRoom(items.length)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item !== 'number' || !(Math.abs(item) < floatMax)) {
      throw invalidArgument(`${field}[${i}] must be a finite 32-bit number`, { field: `${field}[${i}]`, value: item })
    }
    floats[i] = item
  }
  return floats
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
  const items: readonly unknown[] = value
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
