// Estimates the memory that a write may need, before it is appended.

import type { MemoryNeed } from '../admission/memory-need.ts'
import { assert } from '../errors.ts'
import type { ObjectColumns } from '../input/objects.ts'
import { type CollectionSchema, graphField } from '../model/schema.ts'
import { expiryBytes } from '../model/stored-text.ts'
import { vectorForm } from '../model/vector-form.ts'
import type { OriginalsRoom } from '../originals/originals-owner.ts'
import { recordBytes, textBytes } from '../replica/object-record.ts'
import type { MemoryRoom, Replica } from '../replica/replica.ts'
import { countedTexts } from '../text/counted-text.ts'

/** What a write may need; counted while it waits to be applied. */
export type Room = MemoryRoom & OriginalsRoom

export const noRoom: Room = {
  objects: 0,
  idBytes: 0,
  recordBytes: 0,
  sparseTerms: 0,
  textTerms: 0,
  textTermBytes: 0,
  members: 0,
  scaled: 0,
}

export function roomFor(columns: ObjectColumns, definition: CollectionSchema): Room {
  const { ids, metas, filters, dense, sparse, multi } = columns
  const texts = roomForTexts(columns, definition)
  const terms = sparse.reduce((sum, column) => sum + column.indices.length, texts.terms)
  const sparseFields = sparse.reduce((sum, column) => sum + column.objects.length, texts.objects)
  const bytes = metas.reduce(
    (sum, meta, i) => sum + recordBytes(meta.length, (filters[i] as string).length * 3, 0, 0),
    0,
  )
  return {
    objects: ids.length,
    idBytes: ids.reduce((sum, id) => sum + id.length * 3, 0),
    recordBytes: bytes + terms * 8 + sparseFields * 8 + texts.bytes,
    sparseTerms: terms,
    textTerms: texts.distinct,
    textTermBytes: texts.distinctBytes,
    members: multi.reduce((sum, { counts }) => counts.reduce((more, count) => more + count, sum), 0),
    scaled: dense.reduce((most, { forms }) => Math.max(most, scaledIn(forms)), 0),
  }
}

/** What texts need: their terms were counted when they were checked. */
function roomForTexts({ text }: ObjectColumns, { fields }: CollectionSchema) {
  const room = { objects: 0, terms: 0, bytes: 0, distinct: 0, distinctBytes: 0 }
  for (const { field, texts } of text) {
    const schema = fields[field]
    assert(schema?.kind === 'text', `field ${field} has texts`)
    const distinct = new Set<string>()
    for (const { terms } of countedTexts(texts, schema.params)) {
      room.terms += terms.length
      for (const term of terms) distinct.add(term)
    }
    room.objects += texts.length
    for (const one of texts) room.bytes += textBytes(one)
    room.distinct += distinct.size
    for (const term of distinct) room.distinctBytes += Buffer.byteLength(term)
  }
  return room
}

function scaledIn(forms: Uint8Array | undefined): number {
  return forms === undefined ? 0 : forms.reduce((count, form) => count + (form === vectorForm.unit ? 0 : 1), 0)
}

/** Bytes of an object besides its fields and its record: in the table of ids, in columns, and in sets of ordinals. */
const objectBytes = 128
/** Bytes of a row of a graph besides its code and its links at the base, with those of upper levels. */
const rowBytes = 96
/** Bytes of a posting with the room that lists leave, and of a new term besides its text. */
const postingBytes = 16
const termBytes = 64

/**
 * The memory that a write with this room takes, besides what `reserved` takes for writes that wait. Objects in the place of deleted ones
 * add nothing.
 */
export function memoryNeedOf(
  room: Room,
  replica: Pick<Replica, 'definition' | 'ordinals'>,
  reserved = noRoom,
): MemoryNeed {
  const isRewrite = room.sparseTerms === 0 && room.idBytes === 0
  const vacant = Math.max(0, replica.ordinals.freeCount - reserved.objects)
  const added = isRewrite ? room.objects : Math.max(0, room.objects - vacant)
  if (added === 0) return { growth: 0, transient: room.recordBytes + room.idBytes }
  const rows = isRewrite
    ? 0
    : room.objects * replica.definition.fields.reduce((sum, field) => sum + bytesOfRow(field), objectBytes)
  const texts = room.sparseTerms * postingBytes + room.textTerms * termBytes + room.textTermBytes
  const whole = rows + texts + room.idBytes + room.recordBytes
  return { growth: (whole * added) / room.objects, transient: rows + room.recordBytes }
}

/** Codes are counted as large as the numbers that were given, which are in memory until the write has ended. */
function bytesOfRow(field: CollectionSchema['fields'][number]): number {
  const graph = graphField(field)
  return graph === undefined ? 0 : graph.params.dimension * 4 + graph.params.M * 8 + rowBytes
}

/** Records are rewritten with other filters; their other content stays. */
export function roomForFilters(replica: Replica, ids: readonly string[], filters: readonly string[]): Room {
  const kept = ids.reduce((sum, id) => {
    const ordinal = replica.findStored(id)
    return ordinal < 0 ? sum : sum + replica.objects.recordBytesAt(ordinal)
  }, 0)
  // An object keeps its expiry.
  const recordBytes = filters.reduce((sum, text) => sum + text.length * 3 + expiryBytes, kept)
  return { ...noRoom, objects: ids.length, recordBytes }
}

/** Records are rewritten with other meta and filters. */
export function roomForPatches(
  replica: Replica,
  {
    ids,
    metas,
    filters,
  }: { readonly ids: readonly string[]; readonly metas: readonly Uint8Array[]; readonly filters: readonly string[] },
): Room {
  const room = roomForFilters(replica, ids, filters)
  return { ...room, recordBytes: metas.reduce((sum, meta) => sum + meta.length, room.recordBytes) }
}

export function added(a: Room, b: Room, sign: 1 | -1): Room {
  return {
    objects: a.objects + sign * b.objects,
    idBytes: a.idBytes + sign * b.idBytes,
    recordBytes: a.recordBytes + sign * b.recordBytes,
    sparseTerms: a.sparseTerms + sign * b.sparseTerms,
    textTerms: a.textTerms + sign * b.textTerms,
    textTermBytes: a.textTermBytes + sign * b.textTermBytes,
    members: a.members + sign * b.members,
    scaled: a.scaled + sign * b.scaled,
  }
}
