// Checks the meta of an object and converts it to the bytes that are stored.
import { EngineError } from '../errors.ts'
import { jsonDepthMax, metaBytesMax } from '../limits.ts'
import { printed, shownValue } from '../model/ids.ts'

const noMeta = new Uint8Array(0)

/** Throws `invalid_argument` or `limit_exceeded`. `path` names the value in the error. */
export function parseMeta(meta: unknown, path: string): Uint8Array {
  if (meta === undefined || meta === null) return noMeta
  // Not `slice`, which does not copy a Buffer: the caller may change it, and its memory may be much larger.
  const bytes = meta instanceof Uint8Array ? new Uint8Array(meta) : metaText(meta, path)
  if (bytes.length > metaBytesMax) {
    throw new EngineError(
      'limit_exceeded',
      `${path} has ${bytes.length} bytes, but at most ${metaBytesMax} are allowed`,
      {
        field: path,
        value: bytes.length,
        limit: metaBytesMax,
      },
    )
  }
  return bytes
}

function metaText(meta: unknown, path: string): Uint8Array {
  if (typeof meta !== 'object' || Array.isArray(meta)) {
    throw new EngineError('invalid_argument', `${path} must be an object or bytes, got ${printed(meta)}`, {
      field: path,
      value: shownValue(meta),
    })
  }
  const below = unwritable(meta, path, 0)
  if (below !== undefined) {
    const at = `${path}${below}`
    throw new EngineError('invalid_argument', `${at} must be a finite number, because JSON has no other`, { field: at })
  }
  return Object.keys(meta as object).length === 0 ? noMeta : new TextEncoder().encode(jsonText(meta as object, path))
}

function jsonText(value: object, path: string): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    // A value that JSON does not have, or a toJSON that fails.
    const message = `${path} cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`
    throw new EngineError('invalid_argument', message, { field: path }, { cause })
  }
}

/**
 * Path below the value of a number that JSON would write as null; undefined if there is none. Throws `limit_exceeded` for deep nesting, which ends a
 * cycle as well.
 */
function unwritable(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= jsonDepthMax) {
    throw new EngineError('limit_exceeded', `${path} is nested deeper than ${jsonDepthMax}`, {
      field: path,
      limit: jsonDepthMax,
    })
  }
  for (const [key, inner] of Object.entries(value)) {
    const below = unwritable(inner, path, depth + 1)
    if (below !== undefined) return `${Array.isArray(value) ? `[${key}]` : `.${key}`}${below}`
  }
  return undefined
}
