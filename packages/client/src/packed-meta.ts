// Meta on the wire: the codec of the server (docs/formats/meta.md). Objects are packed before they are sent. Replies have unpacked
// meta; the client unpacks itself only what exceeds the server's limit for one reply.

import { Unzlib, zlibSync } from 'fflate'
import { AnnalError } from './errors.ts'
import { jsonText } from './http/json-text.ts'
import { object, text } from './http/read.ts'
import type { JsonObject } from './model.ts'
import { type RawMeta, splitMeta } from './stored-object.ts'

const utf8 = new TextEncoder()
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Below this size, compression costs more than it saves; zlib can also store data uncompressed. */
const compressedBytesMin = 1_024

export function packMeta(meta: JsonObject | Uint8Array | undefined, field: string): Uint8Array {
  if (meta === undefined) return new Uint8Array(0)
  if (meta instanceof Uint8Array) return meta
  if (meta === null || typeof meta !== 'object' || Array.isArray(meta)) {
    throw new AnnalError('invalid_argument', `${field} must be an object or bytes`, { field, value: meta })
  }
  const bytes = utf8.encode(jsonText(meta, field))
  const packed = zlibSync(bytes, { level: bytes.length < compressedBytesMin ? 0 : 6 })
  // The limit of a server; what it returned must be accepted again.
  return packed.length > storedBytesMax ? zlibSync(bytes, { level: 9 }) : packed
}

/** The limit for inflating the meta of one object; above the largest uncompressed size, also a multiple of its bytes. */
const plainBytesMax = 1_048_576
const storedBytesMax = 65_536
const ratioMax = 100
/** JSON that is nested deeper is opaque. */
const depthMax = 256
/** The limit for inflating the meta of all objects of one reply. */
const replyPlainBytesMax = 64 * plainBytesMax

/** Why a server, or an embedded engine, returned stored bytes: they inflate beyond a limit. Undefined: they are opaque. */
export type MetaLimit = 'object' | 'reply' | undefined

/** Reads the meta of one reply. Meta that would inflate beyond a limit is returned as the stored bytes. */
export class MetaReader {
  #left = replyPlainBytesMax

  /** The meta of an object in a JSON reply: an object, or base64 of the stored bytes. */
  fromJson({ meta, meta_base64: base64, meta_limit: limit }: Record<string, unknown>): JsonObject | Uint8Array {
    if (base64 === undefined) return object(meta ?? {}, 'meta') as JsonObject
    const bytes = Uint8Array.from(atob(text(base64, 'meta_base64')), (letter) => letter.charCodeAt(0))
    return this.fromBytes(bytes, limit === 'reply' ? limit : undefined)
  }

  /** The meta of an object of a collection. Empty meta counts as none. */
  collectionMeta(entry: Record<string, unknown>): RawMeta & { readonly meta: JsonObject | undefined } {
    return splitMeta(this.fromJson(entry))
  }

  /** Stored bytes that were not unpacked because of `limit`. */
  fromBytes(bytes: Uint8Array, limit: MetaLimit): JsonObject | Uint8Array {
    return (limit === 'reply' ? this.#unpack(bytes) : undefined) ?? bytes
  }

  /** Undefined if the bytes are opaque, or inflate beyond the limit of the object or of the reply. */
  #unpack(bytes: Uint8Array): JsonObject | undefined {
    const own = Math.min(plainBytesMax, Math.max(storedBytesMax, ratioMax * bytes.length))
    const limit = Math.min(own, this.#left)
    const plain = limit > 0 && looksLikeZlib(bytes) ? inflateWhole(bytes, limit) : undefined
    // Failed attempts also count as work.
    this.#left -= plain?.length ?? limit
    return plain && parseMeta(plain)
  }
}

/** RFC 1950: compression method 8, and the first two bytes are a multiple of 31. */
function looksLikeZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

/** Bytes per step of the inflater: they inflate to at most a megabyte, whatever they contain. */
const stepBytes = 1_024

/** Undefined if the bytes are not exactly one zlib stream, or inflate beyond the limit. */
function inflateWhole(bytes: Uint8Array, limit: number): Uint8Array | undefined {
  const plain = inflate(bytes, limit)
  if (plain === undefined) return undefined
  // The inflater does not compare the checksum, with which the stream ends.
  const tail = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - checksumBytes)
  if (tail.getUint32(0) !== adler32(plain)) return undefined
  // Nor does it tell where the stream ends. If it ends earlier, one byte less inflates too.
  return inflate(bytes.subarray(0, -1), limit) === undefined ? plain : undefined
}

/** Inflates the stream at the start of the bytes. Undefined if there is none, or it inflates beyond the limit. */
function inflate(bytes: Uint8Array, limit: number): Uint8Array | undefined {
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

const checksumBytes = 4

/** RFC 1950, section 8.2. */
function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0]
  for (const byte of bytes) {
    a = (a + byte) % 65_521
    b = (b + a) % 65_521
  }
  return ((b << 16) | a) >>> 0
}

/** Undefined if the bytes are not a JSON object, or one that is nested too deeply. */
function parseMeta(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(strictUtf8.decode(bytes))
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
    return isObject && depthOf(value, depthMax + 1) <= depthMax ? (value as JsonObject) : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}

/** Depth of nesting, counted up to `most`. */
function depthOf(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null || most === 0) return 0
  return 1 + Object.values(value).reduce((deepest: number, inner) => Math.max(deepest, depthOf(inner, most - 1)), 0)
}
