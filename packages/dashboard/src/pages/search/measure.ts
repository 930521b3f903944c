// What the number of a hit is, so that nobody takes a distance for a similarity.
import { type Field, hasGraph, isText } from '../../api/collections.ts'
import type { SearchBody } from '../../api/search.ts'

export interface Measure {
  readonly name: string
  /** Whether lower is nearer: the number is the distance that the server reports, not its negative similarity. */
  readonly isDistance: boolean
}

const ofSpaces: { readonly [space: string]: Measure } = {
  cosine: { name: 'Cosine similarity', isDistance: false },
  ip: { name: 'Inner product', isDistance: false },
  l2: { name: 'Squared distance', isDistance: true },
}

export function measureOf(field: Field | undefined): Measure {
  if (field === undefined) return { name: 'Similarity', isDistance: false }
  if (isText(field)) return { name: 'BM25 score', isDistance: false }
  if (!hasGraph(field)) return { name: 'Dot product', isDistance: false }
  const measure = ofSpaces[field.params.space_type] ?? { name: 'Similarity', isDistance: false }
  if (field.type !== 'multi_vector') return measure
  // Each vector of the query counts with its best member (docs/reference/search.md).
  return { ...measure, name: `Mean of the best: ${measure.name.toLowerCase()}` }
}

export function fusedMeasure(body: SearchBody | undefined): Measure {
  return { name: body?.fusion?.method === 'relative_score' ? 'Fused scores' : 'Fused ranks', isDistance: false }
}

/** The number as it is shown. The server orders by similarity, which is the negative of the distance. */
export function shownOf(similarity: number, { isDistance }: Measure): number {
  return isDistance ? 0 - similarity : similarity
}
