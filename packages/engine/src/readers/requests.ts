// Searches of a reader in the form of the library: in the reader's thread if it can run them, otherwise on the owner's. Loaded when it is
// first needed, because a thread that only uses `searchHere` does not need it.
import type { Limits } from '../limits.ts'
import { isCoarse } from '../model/choices.ts'
import type { StoredObject } from '../model/object.ts'
import type { SearchRequest } from '../model/query.ts'
import type { HitBytes, ReaderCollection } from '../model/reader.ts'
import type { SearchHit, SearchResult } from '../model/search-result.ts'
import { storedText } from '../model/stored-text.ts'
import { FoundHit } from '../search/found-hit.ts'
import { mapHits } from '../search/map-hits.ts'
import { ReadObject } from '../search/read-object.ts'
import { type DenseTask, parseSearch, type SearchPlanInput, searchesTexts } from '../search/request.ts'
import type { OwnerCall, SentObject, SentResult } from '../sharing/messages.ts'

/** Larger results are created by the owner, which yields to other work between them. */
const resultBytesMax = 2 ** 20

interface Target {
  readonly database: string
  readonly collection: string
  readonly limits: Limits
}

/** Throws the errors of the search. */
export async function searchOrCall(
  shared: ReaderCollection | undefined,
  request: SearchRequest,
  { database, collection, limits }: Target,
  call: (call: OwnerCall) => Promise<unknown>,
): Promise<SearchResult> {
  const here = shared && (await searchShared(shared, request, limits))
  if (here !== undefined) return here
  return receivedResult((await call({ kind: 'search', database, collection, request })) as SentResult)
}

function searchShared(
  collection: ReaderCollection,
  request: SearchRequest,
  limits: Limits,
): SearchResult | undefined | Promise<SearchResult | undefined> {
  // Parsed there, where the analyzers are loaded first.
  if (searchesTexts(request, collection.definition)) return searchAsBatch(collection, request)
  const input = parseSearch(request, collection.definition, limits)
  const [task] = input.tasks
  if (task?.kind !== 'dense' || task.source.kind !== 'vector' || input.tasks.length > 1 || !isPlain(input, task))
    return searchAsBatch(collection, request)
  const { name } = task.definition
  const { filter } = request
  const { prefilterThreshold } = input
  const { scoreThreshold } = task
  return collection.searchHere(
    {
      field: name,
      query: task.source.query,
      limit: task.k,
      ...(task.recall === undefined ? { ef: task.ef } : { recall: task.recall }),
      exact: input.exact,
      boostPercentage: input.boostPercentage,
      ...(request.minLsn !== undefined && { minLsn: request.minLsn }),
      ...(filter !== undefined && { filter }),
      ...(prefilterThreshold !== undefined && { prefilterThreshold }),
      ...(scoreThreshold !== undefined && { scoreThreshold }),
    },
    (hits) => ({
      results: { [name]: copyHits(hits) },
      complete: hits.complete,
      ...(hits.recall && { recall: { [name]: hits.recall } }),
      lsn: hits.lsn,
    }),
  )
}

function searchAsBatch(
  collection: ReaderCollection,
  request: SearchRequest,
): SearchResult | undefined | Promise<SearchResult | undefined> {
  const found = collection.searchBatchHere([request], { bytesMax: resultBytesMax })
  return found instanceof Promise ? found.then((results) => results?.[0]) : found?.[0]
}

/** Whether nothing but the rows in memory is needed. */
function isPlain(
  { includeVectors, includeTexts, fusion, groups, explain, rescore }: SearchPlanInput,
  { definition }: DenseTask,
): boolean {
  if (includeVectors || includeTexts || fusion || groups || explain || rescore !== undefined) return false
  return !isCoarse(definition.params.precision)
}

function copyHits(hits: HitBytes): SearchHit[] {
  return Array.from({ length: hits.count }, (_, hit) => {
    const id = Buffer.alloc(hits.idBytes(hit))
    hits.copyId(hit, id, 0)
    const filter = Buffer.alloc(hits.filterBytes(hit))
    hits.copyFilter(hit, filter, 0)
    const metaBytes = new Uint8Array(hits.metaBytes(hit))
    hits.copyMeta(hit, metaBytes, 0)
    const text = { id: id.toString(), metaBytes, storedText: storedText(filter.toString(), hits.expiresAt(hit)) }
    const [similarity, distance, norm] = [hits.similarity(hit), hits.distance(hit), hits.norm(hit)]
    return new FoundHit(text, { similarity, distance, norm, row: undefined, members: undefined })
  })
}

function receivedResult({ results, fused, groups, fusedGroups, ...report }: SentResult): SearchResult {
  return {
    ...report,
    ...mapHits({ results, fused, groups, fusedGroups }, (sent): SearchHit => new FoundHit(sent, sent)),
  }
}

export function receivedObjects(sent: unknown): readonly StoredObject[] {
  // A message between threads loses its type. The owner replies to `get` with exactly this.
  return (sent as readonly SentObject[]).map((object) => new ReadObject(object, object))
}
