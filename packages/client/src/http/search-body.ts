// The JSON body of a search.

import type { Query } from '../record.ts'
import { jsonText } from './json-text.ts'
import { checkNumbers, checkSparse } from './vector.ts'

/** JSON.stringify omits undefined members, and the server uses its defaults. */
export function searchBody(query: Query): unknown {
  const { vector, sparse, filter } = query
  if (vector !== undefined) checkNumbers(vector, 'vector')
  if (sparse !== undefined) checkSparse(sparse, 'sparse')
  return {
    k: query.topK ?? 10,
    ef: query.ef,
    include_vectors: query.includeVectors,
    vector: vector && Array.from(vector),
    sparse_indices: sparse && Array.from(sparse.indices),
    sparse_values: sparse && Array.from(sparse.values),
    filter: filter && jsonText(filter, 'filter'),
    filter_params: filterParameters(query),
  }
}

function filterParameters(query: Query): unknown {
  const { prefilterCardinalityThreshold: threshold, filterBoostPercentage: boost } = query
  if (threshold === undefined && boost === undefined) return undefined
  return { prefilter_threshold: threshold, boost_percentage: boost }
}
