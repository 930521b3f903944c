// Meta on the wire: zlib-compressed JSON, as every published client of this protocol writes and expects it.
import { unzlibSync, zlibSync } from 'fflate'
import { AnnalError } from '../errors.ts'
import type { JsonObject } from '../record.ts'

const utf8 = new TextEncoder()
const text = new TextDecoder('utf-8', { fatal: true })

/** Below this, compressing costs more time than the bytes are worth; zlib can also hold data as it is. */
const compressedBytesMin = 1_024

export function packMeta(meta: JsonObject | Uint8Array | undefined, field: string): Uint8Array {
  if (meta === undefined) return new Uint8Array(0)
  if (meta instanceof Uint8Array) return meta
  if (meta === null || typeof meta !== 'object' || Array.isArray(meta)) {
    throw new AnnalError('invalid_argument', `${field} is neither an object nor bytes`, { field, value: meta })
  }
  const bytes = utf8.encode(JSON.stringify(meta))
  return zlibSync(bytes, { level: bytes.length < compressedBytesMin ? 0 : 6 })
}

/** The object that the bytes hold, as zlib or plain JSON; other bytes come back as they are. */
export function unpackMeta(bytes: Uint8Array): JsonObject | Uint8Array | undefined {
  if (bytes.length === 0) return undefined
  const json = looksLikeZlib(bytes) ? inflated(bytes) : bytes
  const value = json === undefined ? undefined : parsed(json)
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : bytes
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  if (bytes.length < 8) return false
  const head = ((bytes[0] as number) << 8) | (bytes[1] as number)
  return ((bytes[0] as number) & 0x0f) === 8 && head % 31 === 0
}

/** Undefined where the bytes only look like zlib. */
function inflated(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return unzlibSync(bytes)
  } catch (error) {
    if (error instanceof Error) return undefined
    throw error
  }
}

/** Undefined where the bytes are not JSON text. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(text.decode(bytes))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}
