// The vectors of dense fields as they are returned: as they were given, and as a client that takes lengths out of vectors sent them.
import type { DenseRow } from '../model/object.ts'
import { givenVector, sentVector, vectorForm } from '../model/vector-form.ts'
import type { Replica } from '../replica/replica.ts'

/**
 * What each ordinal has in the dense field at a position, from disk where the rows in memory do not give it back; undefined where it
 * has nothing. The version must be pinned.
 */
export async function givenRows(
  replica: Replica,
  fieldIndex: number,
  ordinals: readonly number[],
  version: number,
): Promise<(DenseRow | undefined)[]> {
  const field = replica.dense[fieldIndex]
  if (field === undefined) return ordinals.map(() => undefined)
  const isCosine = field.definition.params.spaceType === 'cosine'
  // Taken before the disk is waited for. An ordinal used again may still have the row of the object before.
  const norms = ordinals.map((ordinal) => (field.has(ordinal, version) ? field.norm(ordinal) : undefined))
  const having = ordinals.filter((_, i) => norms[i] !== undefined)
  const read = (await replica.originals[fieldIndex]?.readGiven(having)) ?? []
  let next = 0
  return ordinals.map((ordinal, i) => {
    const norm = norms[i]
    if (norm === undefined) return undefined
    const { vector, form } = read[next++] ?? { vector: field.row(ordinal), form: vectorForm.unit }
    if (vector === undefined) return undefined
    return isCosine ? new CosineRow(vector, form, norm) : { row: vector, norm, vector }
  })
}

/** Both vectors are made when they are read: few readers want both. */
class CosineRow implements DenseRow {
  readonly norm: number
  readonly #kept: Float32Array
  readonly #form: number

  constructor(kept: Float32Array, form: number, norm: number) {
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
