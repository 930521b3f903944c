// Names and ids that people choose. Checked on the decoded string; none of them ever becomes a file name.
import { EngineError } from '../errors.ts'
import { idBytesMax, nameLengthMax } from '../limits.ts'

/** (?![\s\S]) instead of $, which would let a final newline through. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*(?![\s\S])/
/** Harmless here, where names live in Maps, but not in the programs that read them. */
const namesRefused: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Checks the name of a collection, field, database or backup; `field` says in the error which input it was. */
export function parseName(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length === 0) {
    throw new EngineError('invalid_argument', `${field} must be a non-empty string, got ${printed(value)}`, {
      field,
      value: printed(value),
    })
  }
  if (value.length > nameLengthMax) {
    throw new EngineError(
      'limit_exceeded',
      `${field} has ${value.length} characters, at most ${nameLengthMax} are allowed`,
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
      `${field} ${printed(value)} must start with a letter or digit and hold only letters, digits, "_" and "-"`,
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
      value: printed(value),
    })
  }
  if (!value.isWellFormed()) {
    throw new EngineError('invalid_argument', `${field} holds half of a surrogate pair, which is no text`, {
      field,
      value: printed(value),
    })
  }
  const bytes = Buffer.byteLength(value)
  if (bytes > idBytesMax) {
    throw new EngineError('limit_exceeded', `${field} has ${bytes} bytes, at most ${idBytesMax} are allowed`, {
      field,
      value: bytes,
      limit: idBytesMax,
    })
  }
  return value
}

/** Checks what should be a list of ids. */
export function parseIds(ids: readonly string[]): string[] {
  if (!Array.isArray(ids))
    throw new EngineError('invalid_argument', `ids must be an array, got ${printed(ids)}`, {
      field: 'ids',
      value: printed(ids),
    })
  return ids.map((id, i) => parseId(id, `ids[${i}]`))
}

/** Refuses what is no array, and one with more entries than one call may have. */
export function checkBatch(list: readonly unknown[], field: string, limit: number): void {
  if (!Array.isArray(list)) {
    throw new EngineError('invalid_argument', `${field} must be an array, got ${printed(list)}`, {
      field,
      value: printed(list),
    })
  }
  if (list.length <= limit) return
  throw new EngineError(
    'limit_exceeded',
    `${field} has ${list.length} entries, at most ${limit} are allowed in one call`,
    { field, value: list.length, limit },
  )
}

/** A value as an error message shows it: short, and one line. */
export function printed(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? `an array of ${value.length}` : 'an object'
}
