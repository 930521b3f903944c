// What a record of the log did, without its content: vectors, meta, and filters are skipped, so that an overview of a long log costs little
// more than reading it.
import protobuf from 'protobufjs/light.js'
import { EngineError } from '../errors.ts'
import { eventIdsMax } from '../limits.ts'
import type { CatalogEvent, Event } from '../model/event.ts'
import type { Author } from '../model/requests.ts'
import { authorOf, eventStart } from './author.ts'
import { decodeEvent, isCatalogEvent, kindOf, peekEvent } from './codec.ts'
import { idsOf } from './object-ids.ts'

/** What a record did. */
export interface RecordFacts {
  readonly lsn: number
  readonly kind: Event['kind']
  readonly timeMs: number
  /** Bytes of the payload. */
  readonly bytes: number
  readonly collectionId?: number
  /** Number of objects in the record. */
  readonly objects: number
  /** The first ids in the record. */
  readonly ids: readonly string[]
  /** The change of the catalog; such records are small. */
  readonly catalog?: CatalogEvent
  /** Absent if the record has none. */
  readonly author?: Author
}

interface Payload {
  readonly lsn: number
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array
}

/** Field 1, eight bytes; field 2, a varint; field 3, a string: every message about objects starts with these fields. */
const timeTag = (1 << 3) | 1
const collectionTag = (2 << 3) | 0
const idTag = (3 << 3) | 2

/** Reads the facts of a record. Throws format_too_new. */
export function factsOf(record: Payload): RecordFacts {
  const author = authorOf(record)
  return author === undefined ? bareFactsOf(record) : { ...bareFactsOf(record), author }
}

function bareFactsOf(record: Payload): RecordFacts {
  const { lsn, payload } = record
  const kind = kindOf(record)
  const bytes = payload.length
  switch (kind) {
    case undefined:
      throw new EngineError(
        'format_too_new',
        `record ${lsn} of type ${record.type} requires a newer version of Annal`,
        { lsn },
      )
    case 'objects-restored': {
      const ids = idsOf(payload)
      return { lsn, kind, bytes, ...objectsOf(payload), objects: ids.length, ids: ids.slice(0, eventIdsMax) }
    }
    case 'objects-upserted':
    case 'objects-deleted':
    case 'objects-expired':
    case 'filters-replaced':
    case 'objects-patched':
      return { lsn, kind, bytes, ...objectsOf(payload) }
    case 'collection-rebuilt':
    case 'expiries-cleared':
    case 'fields-changed': {
      const { timeMs, collectionIds } = peekEvent(payload)
      return { lsn, kind, bytes, timeMs, collectionId: collectionIds[0] as number, objects: 0, ids: [] }
    }
    default: {
      const event = decodeEvent(record)
      const collection = 'collectionId' in event ? { collectionId: event.collectionId } : {}
      const catalog = isCatalogEvent(event) ? { catalog: event } : {}
      return { lsn, kind, bytes, timeMs: event.timeMs, objects: 0, ids: [], ...collection, ...catalog }
    }
  }
}

function objectsOf(payload: Uint8Array): Pick<RecordFacts, 'timeMs' | 'collectionId' | 'objects' | 'ids'> {
  const reader = protobuf.Reader.create(payload)
  reader.pos = eventStart(payload)
  const ids: string[] = []
  let [timeMs, collectionId, objects] = [0, 0, 0]
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === timeTag) timeMs = reader.double()
    else if (tag === collectionTag) collectionId = reader.uint32()
    else if (tag === idTag) {
      objects++
      if (ids.length < eventIdsMax) ids.push(reader.string())
      else reader.skip(reader.uint32())
    } else break
  }
  return { timeMs, collectionId, objects, ids }
}
