// The objects that a collection stores and returns: id, meta, filter values and one value per field.
import type * as model from './model.ts'
import type { Fields, FieldType, JsonObject, PlainFieldValues, ReadObject, SparseRow, VectorRow } from './model.ts'

/** The numbers of a dense field, the terms of a sparse field, or the vectors of a multi-vector field. */
export type FieldValue<Type extends FieldType = FieldType> = PlainFieldValues[Type]

/** An object to store. It replaces the whole object with the same id. Vectors are the originals, not normalized. */
export type ObjectInput<
  F extends Fields = Fields,
  Meta extends object | undefined = JsonObject | undefined,
> = model.ObjectInput<F, Meta, PlainFieldValues>

/** The result for each object of a write, in the order of the call; only if an object had a condition, or the call was atomic, or for a patch. */
export type ObjectResults = Pick<model.ConditionalReply, 'results'>

/** @deprecated Use ObjectInput. */
export type ObjectRecord = ObjectInput

/** Metadata that is not a JSON object. */
export interface RawMeta {
  /** Only if the stored metadata is not a JSON object: its bytes. Then `meta` is undefined. */
  readonly metaBytes?: Uint8Array | undefined
}

/** Tells JSON from other bytes. Empty metadata counts as none. */
export function splitMeta(meta: JsonObject | Uint8Array): RawMeta & { readonly meta: JsonObject | undefined } {
  if (!(meta instanceof Uint8Array)) return { meta: Object.keys(meta).length === 0 ? undefined : meta }
  return meta.length === 0 ? { meta: undefined } : { meta: undefined, metaBytes: meta }
}

/** A stored object. Empty metadata counts as none. */
export interface StoredObject<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined>
  extends ReadObject<F, Meta, VectorRow>,
    RawMeta {}

/** @deprecated Use VectorRow. */
export type StoredDense = VectorRow

/** @deprecated Use SparseRow. */
export type StoredSparse = SparseRow
