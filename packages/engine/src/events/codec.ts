// Events to record payloads and back. The record's type names the message; types are never renumbered or reused.

import type { NewRecord } from '@annal/wal'
import protobuf from 'protobufjs/light.js'
import { assert, EngineError } from '../errors.ts'
import type {
  CatalogEvent,
  DenseColumn,
  Event,
  MultiColumn,
  NameEvent,
  ObjectsUpserted,
  SparseColumn,
  TextColumn,
} from '../model/event.ts'
import type { Author } from '../model/requests.ts'
import { type FieldSchema, hasLists, hasPackedCodes, hasRecall, hasText } from '../model/schema.ts'
import { hasExpiry } from '../model/stored-text.ts'
import { authorVersion, encodeAuthor, eventStart } from './author.ts'
import {
  denseFromMessage,
  denseToMessage,
  multiFromMessage,
  multiToMessage,
  sparseFromMessage,
  sparseToMessage,
  textFromMessage,
  textToMessage,
} from './column-codec.ts'
import { controlFromMessage, controlToMessage, isControlEvent, isControlKind } from './control-codec.ts'
import { fieldFromMessage, fieldToMessage } from './field-codec.ts'
import { encodeRequest, type RequestRecord, requestVersion } from './request-record.ts'
import { type Message, messageType } from './schema.ts'

const recordTypes = {
  'collection-created': 16,
  'collection-dropped': 17,
  'objects-upserted': 18,
  'objects-deleted': 19,
  'filters-replaced': 20,
  'collection-rebuilt': 21,
  'database-created': 22,
  'database-dropped': 23,
  'database-changed': 24,
  'token-put': 25,
  'token-dropped': 26,
  'setting-put': 27,
  'collection-restored': 32,
  'fields-changed': 33,
  'request-answered': 34,
  'objects-patched': 35,
  'alias-put': 38,
  'alias-dropped': 39,
  'collection-promoted': 40,
  'cursor-put': 41,
  'cursor-dropped': 42,
  'objects-restored': 43,
  'objects-expired': 44,
  'expiries-cleared': 45,
} as const satisfies Record<Event['kind'], number>

const kinds = new Map<number, Event['kind']>(
  Object.entries(recordTypes).map(([kind, type]) => [type, kind as Event['kind']]),
)
/** Every kind of event. */
export const eventKinds: readonly Event['kind'][] = [...kinds.values()]
/** Kinds of events of collections, their names, and their objects, which the change feed delivers. */
export const changeKinds: readonly string[] = eventKinds.filter(
  // Only images have records of the other kind.
  (kind) => !isControlKind(kind) && kind !== 'expiries-cleared',
)

/** The newest payload schema that this code reads. Each record has the oldest version that can express it. */
const payloadVersion = 10
const cursorVersion = 8
/** The first payload version with expiries. */
const expiryVersion = 9
/** The first payload version with text fields. */
const textVersion = 10
/** The first payload version with restored objects. */
const restoredVersion = 8

const messages = {
  'collection-created': messageType('CollectionCreated'),
  'collection-dropped': messageType('CollectionDropped'),
  'objects-upserted': messageType('ObjectsUpserted'),
  'objects-deleted': messageType('ObjectsDeleted'),
  'filters-replaced': messageType('FiltersReplaced'),
  'collection-rebuilt': messageType('CollectionRebuilt'),
  'database-created': messageType('DatabaseCreated'),
  'database-dropped': messageType('DatabaseDropped'),
  'database-changed': messageType('DatabaseChanged'),
  'token-put': messageType('TokenPut'),
  'token-dropped': messageType('TokenDropped'),
  'setting-put': messageType('SettingPut'),
  'collection-restored': messageType('CollectionRestored'),
  'fields-changed': messageType('FieldsChanged'),
  'request-answered': messageType('RequestAnswered'),
  'objects-patched': messageType('ObjectsPatched'),
  'alias-put': messageType('AliasPut'),
  'alias-dropped': messageType('AliasDropped'),
  'collection-promoted': messageType('CollectionPromoted'),
  'cursor-put': messageType('CursorPut'),
  'cursor-dropped': messageType('CursorDropped'),
  'objects-restored': messageType('ObjectsRestored'),
  'objects-expired': messageType('ObjectsExpired'),
  'expiries-cleared': messageType('ExpiriesCleared'),
} as const

/** The record of an event, with the oldest payload version that can express it. */
export function encodeEvent(event: Event): NewRecord {
  const message = messages[event.kind]
  return {
    type: recordTypes[event.kind],
    version: versionOf(event),
    payload: message.encode(toMessage(event)).finish(),
  }
}

/** The record of an upsert whose columns were encoded by upsertPieces. */
export function upsertRecord(event: ObjectsUpserted, pieces: readonly Uint8Array[]): NewRecord {
  const { timeMs, collectionId } = event
  const head = messages[event.kind].encode({ timeMs, collectionId }).finish()
  return { type: recordTypes[event.kind], version: versionOf(event), payload: [head, ...pieces] }
}

/**
 * The payload version of an event. Version 2 adds multi-vector fields, which version 1 would ignore; version 3 the rules of graphs; version
 * 4 cosine vectors as given, which version 3 would read as unit vectors, and fields without originals; version 5 the precisions int4 and
 * int2; version 6 a default recall; version 7 request keys, which version 6 would not keep; version 8 authors, cursors,
 * aliases, branches, patches, and restored objects; version 9 expiries, which version 8 would take for part of a filter, or ignore;
 * version 10 text fields, and vectors that are made of texts.
 */
function versionOf(event: Event): number {
  if (hasTexts(event)) return textVersion
  if (hasExpiries(event)) return expiryVersion
  if (isNameKind(event.kind) || (event.kind === 'collection-restored' && event.parent)) return 8
  const fields = 'fields' in event ? event.fields : []
  if (event.kind === 'cursor-put' || event.kind === 'cursor-dropped') return cursorVersion
  if (event.kind === 'objects-restored') return restoredVersion
  if (event.kind === 'objects-patched') return 8
  if (event.kind === 'request-answered') return requestVersion
  if (event.kind === 'fields-changed' || fields.some(hasRecall)) return 6
  if (fields.some(hasPackedCodes)) return 5
  if (event.kind === 'objects-upserted' && event.dense.some(({ forms }) => forms !== undefined)) return 4
  if (fields.some(({ kind, params }) => kind === 'dense' && params.keepOriginals === false)) return 4
  if (fields.some((field) => !hasLists(field) && (field.params.rules ?? 1) > 1)) return 3
  const multi = event.kind === 'objects-upserted' ? event.multi : []
  return multi.length > 0 || fields.some(({ kind }) => kind === 'multi') ? 2 : 1
}

function hasTexts(event: Event): boolean {
  if ('fields' in event) return event.fields.some(hasText)
  return 'text' in event && event.text.length > 0
}

function hasExpiries(event: Event): boolean {
  if (event.kind === 'objects-expired' || event.kind === 'expiries-cleared') return true
  if ('ttlSeconds' in event && event.ttlSeconds !== undefined) return true
  return 'filters' in event && event.filters.some(hasExpiry)
}

/** The same record with the request that wrote it. */
export function withRequest(record: NewRecord, request: RequestRecord): NewRecord {
  const { version, payload } = record
  const pieces = payload instanceof Uint8Array ? [payload] : payload
  return { ...record, version: Math.max(version, requestVersion), payload: [encodeRequest(request), ...pieces] }
}

/** The same record with its author. Add the request afterwards: it comes first. */
export function withAuthor(record: NewRecord, author: Author): NewRecord {
  const { version, payload } = record
  const pieces = payload instanceof Uint8Array ? [payload] : payload
  return { ...record, version: Math.max(version, authorVersion), payload: [encodeAuthor(author), ...pieces] }
}

/** Throws EngineError `format_too_new` for a record of a newer version of Annal. Asserts on a payload that no version writes. */
export function decodeEvent(record: {
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array
}): Event {
  const kind = kinds.get(record.type)
  if (kind === undefined || record.version > payloadVersion) {
    throw new EngineError(
      'format_too_new',
      `the log holds a record of type ${record.type}, version ${record.version}, which requires a newer version of Annal`,
      {
        type: record.type,
        version: record.version,
      },
    )
  }
  return fromMessage(kind, messages[kind].decode(record.payload))
}

/** Reads the collections of a record and its time without decoding the rest: every event starts with these fields. */
export function peekEvent(payload: Uint8Array): { readonly timeMs: number; readonly collectionIds: readonly number[] } {
  const reader = protobuf.Reader.create(payload)
  reader.pos = eventStart(payload)
  const collectionIds: number[] = []
  let timeMs = 0
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === timeTag) timeMs = reader.double()
    else if (tag === collectionTag) collectionIds.push(reader.uint32())
    else if (tag === collectionsTag) {
      const end = reader.uint32() + reader.pos
      while (reader.pos < end) collectionIds.push(reader.uint32())
    } else break
  }
  return { timeMs, collectionIds }
}

/** Field 1, eight bytes; field 2, a varint; field 2, packed varints. */
const timeTag = (1 << 3) | 1
const collectionTag = (2 << 3) | 0
const collectionsTag = (2 << 3) | 2

/** The kind of a record; undefined if a newer version of Annal wrote it. */
export function kindOf({ type }: { readonly type: number }): Event['kind'] | undefined {
  return kinds.get(type)
}

/** Whether a record writes, changes, or deletes objects. */
export function isObjectRecord({ type }: { readonly type: number }): boolean {
  const kind = kinds.get(type)
  return kind !== undefined && (kind.startsWith('objects-') || kind === 'filters-replaced')
}

/** Whether a record changes the catalog, not the content of a collection. */
export function isCatalogRecord({ type }: { readonly type: number }): boolean {
  const kind = kinds.get(type)
  return kind !== undefined && isCatalogKind(kind)
}

/** Whether an event changes the catalog, not the content of a collection. */
export function isCatalogEvent(event: Event): event is CatalogEvent {
  return isCatalogKind(event.kind)
}

function isCatalogKind(kind: Event['kind']): boolean {
  return (
    kind === 'collection-created' ||
    kind === 'collection-restored' ||
    kind === 'collection-dropped' ||
    isNameKind(kind) ||
    isControlKind(kind)
  )
}

function isNameKind(kind: Event['kind']): kind is NameEvent['kind'] {
  return kind === 'alias-put' || kind === 'alias-dropped' || kind === 'collection-promoted'
}

function toMessage(event: Event): Record<string, unknown> {
  if (isControlEvent(event)) return controlToMessage(event)
  switch (event.kind) {
    case 'collection-created':
    case 'collection-restored':
      return {
        ...event,
        fields: event.fields.map(fieldToMessage),
        hashSeedLow: event.hashSeed.low,
        hashSeedHigh: event.hashSeed.high,
        ...('parent' in event && event.parent && { parentId: event.parent.id, parentLsn: event.parent.lsn }),
      }
    case 'collection-rebuilt':
    case 'fields-changed':
      return { ...event, fields: event.fields.map(fieldToMessage) }
    case 'objects-upserted':
    case 'objects-restored':
      return {
        ...event,
        dense: event.dense.map((column) => denseToMessage(column, event.ids.length)),
        sparse: event.sparse.map(sparseToMessage),
        multi: event.multi.map(multiToMessage),
        text: event.text.map((column) => textToMessage(column, event.ids.length)),
      }
    default:
      return { ...event }
  }
}

function fromMessage(kind: Event['kind'], message: Message): Event {
  if (isControlKind(kind)) return controlFromMessage(kind, message)
  const base = { timeMs: message.timeMs as number, collectionId: message.collectionId as number }
  switch (kind) {
    case 'collection-created':
      return { kind, ...base, ...newCollection(message), ...ttlIn(message) }
    case 'collection-restored': {
      const { importId, imageSha256, digest } = message
      const parent = message.parentId > 0 && { parent: { id: message.parentId, lsn: message.parentLsn } }
      return { kind, ...base, ...newCollection(message), importId, imageSha256, digest, ...parent }
    }
    case 'collection-dropped':
    case 'expiries-cleared':
      return { kind, ...base }
    case 'alias-put':
    case 'alias-dropped':
    case 'collection-promoted':
      return nameEvent(kind, message)
    case 'objects-upserted':
      return { kind, ...base, ...objectsFromMessage(message) }
    case 'objects-restored': {
      const { deleted, asOfLsn } = message
      return { kind, ...base, ...objectsFromMessage(message), deleted, asOfLsn }
    }
    case 'collection-rebuilt':
      return { kind, ...base, fields: message.fields.map(fieldFromMessage) }
    case 'fields-changed':
      return { kind, ...base, fields: message.fields.map(fieldFromMessage), ...ttlIn(message) }
    case 'objects-deleted':
    case 'objects-expired':
      return { kind, ...base, ids: message.ids }
    case 'filters-replaced':
      return { kind, ...base, ids: message.ids, filters: message.filters }
    case 'objects-patched': {
      const { ids, metas, filters } = message
      assert(metas.length === ids.length && filters.length === ids.length, 'a patch has one meta and filter per id')
      return { kind, ...base, ids, metas, filters }
    }
  }
}

function nameEvent(kind: NameEvent['kind'], message: Message): NameEvent {
  const { timeMs, databaseId, name, targetId, promotedId, replacedId, keptAs } = message
  if (kind === 'alias-put') return { kind, timeMs, databaseId, name, targetId }
  if (kind === 'alias-dropped') return { kind, timeMs, databaseId, name }
  return { kind, timeMs, databaseId, promotedId, replacedId, keptAs }
}

function objectsFromMessage(message: Message) {
  const ids = message.ids as string[]
  assert(
    message.metas.length === ids.length && message.filters.length === ids.length,
    'an upsert has one meta and one filter per id',
  )
  return {
    ids,
    metas: message.metas,
    filters: message.filters,
    dense: message.dense.map((column: Message) => denseFromMessage(column, ids.length)) as DenseColumn[],
    sparse: message.sparse.map(sparseFromMessage) as SparseColumn[],
    multi: message.multi.map(multiFromMessage) as MultiColumn[],
    text: message.text.map((column: Message) => textFromMessage(column, ids.length)) as TextColumn[],
  }
}

function newCollection(message: Message) {
  return {
    databaseId: message.databaseId as number,
    name: message.name as string,
    fields: message.fields.map(fieldFromMessage) as FieldSchema[],
    hashSeed: { low: message.hashSeedLow as number, high: message.hashSeedHigh as number },
  }
}

function ttlIn({ ttlSeconds }: Message): { ttlSeconds?: number } {
  return ttlSeconds > 0 ? { ttlSeconds } : {}
}
