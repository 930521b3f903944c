// Values that the browser keeps as JSON between visits, or for one tab. They are read as what they may be: written by another version, or
// by hand. Each database of a root token has its own.
import { access } from './session.ts'

export interface Kept<T> {
  read(): T
  /** False if the browser keeps nothing here: storage is full or turned off. */
  write(value: T): boolean
  forget(): void
}

/** `parse` makes the value of what was stored; undefined stands for nothing. */
export function keptValue<T>(storage: () => Storage, name: string, parse: (stored: unknown) => T): Kept<T> {
  const key = () => {
    const now = access.value
    return now.kind === 'root' && now.database !== undefined ? `annal.${name}/${now.database}` : `annal.${name}`
  }
  return {
    read() {
      try {
        const text = storage().getItem(key())
        return parse(text === null ? undefined : JSON.parse(text))
      } catch {
        return parse(undefined)
      }
    },
    write(value) {
      try {
        storage().setItem(key(), JSON.stringify(value))
        return true
      } catch {
        return false
      }
    },
    forget() {
      for (const one of Object.keys(storage())) {
        if (one === `annal.${name}` || one.startsWith(`annal.${name}/`)) storage().removeItem(one)
      }
    },
  }
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
