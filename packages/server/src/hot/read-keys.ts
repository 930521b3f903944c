// Reads objects by a table of their keys. Tables are made once, so that reading a key allocates nothing.
import type { BodyCursor } from './body-cursor.ts'

/** Reads the value of a key. Returns false if the main thread must read the body. */
export type ReadKey<D> = (cursor: BodyCursor, draft: D) => boolean
type Keys<D> = ReadonlyMap<string, { readonly bit: number; readonly read: ReadKey<D> }>

/** Reads an object with these keys, each at most once. */
export function readKeys<D>(cursor: BodyCursor, draft: D, keys: Keys<D>): boolean {
  let seen = 0
  return cursor.members((name) => {
    const key = keys.get(name)
    if (key === undefined || (seen & key.bit) !== 0) return false
    seen |= key.bit
    return key.read(cursor, draft)
  })
}

export function keyTable<D>(readers: { readonly [key: string]: ReadKey<D> }): Keys<D> {
  return new Map(Object.entries(readers).map(([name, read], i) => [name, { bit: 1 << i, read }]))
}

/** Reads a whole number into a key of the draft. */
export function integer<K extends string>(key: K, minimum: number, maximum: number): ReadKey<{ [P in K]?: number }> {
  return (cursor, draft) => {
    const value = cursor.integer()
    if (value === undefined || value < minimum || value > maximum) return false
    draft[key] = value
    return true
  }
}

export function flag<K extends string>(key: K): ReadKey<{ [P in K]?: boolean }> {
  return (cursor, draft) => {
    const value = cursor.boolean()
    if (value === undefined) return false
    draft[key] = value
    return true
  }
}

/** Reads any number into a key of the draft. */
export function number<K extends string>(key: K): ReadKey<{ [P in K]?: number }> {
  return (cursor, draft) => {
    const value = cursor.number()
    if (value === undefined) return false
    draft[key] = value
    return true
  }
}
