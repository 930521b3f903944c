// The options of a search besides its queries: the filter and how it is evaluated. They are the same in /api/v1 and /api/v2.
import { type Filter, filterBoostMax, type SearchRequest } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { type Infer, optionalBoolean, optionalInteger } from './schema.ts'

/** Recent published servers accept a threshold up to this value. The engine limits it. */
const thresholdMax = 1_000_000_000

const threshold = () =>
  optionalInteger({ minimum: 0, maximum: thresholdMax }, 'Up to this many matches are compared exactly.')
const boost = () =>
  optionalInteger(
    { minimum: 0, maximum: filterBoostMax },
    'Number of additional candidates of filtered walks, in percent.',
  )

/** Properties of the body of a search. Published clients send `filter_params`; both of its keys also have a long name. */
export const tuningProperties = {
  filter_params: Type.Optional(Type.Object({ prefilter_threshold: threshold(), boost_percentage: boost() })),
  prefilter_cardinality_threshold: threshold(),
  filter_boost_percentage: boost(),
  include_vectors: optionalBoolean('Adds the stored vector to every result.'),
  rescore: optionalBoolean(
    'Orders the best candidates by their original vectors, read from disk; for precisions other than float32. Default: true for fields of binary, int2, and int4; others do it if rows near the query differ by less than the errors of their codes. false never reads the disk.',
  ),
  exact: optionalBoolean(
    'Compares the original vector of every match: the exact result that approximate results are measured against.',
  ),
  explain: optionalBoolean('Adds the plan of the search and its cost to a JSON reply.'),
}
const tuningBody = Type.Object(tuningProperties)

/** Reads these options from the body of a search. */
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
