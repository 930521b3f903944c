// The JSON body of a search.
import type { SpaceType } from '../definition.ts'
import type { Query } from '../record.ts'
import { checkSparse, lengthOf } from './vector.ts'

/** Members left undefined are left out by JSON.stringify, and the server's defaults hold. */
export function searchBody(query: Query, space: SpaceType): unknown {
  const { sparse, filter } = query
  if (sparse !== undefined) checkSparse(sparse, 'sparse')
  return {
    k: query.topK ?? 10,
    ef: query.ef,
    include_vectors: query.includeVectors,
    vector: query.vector === undefined ? undefined : direction(query.vector, space),
    sparse_indices: sparse && Array.from(sparse.indices),
    sparse_values: sparse && Array.from(sparse.values),
    filter: filter && JSON.stringify(filter),
    filter_params: filterParameters(query),
  }
}

/** In a cosine space only the direction counts, and the wire wants it of length 1. */
function direction(vector: ArrayLike<number>, space: SpaceType): number[] {
  const length = lengthOf(vector, space, 'vector')
  return Array.from(vector, (value) => value / length)
}

function filterParameters(query: Query): unknown {
  const { prefilterCardinalityThreshold: threshold, filterBoostPercentage: boost } = query
  if (threshold === undefined && boost === undefined) return undefined
  return { prefilter_threshold: threshold, boost_percentage: boost }
}
