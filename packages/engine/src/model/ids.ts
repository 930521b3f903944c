// Names and ids chosen by users. Checked on the decoded string; none of them ever becomes a file name.
import { EngineError } from '../errors.ts'
import { idBytesMax, nameLengthMax } from '../limits.ts'

/** (?![\s\S]) instead of $, which would accept a final newline. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*(?![\s\S])/
/** Harmless here, where names are keys of Maps, but not in programs that read them. */
const namesRefused: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Checks the name of a collection, field, database or backup; `field` names the input in errors. */
export function parseName(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length === 0) {
    throw new EngineError('invalid_argument', `${field} must be a non-empty string, got ${printed(value)}`, {
      field,
      value: shownValue(value),
    })
  }
  if (value.length > nameLengthMax) {
    throw new EngineError(
      'limit_exceeded',
      `${field} has ${value.length} characters, but at most ${nameLengthMax} are allowed`,
      {
        field,
        value: value.slice(0, nameLengthMax),
        limit: nameLengthMax,
      },
    )
  }
  if (!namePattern.test(value) || namesRefused.has(value)) {
    throw new EngineError(
      'invalid_argument',
      `${field} ${printed(value)} must start with a letter or digit and contain only letters, digits, "_" and "-"`,
      {
        field,
        value,
      },
    )
  }
  return value
}

/** Checks an object's id. */
export function parseId(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length === 0) {
    throw new EngineError('invalid_argument', `${field} must be a non-empty string, got ${printed(value)}`, {
      field,
      value: shownValue(value),
    })
  }
  if (!value.isWellFormed()) {
    throw new EngineError('invalid_argument', `${field} contains an unpaired surrogate, which is not valid text`, {
      field,
      value: shownValue(value),
    })
  }
  const bytes = Buffer.byteLength(value)
  if (bytes > idBytesMax) {
    throw new EngineError('limit_exceeded', `${field} has ${bytes} bytes, but at most ${idBytesMax} are allowed`, {
      field,
      value: bytes,
      limit: idBytesMax,
    })
  }
  return value
}

/** Checks a list of ids. */
export function parseIds(ids: readonly string[]): string[] {
  if (!Array.isArray(ids))
    throw new EngineError('invalid_argument', `ids must be an array, got ${printed(ids)}`, {
      field: 'ids',
      value: shownValue(ids),
    })
  return ids.map((id, i) => parseId(id, `ids[${i}]`))
}

/** Refuses a value that is not an array, and one with more entries than one call may have. */
export function checkBatch(list: readonly unknown[], field: string, limit: number): void {
  if (!Array.isArray(list)) {
    throw new EngineError('invalid_argument', `${field} must be an array, got ${printed(list)}`, {
      field,
      value: shownValue(list),
    })
  }
  if (list.length <= limit) return
  throw new EngineError(
    'limit_exceeded',
    `${field} has ${list.length} entries, but at most ${limit} are allowed in one call`,
    { field, value: list.length, limit },
  )
}

/** A given name as part of a key: one that is no text is the name of nothing. */
export function nameInKey(name: unknown): string {
  return typeof name === 'string' ? name : ''
}

/** Refuses a value that has no named parts: anything but an object, and lists. */
export function checkObject(value: unknown, field: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  const message = `${field} must be an object, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
}

/** Formats a value for an error message: short, on one line. */
export function printed(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (value === null || typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  return ArrayBuffer.isView(value) && 'length' in value ? `an array of ${String(value.length)}` : 'an object'
}

/** A value as the details of an error state it: itself if it is plain, with a text cut, else what it is. It can be sent to another thread. */
export function shownValue(value: unknown): string | number | boolean | null {
  if (typeof value === 'string') return value.length > 60 ? `${value.slice(0, 60)}...` : value
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : printed(value)
}
