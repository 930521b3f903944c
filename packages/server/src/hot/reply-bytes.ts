// The replies of hot searches, written from the bytes of the hits. They are the same bytes as those of wire/v1-search.ts and
// wire/v2-search.ts. A reply that the main thread would count against its limits or send in pieces is not written here.
import { type HitBytes, MetaBudget } from '@annal/engine'
import { largeReplyBytes, replyPieceBytes } from '../http/limits.ts'
import { arrayHead, binaryHead, mapHead, stringHead, uintHead } from './msgpack-heads.ts'

/** Counted for each hit in addition to its bytes; see answer-room.ts of the engine. */
const hitOverheadBytes = 256
const scratch = Buffer.allocUnsafeSlow(largeReplyBytes)

/** Writes a reply; undefined if the main thread must write it. */
export type WriteReply = (hits: HitBytes, field: string) => Buffer | undefined

/** `[[similarity, id, meta, filter, norm, vector], ...]`. */
export const indexMsgpack: WriteReply = (hits) => {
  const stored = storedBytes(hits)
  if (stored === undefined) return undefined
  const { count } = hits
  const reply = new Writer(Buffer.allocUnsafe(5 + stored + count * 32))
  reply.at = arrayHead(reply.bytes, reply.at, count)
  for (let i = 0; i < count; i++) {
    reply.bytes[reply.at++] = 0x96
    reply.float(hits.similarity(i) + 0)
    reply.object(hits, i)
    reply.float(hits.norm(i))
    reply.bytes[reply.at++] = 0x90
  }
  return reply.finish()
}

/** `[{number: [id, meta, filter]}, {field: [[number, score], ...]}]`. The objects of one list are numbered in its order. */
export const collectionMsgpack: WriteReply = (hits, field) => {
  const stored = storedBytes(hits)
  if (stored === undefined) return undefined
  const { count } = hits
  const reply = new Writer(Buffer.allocUnsafe(32 + 3 * field.length + stored + count * 40))
  reply.bytes[reply.at++] = 0x92
  reply.at = mapHead(reply.bytes, reply.at, count)
  for (let i = 0; i < count; i++) {
    reply.at = uintHead(reply.bytes, reply.at, i)
    reply.bytes[reply.at++] = 0x93
    reply.object(hits, i)
  }
  reply.bytes[reply.at++] = 0x81
  reply.at = stringHead(reply.bytes, reply.at, Buffer.byteLength(field))
  reply.at += reply.bytes.write(field, reply.at)
  reply.at = arrayHead(reply.bytes, reply.at, count)
  for (let i = 0; i < count; i++) {
    reply.bytes[reply.at++] = 0x92
    reply.at = uintHead(reply.bytes, reply.at, i)
    reply.float(hits.similarity(i) + 0)
  }
  return reply.finish()
}

/** `{"complete","lsn","results":[...]}`. */
export const indexJson: WriteReply = (hits) => {
  const list = hitsJson(hits)
  return list === undefined ? undefined : finishJson(`${accountJson(hits)},"results":${list}}`)
}

/** `{"complete","lsn","results":{field:[...]}}`. */
export const collectionJson: WriteReply = (hits, field) => {
  const list = hitsJson(hits)
  return list === undefined
    ? undefined
    : finishJson(`${accountJson(hits)},"results":{${JSON.stringify(field)}:${list}}}`)
}

function accountJson({ complete, lsn }: HitBytes): string {
  return `{"complete":${complete},"lsn":${lsn}`
}

function finishJson(text: string): Buffer | undefined {
  return text.length < replyPieceBytes ? Buffer.from(text) : undefined
}

function hitsJson(hits: HitBytes): string | undefined {
  if (storedBytes(hits) === undefined) return undefined
  const metas = new MetaBudget()
  let text = '['
  for (let i = 0; i < hits.count; i++) {
    if (i > 0) text += ','
    text += hitJson(hits, i, metas)
    if (text.length >= replyPieceBytes) return undefined
  }
  return `${text}]`
}

function hitJson(hits: HitBytes, i: number, metas: MetaBudget): string {
  const id = idJson(hits, i)
  const similarity = numberJson(hits.similarity(i))
  const distance = numberJson(hits.distance(i))
  const filter = filterJson(hits, i)
  const meta = metaJson(hits, i, metas)
  return `{"id":${id},"similarity":${similarity},"distance":${distance},${meta},"filter":${filter},"norm":${numberJson(hits.norm(i))}}`
}

/** As JSON.stringify writes it. */
function numberJson(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

/** Characters that JSON writes unchanged. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function idJson(hits: HitBytes, i: number): string {
  const length = hits.idBytes(i)
  hits.copyId(i, scratch, 0)
  const text = scratch.toString('utf8', 0, length)
  return plain.test(text) ? `"${text}"` : JSON.stringify(text)
}

function filterJson(hits: HitBytes, i: number): string {
  const length = hits.filterBytes(i)
  if (length === 0) return '{}'
  hits.copyFilter(i, scratch, 0)
  return JSON.stringify(JSON.parse(scratch.toString('utf8', 0, length)))
}

/** See metaJson of wire/v1-search.ts. */
function metaJson(hits: HitBytes, i: number, metas: MetaBudget): string {
  const length = hits.metaBytes(i)
  if (length === 0) return '"meta":{}'
  hits.copyMeta(i, scratch, 0)
  const bytes = scratch.subarray(0, length)
  const read = metas.read(bytes)
  if (read.meta !== undefined) return `"meta":${JSON.stringify(read.meta)}`
  const limit = read.limit === undefined ? '' : `,"meta_limit":"${read.limit}"`
  return `"meta_base64":"${bytes.toString('base64')}"${limit}`
}

/** Bytes of ids, meta, and filters; undefined for a reply that the main thread counts. */
function storedBytes(hits: HitBytes): number | undefined {
  let bytes = 0
  for (let i = 0; i < hits.count; i++) bytes += hits.idBytes(i) + hits.metaBytes(i) + hits.filterBytes(i)
  return bytes + hits.count * hitOverheadBytes > largeReplyBytes ? undefined : bytes
}

const float = new Float32Array(1)
const floatBytes = new Uint8Array(float.buffer)

/** Bytes that have room for all that is written. */
class Writer {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** A 32-bit float. */
  float(value: number): void {
    const { bytes, at } = this
    float[0] = value
    bytes[at] = 0xca
    bytes[at + 1] = floatBytes[3]!
    bytes[at + 2] = floatBytes[2]!
    bytes[at + 3] = floatBytes[1]!
    bytes[at + 4] = floatBytes[0]!
    this.at = at + 5
  }

  /** The id, meta, and filter of a hit. */
  object(hits: HitBytes, i: number): void {
    const id = hits.idBytes(i)
    this.at = stringHead(this.bytes, this.at, id)
    hits.copyId(i, this.bytes, this.at)
    this.at += id
    const meta = hits.metaBytes(i)
    this.at = binaryHead(this.bytes, this.at, meta)
    hits.copyMeta(i, this.bytes, this.at)
    this.at += meta
    const filter = hits.filterBytes(i)
    this.at = stringHead(this.bytes, this.at, filter)
    hits.copyFilter(i, this.bytes, this.at)
    this.at += filter
  }

  finish(): Buffer {
    return this.bytes.subarray(0, this.at)
  }
}
