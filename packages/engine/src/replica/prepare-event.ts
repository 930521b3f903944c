// Applies an event to the parts of a replica: first its rows to the fields, which nobody sees yet, then its ids, records, and filter values
// in steps, after which the version is published (publication.ts).
import { assert } from '../errors.ts'
import type { FilterIndex } from '../filter/filter-index.ts'
import { indexedValues } from '../filter/indexed-values.ts'
import type { FiltersReplaced, ObjectEvent, ObjectsPatched, ObjectsRestored, ObjectsUpserted } from '../model/event.ts'
import type { CollectionSchema } from '../model/schema.ts'
import { filterIn, withFilter } from '../model/stored-text.ts'
import type { Originals } from '../originals/originals.ts'
import type { DenseField, SparseField } from '../vector/field.ts'
import { type AddedVectors, addedVectors, keptOriginals } from './dense-rows.ts'
import type { EarlierRecord, EarlierRecords } from './earlier-records.ts'
import type { ObjectStore } from './object-store.ts'
import type { Ordinals } from './ordinals.ts'
import type { Pins } from './pins.ts'
import { addedRows, keptRows, sparseByObject } from './sparse-rows.ts'
import type { TextRows, TextTerms } from './text-terms.ts'
import type { VersionWindow } from './version-window.ts'

/** The parts of a replica that events change. */
export interface ChangedParts {
  readonly definition: CollectionSchema
  readonly objects: ObjectStore
  readonly filters: FilterIndex
  readonly earlierRecords: EarlierRecords
  /** One for each field of the definition, with the pooled vectors of a multi-vector field; undefined for sparse fields. */
  readonly dense: readonly (DenseField | undefined)[]
  /** One for each field of the definition; undefined for those with a graph. */
  readonly sparse: readonly (SparseField | undefined)[]
  /** The terms of its text fields. */
  readonly terms: TextTerms
  /** One for each field of the definition; undefined if the field itself keeps every bit, or if none are kept. */
  readonly originals: readonly (Originals | undefined)[]
  readonly ordinals: Ordinals
  readonly pins: Pins
  readonly window: VersionWindow
}

/** The rest of an event after its fields have their rows. */
export interface Prepared {
  readonly touched: readonly string[]
  /** Yields the work of each step, see Publication. */
  readonly work: Generator<number, void>
}

/** Work for an object in addition to its filter values, in bytes of filter values. */
const objectWork = 128
/** Bytes that are copied in the time in which one byte of filter values is indexed. */
const copiedPerByte = 16

/** Where an event leads. */
export interface EventPlace {
  /** The version that it leads to. */
  readonly version: number
  /** The LSN of the objects that it writes, by their position in the event. */
  readonly lsnOf: (position: number) => number
}

/** Applies an event to the fields. */
export function prepareEvent(parts: ChangedParts, place: EventPlace, event: ObjectEvent): Promise<Prepared> | Prepared {
  switch (event.kind) {
    case 'objects-upserted':
      return upsert(parts, place, event)
    case 'objects-restored':
      return event.ids.length === 0
        ? remove(parts, place.version, event.deleted)
        : upsert(parts, place, event, event.deleted)
    case 'objects-deleted':
    case 'objects-expired':
      return remove(parts, place.version, event.ids)
    case 'filters-replaced':
    case 'objects-patched':
      return updateTexts(parts, place, event)
    case 'expiries-cleared':
      return { touched: [], work: publishCleared(parts) }
    case 'fields-changed':
      return { touched: [], work: noWork() }
  }
}

function* noWork(): Generator<number, void> {
  yield* []
}

/** `deleted` are ids that the event deletes besides. */
async function upsert(
  parts: ChangedParts,
  place: EventPlace,
  event: ObjectsUpserted | ObjectsRestored,
  deleted: readonly string[] = [],
): Promise<Prepared> {
  const { version } = place
  await ripen(parts, version)
  const { end } = parts.ordinals
  const ordinals = parts.ordinals.take(event.ids.length)
  parts.window.took(ordinals, end, version)
  const added: (AddedVectors | undefined)[] = []
  for (const [index, field] of parts.definition.fields.entries())
    added.push(await addedVectors(event, index, field, ordinals))
  const kept = parts.originals.map((originals, index) => originals && keptOriginals(added[index], originals.owner))
  // A replay has not reserved memory yet; a live write has.
  for (const [index, originals] of parts.originals.entries()) {
    const rows = kept[index]?.rows ?? 0
    if (originals && !originals.hasRoom(rows)) await originals.prepare(rows)
  }
  const gone = deleted.filter((id) => parts.objects.find(id) >= 0)
  const replaced = Uint32Array.from(
    [...event.ids, ...gone].map((id) => parts.objects.find(id)).filter((ordinal) => ordinal >= 0),
  )
  await Promise.all(
    parts.dense.map((field, index) => {
      const appended =
        kept[index] && parts.originals[index]?.append(kept[index].ordinals, kept[index].vectors, kept[index])
      return Promise.all([appended, field?.apply(version, added[index]?.rows, replaced)])
    }),
  )
  const texts = await textRows(parts, event, ordinals)
  await Promise.all(
    parts.sparse.map((field, index) =>
      field?.apply(
        version,
        texts.get(index)?.rows ?? addedRows(event, index, ordinals),
        keptRows(parts.objects, index, replaced),
      ),
    ),
  )
  function* work(): Generator<number, void> {
    yield* publishUpsert(parts, place, { ...event, texts }, ordinals)
    yield* publishDelete(parts, version, gone)
  }
  return { touched: [...event.ids, ...gone], work: work() }
}

/** The rows that the texts of an upsert become, by field. Their terms are numbered in the order of fields, objects, and occurrence. */
async function textRows(
  { definition, terms }: ChangedParts,
  { text }: Pick<ObjectsUpserted, 'text'>,
  ordinals: Uint32Array,
): Promise<ReadonlyMap<number, TextRows>> {
  const rows = new Map<number, TextRows>()
  for (const column of text) {
    const schema = definition.fields[column.field]
    assert(schema?.kind === 'text', `field ${column.field} has texts`)
    rows.set(column.field, await terms.rowsOf(column, schema.params, ordinals))
  }
  return rows
}

function* publishUpsert(
  parts: ChangedParts,
  { version, lsnOf }: EventPlace,
  event: (ObjectsUpserted | ObjectsRestored) & { readonly texts: ReadonlyMap<number, TextRows> },
  ordinals: Uint32Array,
): Generator<number, void> {
  const sparse = sparseByObject(event)
  for (const [i, id] of event.ids.entries()) {
    const ordinal = ordinals[i] as number
    const filter = event.filters[i] as string
    const record = { meta: event.metas[i] as Uint8Array, filter, sparse: sparse.get(i) ?? [] }
    const before = parts.objects.put(ordinal, id, record, lsnOf(i))
    const retired = before >= 0 ? retire(parts, before, version) : 0
    parts.filters.set(ordinal, indexedValues(filter))
    yield retired + filter.length + copyingWork(parts.objects.recordBytesAt(ordinal))
  }
}

async function remove(parts: ChangedParts, version: number, ids: readonly string[]): Promise<Prepared> {
  await ripen(parts, version)
  const touched = ids.filter((id) => parts.objects.find(id) >= 0)
  const removed = Uint32Array.from(touched, (id) => parts.objects.find(id))
  await Promise.all(parts.dense.map((field) => field?.apply(version, undefined, removed)))
  await Promise.all(
    parts.sparse.map((field, index) => field?.apply(version, undefined, keptRows(parts.objects, index, removed))),
  )
  return { touched, work: publishDelete(parts, version, touched) }
}

function* publishDelete(parts: ChangedParts, version: number, ids: readonly string[]): Generator<number, void> {
  for (const id of ids) yield retire(parts, parts.objects.remove(id), version)
}

function updateTexts(parts: ChangedParts, place: EventPlace, event: FiltersReplaced | ObjectsPatched): Prepared {
  const touched: string[] = []
  return { touched, work: publishTexts(parts, place, event, touched) }
}

function* publishTexts(
  parts: ChangedParts,
  { version, lsnOf }: EventPlace,
  event: FiltersReplaced | ObjectsPatched,
  touched: string[],
): Generator<number, void> {
  const records = new Map<number, EarlierRecord>()
  const letGo = parts.earlierRecords.keep({ version, records })
  let replacedBytes = 0
  for (const [i, id] of event.ids.entries()) {
    const ordinal = parts.objects.find(id)
    if (ordinal < 0) continue
    touched.push(id)
    const before = parts.objects.filterText(ordinal)
    const given = event.filters[i] as string
    const filter = event.kind === 'filters-replaced' ? withFilter(before, given) : given
    const meta = event.kind === 'objects-patched' ? event.metas[i] : undefined
    const metaBefore = meta && parts.objects.metaCopy(ordinal)
    if (!records.has(ordinal))
      records.set(ordinal, { filter: before, lsn: parts.objects.lsnAt(ordinal), meta: metaBefore })
    replacedBytes += before.length * 2 + (metaBefore?.length ?? 0)
    if (filter !== before) parts.filters.remove(ordinal, indexedValues(before))
    parts.objects.replaceText(ordinal, { filter, ...(meta && { meta }) }, lsnOf(i))
    if (filter !== before) parts.filters.set(ordinal, indexedValues(filter))
    yield before.length + filter.length + copyingWork(parts.objects.recordBytesAt(ordinal))
  }
  parts.window.replaced(version, records.size, replacedBytes)
  letGo(parts.pins)
}

/** Takes the expiry of every object that has one. Nobody reads the replica yet: the record follows those of an image. */
function* publishCleared(parts: ChangedParts): Generator<number, void> {
  for (const ordinal of parts.filters.expiredBy(Number.POSITIVE_INFINITY).bitmap.toOrdinals()) {
    const before = parts.objects.filterText(ordinal)
    const filter = filterIn(before)
    parts.filters.remove(ordinal, indexedValues(before))
    parts.objects.replaceText(ordinal, { filter }, parts.objects.lsnAt(ordinal))
    parts.filters.set(ordinal, indexedValues(filter))
    yield before.length + filter.length + copyingWork(parts.objects.recordBytesAt(ordinal))
  }
}

/** Hides the object of an ordinal from new searches; its memory stays for running ones. Returns the work that it took. */
function retire(parts: ChangedParts, ordinal: number, version: number): number {
  const filter = parts.objects.filterText(ordinal)
  parts.filters.remove(ordinal, indexedValues(filter))
  parts.ordinals.retire(ordinal, version)
  parts.window.died(ordinal, version)
  return filter.length + objectWork
}

async function ripen(parts: ChangedParts, version: number): Promise<void> {
  const ripe = parts.ordinals.ripeAt(version)
  if (ripe === 0) return
  // First, so that reads that begin meanwhile use the copies.
  const read = parts.window.release(parts.ordinals.ripening(version))
  await parts.pins.until(ripe)
  await read
  const freed = parts.ordinals.ripen(version)
  const ascending = Uint32Array.from(freed).sort()
  for (const [index, field] of parts.sparse.entries()) {
    if (field === undefined) continue
    const rows = keptRows(parts.objects, index, ascending)
    await field.purge(version, rows)
    // After the lists, which are found by the numbers of terms.
    if (parts.definition.fields[index]?.kind === 'text') await parts.terms.drop(rows.indices)
  }
  for (const ordinal of freed) {
    parts.objects.release(ordinal)
    for (const originals of parts.originals) originals?.release(ordinal)
  }
}

function copyingWork(bytes: number): number {
  return objectWork + bytes / copiedPerByte
}
