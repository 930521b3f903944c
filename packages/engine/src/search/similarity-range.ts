// The range of the similarities of a space. Estimates from codes of few bits can be outside of it. They are clamped where hits are returned and not
// before: rescoring learns from them how large errors are.
import { isCoarse } from '../model/choices.ts'
import type { DenseSchemaParams } from '../model/schema.ts'

export interface SimilarityRange {
  readonly lowest: number
  readonly highest: number
}

export const anySimilarity: SimilarityRange = { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }
const distances: SimilarityRange = { lowest: Number.NEGATIVE_INFINITY, highest: 0 }
const cosines: SimilarityRange = { lowest: -1, highest: 1 }

/** The range to which estimates of a field are clamped. */
export function similarityRangeOf({ precision, spaceType }: DenseSchemaParams): SimilarityRange {
  if (!isCoarse(precision) || spaceType === 'ip') return anySimilarity
  return spaceType === 'l2' ? distances : cosines
}

export function clampSimilarity(similarity: number, { lowest, highest }: SimilarityRange): number {
  return Math.max(lowest, Math.min(highest, similarity))
}

/** Clamps all of them in place. */
export function clampSimilarities(similarities: Float32Array, range: SimilarityRange): void {
  if (range === anySimilarity) return
  for (const [i, similarity] of similarities.entries()) similarities[i] = clampSimilarity(similarity, range)
}
