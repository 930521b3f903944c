// What a search may say besides its queries: the filter and how it is answered. The same in /api/v1 and /api/v2.
import { type Filter, filterBoostMax, type SearchRequest } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { type Infer, optionalBoolean, optionalInteger } from './schema.ts'

/** New servers of the v1 family take any threshold up to this; the engine decides. */
const thresholdMax = 1_000_000_000

const threshold = () =>
  optionalInteger({ minimum: 0, maximum: thresholdMax }, 'Up to this many matches are compared exactly.')
const boost = () =>
  optionalInteger(
    { minimum: 0, maximum: filterBoostMax },
    'Number of additional candidates of filtered walks, in percent.',
  )

/** Properties of the body of a search. Published clients send `filter_params`; the two keys also go by their long names. */
export const tuningProperties = {
  filter_params: Type.Optional(Type.Object({ prefilter_threshold: threshold(), boost_percentage: boost() })),
  prefilter_cardinality_threshold: threshold(),
  filter_boost_percentage: boost(),
  include_vectors: optionalBoolean('Adds the stored vector to every result.'),
  rescore: optionalBoolean(
    'Orders the best candidates by their original vectors, read from disk; for precisions other than float32. Default: true for binary fields, false for others.',
  ),
  exact: optionalBoolean(
    'Compares the original vector of every match: the exact result that approximate results are measured against.',
  ),
  explain: optionalBoolean('Adds the plan of the search and its cost to a JSON reply.'),
}
const tuningBody = Type.Object(tuningProperties)

export function readTuning(
  body: Infer<typeof tuningBody>,
  filter: Filter | undefined,
): Omit<SearchRequest, 'fields' | 'fusion'> {
  const prefilterThreshold = body.prefilter_cardinality_threshold ?? body.filter_params?.prefilter_threshold
  const boostPercentage = body.filter_boost_percentage ?? body.filter_params?.boost_percentage
  return {
    ...(filter && { filter }),
    ...(prefilterThreshold == null ? {} : { prefilterCardinalityThreshold: prefilterThreshold }),
    ...(boostPercentage == null ? {} : { filterBoostPercentage: boostPercentage }),
    ...(body.rescore == null ? {} : { rescore: body.rescore }),
    includeVectors: body.include_vectors ?? false,
    exact: body.exact ?? false,
    explain: body.explain ?? false,
  }
}
