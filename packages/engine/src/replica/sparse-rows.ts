// Converts the sparse terms of objects to the forms that records and fields take.
import type { ObjectsUpserted } from '../model/event.ts'
import type { SparseRows } from '../vector/field.ts'
import type { SparseTermsOfField } from './object-record.ts'
import type { ObjectStore } from './object-store.ts'
import type { TextRows } from './text-terms.ts'

/** The terms and texts of each object of an upsert, by position, as its record keeps them. */
export function sparseByObject(
  event: Pick<ObjectsUpserted, 'sparse'> & { readonly texts: ReadonlyMap<number, TextRows> },
): Map<number, SparseTermsOfField[]> {
  const found = new Map<number, SparseTermsOfField[]>()
  for (const { field, objects, counts, indices, values } of event.sparse) {
    let offset = 0
    objects.forEach((object, i) => {
      const end = offset + (counts[i] as number)
      const terms = { field, indices: indices.subarray(offset, end), values: values.subarray(offset, end) }
      found.set(object, [...(found.get(object) ?? []), terms])
      offset = end
    })
  }
  for (const { terms } of event.texts.values())
    for (const [object, entry] of terms) found.set(object, [...(found.get(object) ?? []), entry])
  return found
}

/** The rows that an upsert adds to one field. `ordinals` are those of its objects, ascending. */
export function addedRows(
  event: Pick<ObjectsUpserted, 'sparse'>,
  field: number,
  ordinals: Uint32Array,
): SparseRows | undefined {
  const column = event.sparse.find((candidate) => candidate.field === field)
  if (column === undefined) return undefined
  const { objects, counts, indices, values } = column
  return {
    ordinals: Uint32Array.from(objects, (object) => ordinals[object] as number),
    counts: Uint32Array.from(counts),
    indices,
    values,
  }
}

/** The rows of objects in one field, from their records. */
export function keptRows(objects: Pick<ObjectStore, 'sparse'>, field: number, ordinals: Uint32Array): SparseRows {
  const rows = [...ordinals].flatMap((ordinal) => {
    const terms = objects.sparse(ordinal).find((candidate) => candidate.field === field)
    return terms === undefined ? [] : [{ ordinal, ...terms }]
  })
  const total = rows.reduce((sum, { indices }) => sum + indices.length, 0)
  const indices = new Uint32Array(total)
  const values = new Float32Array(total)
  let offset = 0
  for (const row of rows) {
    indices.set(row.indices, offset)
    values.set(row.values, offset)
    offset += row.indices.length
  }
  return {
    ordinals: Uint32Array.from(rows, ({ ordinal }) => ordinal),
    counts: Uint32Array.from(rows, (row) => row.indices.length),
    indices,
    values,
  }
}
