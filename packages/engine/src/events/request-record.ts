// The request in a record: which key wrote it, the digest of the request, and what a repetition returns. It is in front of the
// event, in field 15, which no event has: two protobuf messages one after another are one message with the fields of both. So the key is
// durable exactly if the write is, and a reader finds it without decoding the event.
//
//   | tag of field 15 | length | 1: id, 16 bytes | 2: digest, 16 bytes | 3: facts, JSON | event ... |
//
// Specified in docs/formats/events.md.
import { assert } from '../errors.ts'
import { messageType } from './schema.ts'

/** Bytes of the id of a key and of the digest of a request: the first half of a SHA-256. */
export const requestIdBytes = 16
/** The first payload version whose records may have a request. */
export const requestVersion = 7

/** The request of a record. */
export interface RequestRecord {
  /** Hash of the database and the key. */
  readonly id: Uint8Array
  readonly digest: Uint8Array
  /** JSON of an object; empty for one without members. */
  readonly facts: string
}

/** Field 15, bytes. */
const requestTag = (15 << 3) | 2
const withRequest = messageType('WithRequest')

/** The bytes that stand in front of the event. */
export function encodeRequest(request: RequestRecord): Uint8Array {
  return withRequest.encode({ request }).finish()
}

/** Reads the request of a record; undefined if the record has none. */
export function requestOf(record: {
  readonly version: number
  readonly payload: Uint8Array
}): RequestRecord | undefined {
  const { version, payload } = record
  if (version < requestVersion || payload[0] !== requestTag) return undefined
  const end = requestEnd(payload)
  const { request } = withRequest.decode(payload.subarray(0, end)) as unknown as { readonly request: RequestRecord }
  const { id, digest, facts } = request
  assert(
    id.length === requestIdBytes && digest.length === requestIdBytes,
    'the id and the digest of a request have 16 bytes',
  )
  return { id: id.slice(), digest: digest.slice(), facts }
}

/** Where the event begins in a payload: after the request, if there is one. */
export function requestEnd(payload: Uint8Array): number {
  if (payload[0] !== requestTag) return 0
  let length = 0
  for (let at = 1, shift = 0; at < 5; at++, shift += 7) {
    const byte = payload[at] ?? 0
    length += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return at + 1 + length
  }
  throw new Error('broken invariant: the request of a record has a length')
}
