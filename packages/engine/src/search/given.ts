// The vectors of dense fields as they are returned: as the user gave them, and as a client sent them that sends unit vectors and lengths
// separately.
import type { DenseRow } from '../model/object.ts'
import { vectorForm } from '../model/vector-form.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { denseRow } from './returned-rows.ts'

/**
 * The vector of each ordinal in the dense field at `fieldIndex`, or undefined if it has none. Read from disk if the row in memory does not
 * reproduce it. The version must be pinned.
 */
export async function readGivenRows(
  replica: ReadableReplica,
  fieldIndex: number,
  ordinals: readonly number[],
  version: number,
): Promise<(DenseRow | undefined)[]> {
  const field = replica.dense[fieldIndex]
  if (field === undefined) return ordinals.map(() => undefined)
  const { spaceType } = field.definition.params
  // Read before waiting for the disk. A reused ordinal may still have the row of the previous object.
  const norms = ordinals.map((ordinal) => (field.has(ordinal, version) ? field.norm(ordinal) : undefined))
  const present = ordinals.filter((_, i) => norms[i] !== undefined)
  const read = (await replica.originals[fieldIndex]?.readGiven(present)) ?? []
  let next = 0
  return ordinals.map((ordinal, i) => {
    const norm = norms[i]
    if (norm === undefined) return undefined
    const { vector, form } = read[next++] ?? { vector: field.row(ordinal), form: vectorForm.unit }
    if (vector === undefined) return undefined
    return denseRow({ kept: vector, form, norm }, spaceType)
  })
}
