// Reads of the past: a collection at an earlier moment.
import type { FieldName, Fields, GraphFieldName } from './fields.ts'
import type { Filter } from './filter.ts'
import type { JsonObject } from './json.ts'
import type { AsOfMoment } from './moment.ts'
import type { StoredObject } from './object.ts'
import type { BatchedRequest, SearchRequest } from './query.ts'
import type {
  AnswerRoom,
  ContentOptions,
  CountRequest,
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
} from './reads.ts'
import type { BatchedResult, SearchResult } from './search-result.ts'

/** A collection as of a moment. It has the reads of a collection; each of them loads the moment again if it was released meanwhile. */
export interface PastCollection<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined> {
  readonly name: string
  readonly asOf: AsOfMoment
  /**
   * The object that had this id, or undefined.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const film = await past.get('alien')
   * ```
   */
  get(id: string, options?: ContentOptions, room?: AnswerRoom): Promise<StoredObject<F, Meta> | undefined>
  /**
   * The objects that had these ids; unknown ids are left out.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const objects = await past.getMany(['alien', 'solaris'])
   * ```
   */
  getMany(
    ids: readonly string[],
    options?: ContentOptions,
    room?: AnswerRoom,
  ): Promise<readonly StoredObject<F, Meta>[]>
  /**
   * Searches what was there.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ time: '2026-11-23T10:00:00Z' })
   * const { results } = await past.search({ fields: { plot: { query: [1, 0.2, 0.2] } } })
   * ```
   */
  search<Name extends FieldName<F>>(
    request: SearchRequest<F, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<F, Name, Meta>>
  /**
   * Runs several searches on the same moment.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const results = await past.searchBatch([{ fields: { plot: { query: [1, 0, 0] } } }])
   * ```
   */
  searchBatch(requests: readonly BatchedRequest<F>[], room?: AnswerRoom): Promise<readonly BatchedResult<F, Meta>[]>
  /**
   * Counts the objects that matched.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const { count } = await past.count([{ genre: { $eq: 'horror' } }])
   * ```
   */
  count(
    request?: Filter | CountRequest,
  ): Promise<{ readonly count: number; readonly lsn: number; readonly asOf: AsOfMoment }>
  /**
   * Counts the objects for each value of a filter key.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const { values } = await past.facets({ key: 'genre' })
   * ```
   */
  facets(request: FacetRequest): Promise<Facets>
  /**
   * Pages through the objects. The cursor keeps the moment.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const { objects, cursor } = await past.scroll({ limit: 500 })
   * ```
   */
  scroll(request?: ScrollRequest, room?: AnswerRoom): Promise<ScrollPage<F, Meta>>
  /**
   * Measures the recall that searches had.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ lsn: 120 })
   * const { recall } = await past.recall({ field: 'plot' })
   * ```
   */
  recall(request?: RecallRequest<GraphFieldName<F>>): Promise<RecallReport>
}
