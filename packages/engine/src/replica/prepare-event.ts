// Applies an event to the parts of a replica: first its rows to the fields, which nobody sees yet, then its ids, records, and filter values
// in steps, after which the version is published (publication.ts).
import type { FiltersReplaced, ObjectEvent, ObjectsDeleted, ObjectsUpserted } from '../events/event.ts'
import type { FilterIndex } from '../filter/filter-index.ts'
import { parseFilterValues } from '../filter/values.ts'
import type { JsonObject } from '../model/json.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { DenseField, SparseField } from '../vector/field.ts'
import { type AddedVectors, addedVectors, keptOriginals } from './dense-rows.ts'
import type { EarlierFilters } from './earlier-filters.ts'
import type { ObjectStore } from './object-store.ts'
import type { Ordinals } from './ordinals.ts'
import type { Originals } from './originals.ts'
import type { Pins } from './pins.ts'
import { addedRows, keptRows, sparseByObject } from './sparse-rows.ts'

/** The parts of a replica that events change. */
export interface ChangedParts {
  readonly definition: CollectionSchema
  readonly objects: ObjectStore
  readonly filters: FilterIndex
  readonly earlierFilters: EarlierFilters
  /** One for each field of the definition, with the pooled vectors of a multi-vector field; undefined for sparse fields. */
  readonly dense: readonly (DenseField | undefined)[]
  /** One for each field of the definition; undefined for those with a graph. */
  readonly sparse: readonly (SparseField | undefined)[]
  /** One for each field of the definition; undefined if the field itself keeps every bit, or if none are kept. */
  readonly originals: readonly (Originals | undefined)[]
  readonly ordinals: Ordinals
  readonly pins: Pins
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

/** Applies an event to the fields. `version` is the one that it leads to. */
export function prepareEvent(parts: ChangedParts, version: number, event: ObjectEvent): Promise<Prepared> | Prepared {
  switch (event.kind) {
    case 'objects-upserted':
      return upsert(parts, version, event)
    case 'objects-deleted':
      return remove(parts, version, event)
    case 'filters-replaced':
      return updateFilters(parts, version, event)
    case 'fields-changed':
      return { touched: [], work: noWork() }
  }
}

function* noWork(): Generator<number, void> {
  yield* []
}

async function upsert(parts: ChangedParts, version: number, event: ObjectsUpserted): Promise<Prepared> {
  await ripen(parts, version)
  const ordinals = parts.ordinals.take(event.ids.length)
  const added: (AddedVectors | undefined)[] = []
  for (const [index, field] of parts.definition.fields.entries())
    added.push(await addedVectors(event, index, field, ordinals))
  const kept = parts.originals.map((originals, index) => originals && keptOriginals(added[index], originals.owner))
  // A replay has not reserved memory yet; a live write has.
  for (const [index, originals] of parts.originals.entries()) {
    const rows = kept[index]?.rows ?? 0
    if (originals && !originals.hasRoom(rows)) await originals.prepare(rows)
  }
  const replaced = Uint32Array.from(event.ids.map((id) => parts.objects.find(id)).filter((ordinal) => ordinal >= 0))
  await Promise.all(
    parts.dense.map((field, index) => {
      const appended =
        kept[index] && parts.originals[index]?.append(kept[index].ordinals, kept[index].vectors, kept[index])
      return Promise.all([appended, field?.apply(version, added[index]?.rows, replaced)])
    }),
  )
  await Promise.all(
    parts.sparse.map((field, index) =>
      field?.apply(version, addedRows(event, index, ordinals), keptRows(parts.objects, index, replaced)),
    ),
  )
  return { touched: event.ids, work: publishUpsert(parts, version, event, ordinals) }
}

function* publishUpsert(
  parts: ChangedParts,
  version: number,
  event: ObjectsUpserted,
  ordinals: Uint32Array,
): Generator<number, void> {
  const sparse = sparseByObject(event)
  for (const [i, id] of event.ids.entries()) {
    const ordinal = ordinals[i] as number
    const filter = event.filters[i] as string
    const record = { meta: event.metas[i] as Uint8Array, filter, sparse: sparse.get(i) ?? [] }
    const before = parts.objects.put(ordinal, id, record)
    const retired = before >= 0 ? retire(parts, before, version) : 0
    parts.filters.set(ordinal, filterValues(filter))
    yield retired + filter.length + copyingWork(parts.objects.recordBytesAt(ordinal))
  }
}

async function remove(parts: ChangedParts, version: number, event: ObjectsDeleted): Promise<Prepared> {
  await ripen(parts, version)
  const touched = event.ids.filter((id) => parts.objects.find(id) >= 0)
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

function updateFilters(parts: ChangedParts, version: number, event: FiltersReplaced): Prepared {
  const touched: string[] = []
  return { touched, work: publishFilters(parts, version, event, touched) }
}

function* publishFilters(
  parts: ChangedParts,
  version: number,
  event: FiltersReplaced,
  touched: string[],
): Generator<number, void> {
  const texts = new Map<number, string>()
  const letGo = parts.earlierFilters.keep({ version, texts })
  for (const [i, id] of event.ids.entries()) {
    const ordinal = parts.objects.find(id)
    if (ordinal < 0) continue
    touched.push(id)
    const [before, filter] = [parts.objects.filterText(ordinal), event.filters[i] as string]
    if (!texts.has(ordinal)) texts.set(ordinal, before)
    parts.filters.remove(ordinal, filterValues(before))
    parts.objects.replaceFilter(ordinal, filter)
    parts.filters.set(ordinal, filterValues(filter))
    yield before.length + filter.length + copyingWork(parts.objects.recordBytesAt(ordinal))
  }
  letGo(parts.pins)
}

/** Hides the object of an ordinal from new searches; its memory stays for running ones. Returns the work that it took. */
function retire(parts: ChangedParts, ordinal: number, version: number): number {
  const filter = parts.objects.filterText(ordinal)
  parts.filters.remove(ordinal, filterValues(filter))
  parts.ordinals.retire(ordinal, version)
  return filter.length + objectWork
}

async function ripen(parts: ChangedParts, version: number): Promise<void> {
  const ripe = parts.ordinals.ripeAt(version)
  if (ripe === 0) return
  await parts.pins.until(ripe)
  const freed = parts.ordinals.ripen(version)
  const ascending = Uint32Array.from(freed).sort()
  for (const [index, field] of parts.sparse.entries())
    await field?.purge(version, keptRows(parts.objects, index, ascending))
  for (const ordinal of freed) {
    parts.objects.release(ordinal)
    for (const originals of parts.originals) originals?.release(ordinal)
  }
}

function copyingWork(bytes: number): number {
  return objectWork + bytes / copiedPerByte
}

function filterValues(text: string): JsonObject {
  return text === '' ? {} : parseFilterValues(text).values
}
