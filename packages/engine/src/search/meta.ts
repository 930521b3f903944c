// Decodes stored meta as JSON: plain, or compressed with zlib as the published clients send it. Inflating stops at a limit for each object
// and, with a MetaBudget, for each answer, because a few stored bytes can inflate to a thousand times as many.
import { inflateSync } from 'node:zlib'
import { metaAnswerPlainBytesMax, metaBytesMax, metaPlainBytesMax, metaRatioMax } from '../limits.ts'
import type { JsonObject } from '../model/json.ts'

/** After this many bytes were inflated in vain, the same answer inflates only shorter meta, and then only short meta. */
const futileBytesMax = [metaAnswerPlainBytesMax / 4, metaAnswerPlainBytesMax] as const
const shortBytes = 4_096

const openingBrace = 0x7b
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** `limit` names the limit that prevented inflating. Without `limit` and `meta`, the bytes are not JSON. */
export type ReadMeta =
  | { readonly meta: JsonObject; readonly limit?: undefined }
  | { readonly meta?: undefined; readonly limit?: 'object' | 'reply' | undefined }

/**
 * The stored JSON. Returns undefined if the bytes are not JSON, or inflate beyond the limit of one object.
 *
 * @example
 * ```ts
 * const film = await films.get('alien')
 * console.log(film && decodeMeta(film.metaBytes))
 * ```
 */
export function decodeMeta(bytes: Uint8Array): JsonObject | undefined {
  return new MetaBudget(Number.MAX_SAFE_INTEGER).read(bytes).meta
}

/** Limits the inflated size of all meta in one answer. */
export class MetaBudget {
  #left: number
  #futile = 0

  constructor(bytesMax = metaAnswerPlainBytesMax) {
    this.#left = bytesMax
  }

  /**
   * Decodes the metadata of one object. Empty metadata is an empty object.
   *
   * @example
   * ```ts
   * const budget = new MetaBudget()
   * const { objects } = await films.scroll()
   * const metas = objects.map(({ metaBytes }) => budget.read(metaBytes).meta)
   * ```
   */
  read(bytes: Uint8Array): ReadMeta {
    if (bytes.length === 0) return { meta: {} }
    if (bytes[0] === openingBrace) return parseMeta(bytes)
    return looksLikeZlib(bytes) ? this.#inflate(bytes) : {}
  }

  #inflate(bytes: Uint8Array): ReadMeta {
    const objectLimit = Math.min(metaPlainBytesMax, Math.max(metaBytesMax, metaRatioMax * bytes.length))
    const limit = Math.min(objectLimit, this.#left, this.#futileLimit())
    if (limit <= 0) return { limit: 'reply' }
    const plain = inflate(bytes, limit)
    if (plain instanceof Uint8Array) {
      this.#left -= plain.length
      return parseMeta(plain)
    }
    this.#futile += limit
    return plain === 'beyond' ? { limit: limit < objectLimit ? 'reply' : 'object' } : {}
  }

  #futileLimit(): number {
    const [low, high] = futileBytesMax
    if (this.#futile < low) return metaPlainBytesMax
    return this.#futile < high ? metaBytesMax : shortBytes
  }
}

function parseMeta(text: Uint8Array): ReadMeta {
  try {
    return { meta: JSON.parse(utf8.decode(text)) as JsonObject }
  } catch {
    // The bytes only looked like JSON.
    return {}
  }
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

function inflate(bytes: Uint8Array, limit: number): Uint8Array | 'beyond' | 'broken' {
  try {
    return inflateSync(bytes, { maxOutputLength: limit })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'beyond' : 'broken'
  }
}
