// Prepares the vectors of an upsert for a field with a graph: the rows that are linked, and the vectors as given.
import { yieldToOthers } from '@annal/wal'
import { pooled } from '../input/pooling.ts'
import type { DenseColumn, MultiColumn, ObjectsUpserted } from '../model/event.ts'
import type { FieldSchema } from '../model/schema.ts'
import { comparedVector, vectorForm } from '../model/vector-form.ts'
import type { OriginalsOwner } from '../originals/originals-owner.ts'
import type { DenseRows } from '../vector/field.ts'

/** Numbers normalized in one turn of the event loop. Does not affect the result. */
const turnNumbers = 1_048_576

/** The rows that a field links, and the originals that it keeps. */
export interface AddedVectors {
  readonly rows: DenseRows
  readonly originals: AddedOriginals
}

/** Original vectors that a field keeps, with the ordinals of their objects. */
export interface AddedOriginals {
  readonly ordinals: Uint32Array
  /** Row-major. */
  readonly vectors: Float32Array
  readonly rows: number
  /** Number of vectors of each ordinal, if there can be several. */
  readonly counts?: Uint32Array
  /** A `vectorForm` for each vector; absent if all are `unit`. */
  readonly forms?: Uint8Array
}

/** The vectors that an upsert adds to a field. `ordinals` are those of the event's objects. */
export async function addedVectors(
  event: Pick<ObjectsUpserted, 'dense' | 'multi'>,
  fieldIndex: number,
  field: FieldSchema,
  ordinals: Uint32Array,
): Promise<AddedVectors | undefined> {
  if (field.kind === 'multi') {
    const column = event.multi.find((candidate) => candidate.field === fieldIndex)
    if (column === undefined) return undefined
    const { counts, vectors } = column
    const rows = pooledRows(column, field.params, ordinalsOf(column.objects, ordinals))
    return {
      rows,
      originals: { ordinals: rows.ordinals, vectors, counts, rows: vectors.length / field.params.dimension },
    }
  }
  const column = event.dense.find((candidate) => candidate.field === fieldIndex)
  if (column === undefined) return undefined
  const { vectors, norms, forms } = column
  const added = ordinalsOf(column.objects, ordinals)
  return {
    rows: { ordinals: added, vectors: await comparedRows(column), norms },
    originals: { ordinals: added, vectors, rows: added.length, ...(forms && { forms }) },
  }
}

/** The vectors that a field keeps on disk; undefined if there are none. */
export function keptOriginals(
  added: AddedVectors | undefined,
  { isPartial, dimension }: OriginalsOwner,
): AddedOriginals | undefined {
  if (added === undefined) return undefined
  const { originals } = added
  if (!isPartial) return originals
  const { forms, vectors, ordinals } = originals
  const kept = [...(forms ?? []).keys()].filter((i) => forms?.[i] !== vectorForm.unit)
  if (forms === undefined || kept.length === 0) return undefined
  if (kept.length === ordinals.length) return originals
  const some = new Float32Array(kept.length * dimension)
  for (const [row, i] of kept.entries()) some.set(vectors.subarray(i * dimension, (i + 1) * dimension), row * dimension)
  return {
    ordinals: Uint32Array.from(kept, (i) => ordinals[i] as number),
    vectors: some,
    rows: kept.length,
    forms: Uint8Array.from(kept, (i) => forms[i] as number),
  }
}

/** The vectors as the field compares them. */
async function comparedRows({ vectors, forms, objects }: DenseColumn): Promise<Float32Array> {
  if (forms === undefined) return vectors
  const rows = vectors.slice()
  const dimension = vectors.length / objects.length
  for (let i = 0, numbers = 0; i < objects.length; i++) {
    const form = forms[i] as number
    if (form === vectorForm.unit) continue
    rows.set(comparedVector(vectors.subarray(i * dimension, (i + 1) * dimension), form), i * dimension)
    numbers += dimension
    if (numbers < turnNumbers) continue
    numbers = 0
    await yieldToOthers()
  }
  return rows
}

function ordinalsOf(objects: Uint32Array, ordinals: Uint32Array): Uint32Array {
  return objects.map((object) => ordinals[object] as number)
}

function pooledRows(
  { counts, vectors: members }: MultiColumn,
  params: Extract<FieldSchema, { kind: 'multi' }>['params'],
  ordinals: Uint32Array,
): DenseRows {
  const { dimension } = params
  const vectors = new Float32Array(ordinals.length * dimension)
  const norms = new Float32Array(ordinals.length)
  let offset = 0
  counts.forEach((count, i) => {
    const end = offset + count * dimension
    const { vector, norm } = pooled(members.subarray(offset, end), params)
    vectors.set(vector, i * dimension)
    norms[i] = norm
    offset = end
  })
  return { ordinals, vectors, norms }
}
