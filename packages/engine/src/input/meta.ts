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
  if (depthOf(meta, jsonDepthMax + 1) > jsonDepthMax) {
    throw new EngineError('limit_exceeded', `${path} is nested deeper than ${jsonDepthMax}`, {
      field: path,
      limit: jsonDepthMax,
    })
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

/** Depth of nesting, counted no further than `enough`, so a cycle ends there too. */
function depthOf(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null || enough === 0) return 0
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, enough - 1))
  return deepest + 1
}
