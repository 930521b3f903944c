// The ids of a record about objects, without decoding its vectors.
import protobuf from 'protobufjs/light.js'
import { eventStart } from './author.ts'

/** Field 3, and field 10 of restored objects: strings. */
const idTag = (3 << 3) | 2
const deletedTag = (10 << 3) | 2

/** All ids of a record about objects, those that it deletes besides at the end. */
export function idsOf(payload: Uint8Array): string[] {
  const ids: string[] = []
  readIds(payload, (reader) => void ids.push(reader.string()))
  return ids
}

/** Whether a record about objects names an id, given in UTF-8. Costs less than to read its ids. */
export function namesId(payload: Uint8Array, id: Uint8Array): boolean {
  let isNamed = false
  readIds(payload, (reader) => {
    const length = reader.uint32()
    const from = reader.pos
    reader.skip(length)
    isNamed ||= length === id.length && Buffer.compare(payload.subarray(from, from + length), id) === 0
  })
  return isNamed
}

function readIds(payload: Uint8Array, read: (reader: protobuf.Reader) => void): void {
  const reader = protobuf.Reader.create(payload)
  reader.pos = eventStart(payload)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === idTag || tag === deletedTag) read(reader)
    else reader.skipType(tag & 7)
  }
}
