// The codec of stored meta (docs/formats/meta.md). An object keeps its meta as bytes, in one of four forms: none, the text of a JSON
// object, that text packed with zlib as published clients send it, or opaque bytes. Every reader of meta uses this codec, or
// repeats its rules on the other side of the wire, so that one object has the same meta everywhere.
//
// A few stored bytes can inflate to a thousand times as many, so inflating stops at a limit for each object and, with a MetaBudget, for
// each answer.
import { deflateSync, inflateSync } from 'node:zlib'
import { metaAnswerPlainBytesMax, metaBytesMax, metaPlainBytesMax, metaRatioMax, metaReadDepthMax } from '../limits.ts'
import type { JsonObject } from './json.ts'

/** After this many bytes were inflated in vain, the same answer inflates only shorter meta, and then only short meta. */
const futileBytesMax = [metaAnswerPlainBytesMax / 4, metaAnswerPlainBytesMax] as const
const shortBytes = 4_096

const openingBrace = 0x7b
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `limit` names the limit that prevented inflating. Without `limit` and `meta`, the bytes are opaque. */
export type ReadMeta =
  | { readonly meta: JsonObject; readonly limit?: undefined }
  | { readonly meta?: undefined; readonly limit?: 'object' | 'reply' | undefined }

/**
 * Packs the text of a JSON object in UTF-8. Every published client can read the result.
 *
 * @example
 * ```ts
 * const meta = packMeta(new TextEncoder().encode('{"title":"Alien"}'))
 * await films.upsert([{ id: 'alien', meta, fields: { plot: [0.9, 0.1, 0.2] } }])
 * ```
 */
export function packMeta(json: Uint8Array): Uint8Array {
  // A copy: what zlib returns keeps its whole output buffer of 16 KiB in memory.
  return new Uint8Array(deflateSync(json, { level: 1 }))
}

/**
 * The JSON object in stored meta, `{}` if there is none. Returns undefined if the bytes are opaque or inflate beyond the limit of one object.
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
   * Decodes the meta of one object. No meta is an empty object.
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

/** Bytes that are no JSON object are opaque, and so is JSON that is nested too deeply for others to parse. */
function parseMeta(text: Uint8Array): ReadMeta {
  if (isDeep(text)) return {}
  try {
    const value: unknown = JSON.parse(utf8.decode(text))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { meta: value as JsonObject } : {}
  } catch {
    return {}
  }
}

const [quote, backslash, openingBracket, closingBracket, closingBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7d]

/** Whether the text is nested deeper than metaReadDepthMax, if it is JSON. */
function isDeep(text: Uint8Array): boolean {
  if (text.length <= 2 * metaReadDepthMax) return false
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number
    if (inString) {
      if (byte === backslash) i++
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (byte === openingBrace || byte === openingBracket) {
      if (++depth > metaReadDepthMax) return true
    } else if (byte === closingBrace || byte === closingBracket) depth--
  }
  return false
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

/** `broken`: the bytes are not exactly one zlib stream. */
function inflate(bytes: Uint8Array, limit: number): Uint8Array | 'beyond' | 'broken' {
  try {
    // The types of Node.js do not know what `info` changes: the result is then this object.
    const inflated = inflateSync(bytes, { maxOutputLength: limit, info: true }) as unknown as {
      readonly buffer: Uint8Array
      readonly engine: { readonly bytesWritten: number }
    }
    return inflated.engine.bytesWritten === bytes.length ? inflated.buffer : 'broken'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'beyond' : 'broken'
  }
}
