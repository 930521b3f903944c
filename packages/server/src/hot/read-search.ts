// Reads the bodies of searches. It knows the same keys as the schemas of the routes (wire/v1-search.ts, wire/v2-search.ts) and gives them the
// same meaning. For everything else, including errors, it returns undefined. hot-routes.test.ts compares both.
import type { SearchRequest } from '@annal/engine'
import { searchesMax, topKDefault, writtenOverheadBytes } from '@annal/engine/reader'
import { largeReplyBytes } from '../limits.ts'
import { fieldsOfIndex, namesOf } from '../wire/index-fields.ts'
import type { BodyCursor } from './body-cursor.ts'
import { readKeys } from './read-keys.ts'
import { type Draft, type FieldDraft, type HotSearch, requestOf, type SearchContext, searchOf } from './search-draft.ts'
import { collectionKeys, indexKeys } from './search-keys.ts'

/** Reads a body of /api/v1. */
export function readIndexSearch(cursor: BodyCursor, context: SearchContext): HotSearch | undefined {
  const draft: Draft = { context, fields: [] }
  const { outside } = context
  if (outside !== undefined) {
    const vector = outside(fieldsOfIndex(context.definition.fields)?.dense.params.dimension ?? 0)
    if (vector === undefined) return undefined
    draft.vector = vector
  }
  return readKeys(cursor, draft, indexKeys) && cursor.ends() && searchFieldsOfIndex(draft) ? searchOf(draft) : undefined
}

/** Which fields a search in /api/v1 queries; see readSearch in wire/v1-search.ts. */
function searchFieldsOfIndex(draft: Draft): boolean {
  const { context, vector, sparseIndices, sparseValues, denseWeight = rrfWeightDefault, limit, ef, recall } = draft
  const known = fieldsOfIndex(context.definition.fields)
  if (known === undefined || sparseIndices?.length !== sparseValues?.length) return false
  const hasTerms = sparseIndices !== undefined && sparseIndices.length > 0
  // The main thread refuses terms that the index would ignore.
  if (hasTerms && known.sparse === undefined) return false
  const fields: { -readonly [K in keyof FieldDraft]: FieldDraft[K] }[] = []
  if (vector !== undefined && !(hasTerms && denseWeight === 0))
    fields.push({
      ...{ context, field: known.dense, query: vector },
      ...(ef !== undefined && { ef }),
      ...(recall !== undefined && { recall }),
    })
  // The schema checks a recall that no field uses.
  else if (recall !== undefined) return false
  if (hasTerms && known.sparse !== undefined && !(vector !== undefined && denseWeight === 1))
    fields.push({ context, field: known.sparse, query: { indices: sparseIndices, values: sparseValues ?? noValues } })
  if (limit !== undefined) for (const field of fields) field.limit = limit
  draft.fields.push(...fields)
  if (fields.length < 2) return fields.length === 1
  const { denseField, sparseField } = namesOf(known)
  const weights = { [denseField]: denseWeight, [sparseField]: 1 - denseWeight }
  draft.fusion = { method: 'rrf', k: draft.rankConstant ?? rrfConstantDefault, weights, limit: limit ?? topKDefault }
  return true
}

/** Reads a body of /api/v2. */
export function readCollectionSearch(cursor: BodyCursor, context: SearchContext): HotSearch | undefined {
  const draft: Draft = { context, fields: [] }
  return readKeys(cursor, draft, collectionKeys) && cursor.ends() ? searchOf(draft) : undefined
}

/** Reads the body `{"searches": [...]}`. */
export function readSearchBatch(cursor: BodyCursor, context: SearchContext): readonly SearchRequest[] | undefined {
  let requests: SearchRequest[] | undefined
  let hits = 0
  const isRead = cursor.members((key) => {
    if (key !== 'searches' || requests !== undefined) return false
    const list: SearchRequest[] = []
    requests = list
    return cursor.entries(() => {
      const draft: Draft = { context, fields: [] }
      const isWhole = list.length < searchesMax && readKeys(cursor, draft, collectionKeys)
      const request = isWhole ? requestOf(draft) : undefined
      if (request === undefined) return false
      list.push(request)
      // The reader would leave so many hits to the main thread. Not after the last search: reading a long batch takes longer than forwarding it.
      for (const { limit = topKDefault } of draft.fields) hits += limit
      return hits * writtenOverheadBytes <= largeReplyBytes
    })
  })
  return isRead && cursor.ends() ? requests : undefined
}

/** Of /api/v1, as in wire/v1-search.ts. */
const rrfConstantDefault = 60
const rrfWeightDefault = 0.5
const noValues = new Float32Array(0)
