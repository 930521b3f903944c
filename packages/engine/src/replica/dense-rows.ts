// What an upsert gives to a field that has a graph: the rows that are linked, and the vectors as they came.

import type { MultiColumn, ObjectsUpserted } from '../events/event.ts'
import { pooled } from '../input/pooling.ts'
import type { FieldSchema } from '../model/schema.ts'
import type { DenseRows } from '../vector/field.ts'

export interface AddedVectors {
  readonly rows: DenseRows
  readonly originals: {
    readonly ordinals: Uint32Array
    /** Row-major. */
    readonly vectors: Float32Array
    readonly rows: number
    /** Vectors of each ordinal, where there may be several. */
    readonly counts?: Uint32Array
  }
}

/** `ordinals` are those of the event's objects. */
export function addedVectors(
  event: ObjectsUpserted,
  at: number,
  field: FieldSchema,
  ordinals: Uint32Array,
): AddedVectors | undefined {
  if (field.kind === 'multi') {
    const column = event.multi.find((candidate) => candidate.field === at)
    if (column === undefined) return undefined
    const { counts, vectors } = column
    const rows = pooledRows(column, field.params, ordinalsOf(column.objects, ordinals))
    return {
      rows,
      originals: { ordinals: rows.ordinals, vectors, counts, rows: vectors.length / field.params.dimension },
    }
  }
  const column = event.dense.find((candidate) => candidate.field === at)
  if (column === undefined) return undefined
  const { vectors, norms } = column
  const rows = { ordinals: ordinalsOf(column.objects, ordinals), vectors, norms }
  return { rows, originals: { ordinals: rows.ordinals, vectors, rows: rows.ordinals.length } }
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
  let at = 0
  counts.forEach((count, i) => {
    const end = at + count * dimension
    const { vector, norm } = pooled(members.subarray(at, end), params)
    vectors.set(vector, i * dimension)
    norms[i] = norm
    at = end
  })
  return { ordinals, vectors, norms }
}
