// The numbers of vectors: finite after rounding to 32 bits.
import { invalidArgument, type ServerError } from '../errors.ts'

/** From this value on, Math.fround returns Infinity. */
export const floatMax = 2 ** 128 - 2 ** 103

/** The vectors of a request share allocations, because an allocation for each costs more than reading its numbers. */
const slabFloats = 16_384
let slab = new Float32Array(slabFloats)
let slabUsed = 0

/** Returns space for a vector that lives as long as its request. Keeping one vector longer keeps the whole allocation. */
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

/** Space for the vectors of one entry of a list at a time: an entry's vectors are overwritten by those of the next one. */
export class EntryFloats {
  #floats: Float32Array | undefined
  #used = 0

  /** Begins an entry. */
  begin(): void {
    this.#used = 0
  }

  /** Vectors for which there is no space live as long as the request. */
  readonly room = (length: number): Float32Array => {
    if (this.#used + length > slabFloats) return floatRoom(length)
    this.#floats ??= new Float32Array(slabFloats)
    this.#used += length
    return this.#floats.subarray(this.#used - length, this.#used)
  }
}

/** Placeholder of an array of numbers. It reads as an empty array; `floatsFrom` and `indicesFrom` return the numbers. */
export class ScannedNumbers extends Array<never> {
  /** Doubles if every digit may matter. */
  readonly floats: Float32Array | Float64Array
  /** Position of the first number that is infinite with 32 bits. */
  readonly infiniteAt: number

  constructor(floats: Float32Array | Float64Array, infiniteAt = -1) {
    super()
    this.floats = floats
    this.infiniteAt = infiniteAt
  }
}

/** Converts an array of a body to floats. Rejects anything but finite numbers; texts are not converted. */
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

/** The error for a value that is not a finite 32-bit number. */
export function notFinite(field: string, value: unknown): ServerError {
  return invalidArgument(`${field} must be a finite 32-bit number`, { field, value })
}

/** Converts the positions of a sparse vector: whole numbers from 0 to 2^32 - 1. */
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
