// Searches of a reader that are more than one search of one field by a vector: parses them as the owner does, and runs them on one pinned
// version. Loaded when it is first needed.
import { EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { Filter } from '../model/filter.ts'
import type { SearchRequest } from '../model/query.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { SearchResult } from '../model/search-result.ts'
import { filterKey } from '../replica/filter-key.ts'
import { parseSearch, type SearchPlanInput } from '../search/request.ts'
import type { SharedMatches } from '../sharing/messages.ts'
import { loadAnalyzers } from '../text/analyzers.ts'
import { comparerOf } from '../vector/dense/original-comparer.ts'
import { type PinnedState, runSearches } from './run-searches.ts'
import type { SharedFilters } from './shared-filters.ts'

/** Batches with more filters are left to the owner, which evaluates them. */
const filtersMax = 8

/** Checked searches that run together. */
export interface ParsedBatch {
  readonly definition: CollectionSchema
  readonly searches: readonly { readonly input: SearchPlanInput; readonly filter: number | undefined }[]
  /** Each once; searches have their positions. */
  readonly filters: readonly Filter[]
  /** Whether a query is the vector of a stored object. */
  readonly needsIds: boolean
}

/** Loads what searches of the collection need to be parsed. */
export async function prepareParsing({ fields }: CollectionSchema): Promise<void> {
  if (fields.some(({ kind }) => kind === 'text')) await loadAnalyzers()
}

/** Undefined: the owner refuses a search, or only the owner can run it. */
export function parseBatch(
  requests: readonly SearchRequest[],
  definition: CollectionSchema,
  limits: Limits,
): ParsedBatch | undefined {
  const inputs = parseSearches(requests, definition, limits)
  if (inputs === undefined || inputs.length === 0) return undefined
  const places = new Map<string, number>()
  const filters: Filter[] = []
  const searches = inputs.map((input, i) => {
    const { filter } = requests[i] as SearchRequest
    if (input.filter === undefined || filter === undefined) return { input, filter: undefined }
    const key = filterKey(filter)
    const known = places.get(key) ?? filters.push(filter) - 1
    places.set(key, known)
    return { input, filter: known }
  })
  if (filters.length > filtersMax) return undefined
  const needsIds = inputs.some(({ tasks }) => tasks.some(({ source }) => source.kind === 'stored'))
  return { definition, searches, filters, needsIds }
}

function parseSearches(
  requests: readonly SearchRequest[],
  definition: CollectionSchema,
  limits: Limits,
): readonly SearchPlanInput[] | undefined {
  try {
    return requests.map((request) => parseSearch(request, definition, limits))
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}

/** The matches of all filters. Undefined: some have to be fetched. They may be of an earlier version. */
export function cachedMatches({ filters }: ParsedBatch, known: SharedFilters): readonly SharedMatches[] | undefined {
  const matches = filters.map((filter) => known.find(filter)).filter((one) => one !== undefined)
  return matches.length < filters.length ? undefined : matches
}

/** `matches` are those of the filters, as of the pinned version. */
export function runBatch(
  { module, ...state }: Omit<PinnedState, 'comparer'> & { readonly module: WebAssembly.Module },
  { searches }: ParsedBatch,
  matches: readonly SharedMatches[],
  bytesMax: number,
): readonly SearchResult[] | 'again' | 'owner' {
  const pinned = searches.map(({ input, filter }) => ({
    input,
    matches: filter === undefined ? undefined : matches[filter],
  }))
  return runSearches({ ...state, comparer: comparerOf(module) }, pinned, bytesMax)
}
