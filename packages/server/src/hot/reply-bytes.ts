// The replies of hot searches, written from the bytes of the hits. They are the same bytes as those of wire/v1-search.ts and
// wire/v2-search.ts. A reply that the main thread would count against its limits or send in pieces is not written here.
import { type HitBytes, MetaBudget } from '@annal/engine/reader'
import { largeReplyBytes, replyPieceBytes } from '../limits.ts'
import { arrayHead, binaryHead, mapHead, stringHead, uintHead } from './msgpack-heads.ts'

/** Counted for each hit in addition to its bytes; see answer-room.ts of the engine. */
const hitOverheadBytes = 256

/**
 * One form of a reply. `copy` runs while the hits cannot change and the owner of the engine waits, possibly more than once, so it only
 * copies; `write` runs after it. Each returns undefined if the main thread must write the reply.
 */
export interface ReplyForm<Copied> {
  readonly contentType: string
  readonly copy: (hits: HitBytes, field: string) => Copied | undefined
  readonly write: (copied: Copied, field: string) => Buffer | undefined
}

const msgpackType = 'application/msgpack'
const jsonType = 'application/json; charset=utf-8'

/** MessagePack is complete when it was copied. */
function msgpackForm(copy: ReplyForm<Buffer>['copy']): ReplyForm<Buffer> {
  return { contentType: msgpackType, copy, write: (bytes) => bytes }
}

/** `[[similarity, id, meta, filter, norm, vector], ...]`. */
export const indexMsgpack = msgpackForm((hits) => {
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
})

/** `[{number: [id, meta, filter]}, {field: [[number, score], ...]}]`. The objects of one list are numbered in its order. */
export const collectionMsgpack = msgpackForm((hits, field) => {
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
})

/** `{"complete","recall","lsn","results":[...]}`. */
export const indexJson: ReplyForm<HitCopy> = {
  contentType: jsonType,
  copy: copyHits,
  write(hits, field) {
    const list = hitsJson(hits, noExpiry)
    return list === undefined ? undefined : finishJson(`${accountJson(hits, field)},"results":${list}}`)
  },
}

/** `{"complete","recall","lsn","results":{field:[...]}}`. */
export const collectionJson: ReplyForm<HitCopy> = {
  contentType: jsonType,
  copy: copyHits,
  write(hits, field) {
    const list = hitsJson(hits, expiryJson)
    const key = JSON.stringify(field)
    return list === undefined ? undefined : finishJson(`${accountJson(hits, field)},"results":{${key}:${list}}}`)
  },
}

/** The hits, independent of the memory of the engine. */
export interface HitCopy extends Pick<HitBytes, 'count' | 'lsn' | 'complete' | 'recall'> {
  /** Similarity, distance, norm, and expiry of each hit; NaN if it does not expire. */
  readonly numbers: Float64Array
  /** Where the id, the meta, and the filter of each hit end in `bytes`. */
  readonly ends: Uint32Array
  readonly bytes: Buffer
}

function copyHits(hits: HitBytes): HitCopy | undefined {
  const stored = storedBytes(hits)
  if (stored === undefined) return undefined
  const { count, lsn, complete, recall } = hits
  const numbers = new Float64Array(4 * count)
  const ends = new Uint32Array(3 * count)
  const bytes = Buffer.allocUnsafe(stored)
  let at = 0
  for (let i = 0; i < count; i++) {
    numbers[4 * i] = hits.similarity(i)
    numbers[4 * i + 1] = hits.distance(i)
    numbers[4 * i + 2] = hits.norm(i)
    numbers[4 * i + 3] = hits.expiresAt(i) ?? Number.NaN
    hits.copyId(i, bytes, at)
    at += hits.idBytes(i)
    ends[3 * i] = at
    hits.copyMeta(i, bytes, at)
    at += hits.metaBytes(i)
    ends[3 * i + 1] = at
    hits.copyFilter(i, bytes, at)
    at += hits.filterBytes(i)
    ends[3 * i + 2] = at
  }
  return { count, lsn, complete, recall, numbers, ends, bytes }
}

function accountJson({ complete, recall, lsn }: HitCopy, field: string): string {
  const chosen = recall === undefined ? '' : `,"recall":${recallJson(field, recall)}`
  return `{"complete":${complete}${chosen},"lsn":${lsn}`
}

/** How ef was chosen for the only field of a search. */
export function recallJson(field: string, recall: NonNullable<HitBytes['recall']>): string {
  return JSON.stringify({ [field]: recall })
}

function finishJson(text: string): Buffer | undefined {
  return text.length < replyPieceBytes ? Buffer.from(text) : undefined
}

function hitsJson({ count, numbers, ends, bytes }: HitCopy, expiryOf: typeof expiryJson): string | undefined {
  const metas = new MetaBudget()
  let text = '['
  let from = 0
  for (let hit = 0; hit < count; hit++) {
    const [idEnd, metaEnd, filterEnd] = [ends[3 * hit]!, ends[3 * hit + 1]!, ends[3 * hit + 2]!]
    const id = idJson(bytes.toString('utf8', from, idEnd))
    const meta = metaJson(bytes.subarray(idEnd, metaEnd), metas)
    const filter = filterJson(bytes.toString('utf8', metaEnd, filterEnd))
    const [similarity, distance, norm] = [0, 1, 2].map((part) => numberJson(numbers[4 * hit + part]!))
    const expiry = expiryOf(numbers[4 * hit + 3]!)
    text += `${hit > 0 ? ',' : ''}{"id":${id},"similarity":${similarity},"distance":${distance},${meta},"filter":${filter}${expiry},"norm":${norm}}`
    if (text.length >= replyPieceBytes) return undefined
    from = filterEnd
  }
  return `${text}]`
}

/** Hits of the published protocol have no expiry. */
function noExpiry(): string {
  return ''
}

function expiryJson(expiresAt: number): string {
  return Number.isNaN(expiresAt) ? '' : `,"expires_at":"${new Date(expiresAt).toISOString()}"`
}

/** As JSON.stringify writes it. */
function numberJson(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

/** Characters that JSON writes unchanged. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function idJson(id: string): string {
  return plain.test(id) ? `"${id}"` : JSON.stringify(id)
}

function filterJson(text: string): string {
  return text === '' || isCanonical(text) ? text || '{}' : JSON.stringify(JSON.parse(text))
}

/** One key with a plain value, which JSON.stringify writes as it is. Most filters have other forms, and are parsed. */
const canonical =
  /^\{"[A-Za-z_][A-Za-z0-9_]{0,63}":(?:"[\x20\x21\x23-\x5b\x5d-\x7e]*"|0|[1-9][0-9]{0,14}|true|false)\}$/

function isCanonical(text: string): boolean {
  return canonical.test(text) && !text.startsWith('{"__proto__"')
}

/** See metaJson of wire/v1-search.ts. */
function metaJson(bytes: Buffer, metas: MetaBudget): string {
  if (bytes.length === 0) return '"meta":{}'
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
