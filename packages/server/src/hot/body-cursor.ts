// Reads the body of a search value by value, in JSON or MessagePack, without a tree of objects. A cursor decides nothing: for whatever is
// not plain (a wrong type, null, an escape in a key, a number in an unusual form), it returns undefined, and the main thread reads the body.
import type { Filter, FilterCondition } from '@annal/engine'

/** Reads the values of one body from its beginning. After undefined or false, the cursor is of no further use. */
export interface BodyCursor {
  /**
   * Reads an object. Calls `member` after each key, which must read the value and return whether it could. False unless everything could be
   * read.
   */
  members(member: (key: string) => boolean): boolean
  /** Enters an array of exactly one value, calls `entry`, which must read the value, and leaves the array. */
  single(entry: () => boolean): boolean
  /** Enters an array and calls `entry`, which must read one value, for each of its values. */
  entries(entry: () => boolean): boolean
  /** What kind of value is next, without reading it. */
  next(): 'array' | 'object' | 'text' | 'other'
  /** Whether an array is next that begins with a vector, in any of its forms. */
  nests(): boolean
  /** A text without escapes. */
  text(): string | undefined
  /** A whole number from 0 to 999,999,999. */
  integer(): number | undefined
  /** Any finite number. */
  number(): number | undefined
  boolean(): boolean | undefined
  /** A vector of `dimension` finite numbers in any of its forms. */
  vector(dimension: number): Float32Array | undefined
  /** An array of any number of finite numbers. */
  floats(): Float32Array | undefined
  /** An array of positions of a sparse vector: whole numbers below 2^32. */
  indices(): Uint32Array | undefined
  /** Conditions as an array, or, if `asText`, also as JSON text. */
  conditions(asText: boolean): Filter | undefined
  /** Whether the body ends here. */
  ends(): boolean
}

/** Sparse queries have fewer terms. Main threads read longer ones. */
export const termsMax = 4_096

/** The LSN of a record. */
export function readLsn(cursor: BodyCursor): number | undefined {
  const lsn = cursor.number()
  return lsn !== undefined && Number.isSafeInteger(lsn) && lsn >= 0 ? lsn : undefined
}

/** Filters nest a few levels. Main threads check deeper ones, because the limits count from the beginning of the body. */
const depthMax = 16
/** A longer filter is parsed by the main thread, so that it does not delay the searches of this one. */
export const filterTextMax = 65_536

/** Conditions in JSON text. Undefined for text that the main thread may reject. */
export function parseConditions(text: string): Filter | undefined {
  if (text.length > filterTextMax || text.includes('__proto__') || text.includes('\\u00') || nests(text))
    return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return conditionsOf(value)
}

/** Conditions in a text inside of a body. A blank text is not a condition. */
export function parseConditionText(text: string): Filter | undefined {
  return text.trim() === '' ? [] : parseConditions(text)
}

/** Conditions that are objects; the engine checks what they contain. */
export function conditionsOf(value: unknown): Filter | undefined {
  if (!Array.isArray(value)) return undefined
  const items: readonly unknown[] = value
  for (const item of items) {
    if (typeof item !== 'object' || item === null || Array.isArray(item) || item instanceof Uint8Array) return undefined
  }
  return items as readonly FilterCondition[] as Filter
}

/** Whether the text may nest deeper than depthMax. Brackets in strings count, too. */
function nests(text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i) | 0x20
    if (unit === 0x7b) {
      if (++depth > depthMax) return true
    } else if (unit === 0x7d) depth--
  }
  return false
}
