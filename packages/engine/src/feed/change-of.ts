// Turns an event of the log into the change that consumers of the feed get.

import type { Filter } from '../filter/condition.ts'
import { storedValues } from '../filter/indexed-values.ts'
import { matchesValues } from '../filter/matches-values.ts'
import type { ChangedObject, ChangedValue, ChangeKind, RecordedChange } from '../model/changes.ts'
import type { Event, ObjectsUpserted } from '../model/event.ts'
import { decodeMeta } from '../model/packed-meta.ts'
import { splitText } from '../model/stored-text.ts'
import { denseRow } from '../search/returned-rows.ts'
import type { FedCollection } from './collection-facts.ts'

/** The form in which a consumer wants changes. */
export interface ChangeForm {
  readonly filter: Filter | undefined
  readonly includeVectors: boolean
}

type Written = Extract<Event, { readonly filters: readonly string[] }>

/** The change of an event of this collection. */
export function changeOf(lsn: number, event: Event, collection: FedCollection, form: ChangeForm): RecordedChange {
  const { timeMs } = event
  // Events of databases and tokens are about no collection, so none of them comes here.
  const head = { kind: event.kind as ChangeKind, lsn, timeMs, collection: collection.name }
  if ('filters' in event) {
    const written = writtenObjects(event, collection, form)
    if (event.kind !== 'objects-restored') return { ...head, ...written }
    if (form.filter === undefined) return { ...head, ...written, deleted: event.deleted }
    return { ...head, ...written, left: [...(written.left ?? []), ...event.deleted] }
  }
  if (event.kind === 'alias-put' || event.kind === 'alias-dropped') return { ...head, alias: event.name }
  if (event.kind === 'collection-promoted') return { ...head, keptAs: event.keptAs }
  if (!('ids' in event)) return head
  return form.filter === undefined ? { ...head, deleted: event.ids } : { ...head, left: event.ids }
}

function writtenObjects(
  event: Written,
  collection: FedCollection,
  { filter, includeVectors }: ChangeForm,
): Pick<RecordedChange, 'objects' | 'left'> {
  const metas = 'metas' in event ? event.metas : undefined
  const vectors = includeVectors && 'dense' in event ? vectorsOf(event, collection) : undefined
  const objects: ChangedObject[] = []
  const left: string[] = []
  for (const [i, id] of event.ids.entries()) {
    const text = event.filters[i] ?? ''
    const values = storedValues(text)
    const { expiresAt } = splitText(text)
    if (filter !== undefined && !matchesValues(filter, values)) {
      left.push(id)
      continue
    }
    const meta = metas && decodeMeta(metas[i] as Uint8Array)
    const fields = vectors?.[i]
    objects.push({
      id,
      ...(meta && { meta }),
      filter: values,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(fields && { fields }),
    })
  }
  return { objects, ...(filter !== undefined && { left }) }
}

/** The vectors and texts of each object, by field. */
function vectorsOf(
  { ids, dense, sparse, multi, text }: Pick<ObjectsUpserted, 'ids' | 'dense' | 'sparse' | 'multi' | 'text'>,
  { fields }: FedCollection,
): Readonly<Record<string, ChangedValue>>[] {
  const values: Record<string, ChangedValue>[] = ids.map(() => ({}))
  const put = (object: number, field: number, value: ChangedValue) => {
    const name = fields[field]?.name
    if (name !== undefined) Object.defineProperty(values[object], name, { value, enumerable: true })
  }
  for (const { field, objects, vectors, norms, forms } of dense) {
    const schema = fields[field]
    if (schema?.kind !== 'dense') continue
    const { dimension, spaceType } = schema.params
    for (const [row, object] of objects.entries()) {
      const kept = vectors.subarray(row * dimension, (row + 1) * dimension)
      const norm = norms[row] ?? 1
      put(object, field, denseRow({ kept, form: forms?.[row] ?? 0, norm }, spaceType).vector)
    }
  }
  for (const column of sparse) {
    let from = 0
    for (const [row, object] of column.objects.entries()) {
      const to = from + (column.counts[row] ?? 0)
      put(object, column.field, {
        indices: column.indices.subarray(from, to),
        values: column.values.subarray(from, to),
      })
      from = to
    }
  }
  for (const { field, objects, texts } of text)
    for (const [row, object] of objects.entries()) put(object, field, texts[row] as string)
  for (const { field, objects, counts, vectors } of multi) {
    const schema = fields[field]
    if (schema?.kind !== 'multi') continue
    const { dimension } = schema.params
    let from = 0
    for (const [row, object] of objects.entries()) {
      const count = counts[row] ?? 0
      const at = (member: number) => (from + member) * dimension
      put(
        object,
        field,
        Array.from({ length: count }, (_, member) => vectors.subarray(at(member), at(member + 1))),
      )
      from += count
    }
  }
  return values
}
