// The fields of a collection that /api/v1 can express: one dense field, and at most one sparse field.
import type { FieldSchema } from '@annal/engine'

/** The names of the fields. */
export interface IndexFields {
  readonly denseField: string
  /** Empty, which is not the name of a field, if there is none. */
  readonly sparseField: string
}

/** Undefined for a collection that /api/v1 cannot express. */
export function fieldsOfIndex<F extends FieldSchema>(
  fields: readonly F[],
):
  | { readonly dense: Extract<F, { kind: 'dense' }>; readonly sparse: Extract<F, { kind: 'sparse' }> | undefined }
  | undefined {
  const dense = fields.find((field): field is Extract<F, { kind: 'dense' }> => field.kind === 'dense')
  const sparse = fields.find((field): field is Extract<F, { kind: 'sparse' }> => field.kind === 'sparse')
  if (dense === undefined || fields.some((field) => field !== dense && field !== sparse)) return undefined
  return { dense, sparse }
}

/** The names of fields that `fieldsOfIndex` returned. */
export function namesOf(found: {
  readonly dense: { readonly name: string }
  readonly sparse: { readonly name: string } | undefined
}): IndexFields {
  // No field has an empty name, so this cannot collide with a dense field named `sparse`.
  return { denseField: found.dense.name, sparseField: found.sparse?.name ?? '' }
}
