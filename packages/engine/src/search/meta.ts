// Stored meta as JSON: plain, or packed with zlib as the published clients send it. Inflating stops at a limit for each object and,
// with a MetaBudget, for each answer, because a few stored bytes can inflate to a thousand times as many.
import { inflateSync } from 'node:zlib'
import { metaAnswerPlainBytesMax, metaBytesMax, metaPlainBytesMax, metaRatioMax } from '../limits.ts'
import type { JsonObject } from '../model/json.ts'

/** After so much inflating that led to nothing, only shorter meta is tried in the same answer, and then only short meta. */
const futileBytesMax = [metaAnswerPlainBytesMax / 4, metaAnswerPlainBytesMax] as const
const shortBytes = 4_096

const openingBrace = 0x7b
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** `limit` names the limit that kept the meta packed; without it the bytes are no JSON. */
export type ReadMeta =
  | { readonly meta: JsonObject; readonly limit?: undefined }
  | { readonly meta?: undefined; readonly limit?: 'object' | 'reply' | undefined }

/** The stored JSON, or undefined where the bytes are none, or inflate beyond the limit of one object. */
export function decodeMeta(bytes: Uint8Array): JsonObject | undefined {
  return new MetaBudget(Number.MAX_SAFE_INTEGER).read(bytes).meta
}

/** What the meta of one answer may inflate to, all of it together. */
export class MetaBudget {
  #left: number
  #futile = 0

  constructor(bytesMax = metaAnswerPlainBytesMax) {
    this.#left = bytesMax
  }

  /** Empty meta is an empty object. */
  read(bytes: Uint8Array): ReadMeta {
    if (bytes.length === 0) return { meta: {} }
    if (bytes[0] === openingBrace) return parseMeta(bytes)
    return looksLikeZlib(bytes) ? this.#inflate(bytes) : {}
  }

  #inflate(bytes: Uint8Array): ReadMeta {
    const own = Math.min(metaPlainBytesMax, Math.max(metaBytesMax, metaRatioMax * bytes.length))
    const limit = Math.min(own, this.#left, this.#tried())
    if (limit <= 0) return { limit: 'reply' }
    const plain = inflated(bytes, limit)
    if (plain instanceof Uint8Array) {
      this.#left -= plain.length
      return parseMeta(plain)
    }
    this.#futile += limit
    return plain === 'beyond' ? { limit: limit < own ? 'reply' : 'object' } : {}
  }

  #tried(): number {
    const [some, much] = futileBytesMax
    if (this.#futile < some) return metaPlainBytesMax
    return this.#futile < much ? metaBytesMax : shortBytes
  }
}

function parseMeta(text: Uint8Array): ReadMeta {
  try {
    return { meta: JSON.parse(utf8.decode(text)) as JsonObject }
  } catch {
    // Bytes that only look like JSON are opaque.
    return {}
  }
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

function inflated(bytes: Uint8Array, limit: number): Uint8Array | 'beyond' | 'broken' {
  try {
    return inflateSync(bytes, { maxOutputLength: limit })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'beyond' : 'broken'
  }
}
