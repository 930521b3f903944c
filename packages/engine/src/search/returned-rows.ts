// Vectors as they are returned, from what is kept of them, in the owner's thread and in a reader's.
import type { DenseRow } from '../model/object.ts'
import type { FieldSchema, SpaceType } from '../model/schema.ts'
import { givenVector, lengthOf, scaleToUnit, sentVector } from '../model/vector-form.ts'

/** What is kept of a vector of a dense field. */
export interface KeptVector {
  readonly kept: Float32Array
  /** Its `vectorForm`. */
  readonly form: number
  readonly norm: number
}

/** A vector of a dense field. */
export function denseRow(vector: KeptVector, spaceType: SpaceType): DenseRow {
  const { kept, norm } = vector
  return spaceType === 'cosine' ? new CosineRow(vector) : { row: kept, norm, vector: kept }
}

/** Splits the members of an object in a multi-vector field, as they are kept, into separate rows. */
export function memberRows(members: Float32Array, field: FieldSchema | undefined): DenseRow[] {
  if (field?.kind !== 'multi') return []
  const { dimension, spaceType } = field.params
  return Array.from({ length: members.length / dimension }, (_, i) => {
    const vector = members.subarray(i * dimension, (i + 1) * dimension)
    const norm = lengthOf(vector)
    if (spaceType !== 'cosine') return { row: vector, norm, vector }
    const row = vector.slice()
    scaleToUnit(vector, norm, row, 0)
    return { row, norm, vector }
  })
}

/** Both vectors are computed on access, because few readers need both. */
class CosineRow implements DenseRow {
  readonly norm: number
  readonly #kept: Float32Array
  readonly #form: number

  constructor({ kept, form, norm }: KeptVector) {
    this.norm = norm
    this.#kept = kept
    this.#form = form
  }

  get row(): Float32Array {
    return sentVector(this.#kept, this.#form)
  }

  get vector(): Float32Array {
    return givenVector(this.#kept, this.norm, this.#form)
  }
}
