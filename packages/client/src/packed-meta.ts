// Meta on the wire: zlib-compressed JSON, as every published client of this protocol writes and reads it.
import { Unzlib, zlibSync } from 'fflate'
import { AnnalError } from '../errors.ts'
import type { JsonObject } from '../model.ts'
import { type RawMeta, splitMeta } from '../stored-object.ts'
import { object, text } from './read.ts'

const utf8 = new TextEncoder()
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Below this size, compression costs more than it saves; zlib can also store data uncompressed. */
const compressedBytesMin = 1_024

export function packMeta(meta: JsonObject | Uint8Array | undefined, field: string): Uint8Array {
  if (meta === undefined) return new Uint8Array(0)
  if (meta instanceof Uint8Array) return meta
  if (meta === null || typeof meta !== 'object' || Array.isArray(meta)) {
    throw new AnnalError('invalid_argument', `${field} must be an object or bytes`, { field, value: meta })
  }
  const bytes = utf8.encode(JSON.stringify(meta))
  const packed = zlibSync(bytes, { level: bytes.length < compressedBytesMin ? 0 : 6 })
  // The limit of a server; what it returned must be accepted again.
  return packed.length > storedBytesMax ? zlibSync(bytes, { level: 9 }) : packed
}

/** The limit for inflating the meta of one object; above the largest uncompressed size, also a multiple of its bytes. */
const plainBytesMax = 1_048_576
const storedBytesMax = 65_536
const ratioMax = 100
/** The limit for inflating the meta of all objects of one reply. */
const replyPlainBytesMax = 64 * plainBytesMax

/** Reads the meta of one reply. Meta that would inflate beyond a limit is returned as the stored bytes. */
export class MetaReader {
  #left = replyPlainBytesMax

  /** Parses zlib or plain JSON; other bytes are returned unchanged. */
  unpack(bytes: Uint8Array): JsonObject | Uint8Array | undefined {
    if (bytes.length === 0) return undefined
    const json = looksLikeZlib(bytes) ? this.#inflated(bytes) : bytes
    const value = json === undefined ? undefined : parseMeta(json)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : bytes
  }

  /** The meta of an object in a JSON reply: an object, or base64 if it is not JSON or too large for the reply. */
  fromJson({ meta, meta_base64: base64, meta_limit: limit }: Record<string, unknown>): JsonObject | Uint8Array {
    if (base64 === undefined) return object(meta ?? {}, 'meta') as JsonObject
    const bytes = Uint8Array.from(atob(text(base64, 'meta_base64')), (letter) => letter.charCodeAt(0))
    return (limit === 'reply' ? this.unpack(bytes) : undefined) ?? bytes
  }

  /** The meta of an object of a collection. Empty meta counts as none. */
  collectionMeta(entry: Record<string, unknown>): RawMeta & { readonly meta: JsonObject | undefined } {
    return splitMeta(this.fromJson(entry))
  }

  /** Undefined if the bytes only look like zlib, or inflate beyond the limit of the object or of the reply. */
  #inflated(bytes: Uint8Array): Uint8Array | undefined {
    const own = Math.min(plainBytesMax, Math.max(storedBytesMax, ratioMax * bytes.length))
    const limit = Math.min(own, this.#left)
    const plain = limit > 0 ? inflated(bytes, limit) : undefined
    // Failed attempts also count as work.
    this.#left -= plain?.length ?? limit
    return plain
  }
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  if (bytes.length < 8) return false
  const head = ((bytes[0] as number) << 8) | (bytes[1] as number)
  return ((bytes[0] as number) & 0x0f) === 8 && head % 31 === 0
}

/** Bytes per step of the inflater: they inflate to at most a megabyte, whatever they contain. */
const stepBytes = 1_024

/** Undefined if the bytes are not zlib, or inflate beyond the limit. */
function inflated(bytes: Uint8Array, limit: number): Uint8Array | undefined {
  const parts: Uint8Array[] = []
  let length = 0
  const inflater = new Unzlib((part) => {
    parts.push(part)
    length += part.length
  })
  try {
    for (let offset = 0; offset < bytes.length && length <= limit; offset += stepBytes) {
      inflater.push(bytes.subarray(offset, offset + stepBytes), offset + stepBytes >= bytes.length)
    }
  } catch (error) {
    if (error instanceof Error) return undefined
    throw error
  }
  if (length > limit) return undefined
  const plain = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    plain.set(part, offset)
    offset += part.length
  }
  return plain
}

/** Undefined if the bytes are not JSON. */
function parseMeta(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(bytes))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}
