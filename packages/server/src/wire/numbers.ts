// Numbers as vectors hold them: finite after they were rounded to 32 bits.
import { invalidArgument } from '../errors.ts'

/** From here on Math.fround gives Infinity. */
export const floatMax = 2 ** 128 - 2 ** 103

/** Takes what JSON gave for a vector. Refuses anything but finite numbers: nothing is converted from text. */
export function floatsFrom(value: unknown, field: string): Float32Array {
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of numbers`, { field, value })
  const items: readonly unknown[] = value
  const floats = new Float32Array(items.length)
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
