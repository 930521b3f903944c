// The reads of a collection: searches, counts, pages, and objects by id, each of one version of its replica.
import { runInTurns } from '@annal/wal'
import type { Calibrator } from '../calibration/calibrator.ts'
import type { Committer } from '../commit.ts'
import { codedDiskError, codingDiskErrors } from '../disk-errors.ts'
import { type Embedder, hasTextQuery } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { type Limits, minLsnWaitMs, searchesMax } from '../limits.ts'
import type { PastCollection } from '../model/as-of.ts'
import type { ReceivedSearch } from '../model/engine.ts'
import type { Fields } from '../model/fields.ts'
import type { Filter } from '../model/filter.ts'
import { checkBatch, parseIds } from '../model/ids.ts'
import type { AsOf, AsOfOptions } from '../model/moment.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { StoredObject } from '../model/object.ts'
import type { SearchRequest } from '../model/query.ts'
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
} from '../model/reads.ts'
import type { SearchResult } from '../model/search-result.ts'
import { asOfBatch, asOfPage } from '../past/parse-as-of.ts'
import { objectBytes, RepeatableRoom } from '../search/answer-room.ts'
import { errorOfSearch, inSearch } from '../search/batch-errors.ts'
import { countMatching } from '../search/count.ts'
import { countFacets, countFacetsAtOnce, parseFacets } from '../search/facets.ts'
import { VersionMoved } from '../search/field-groups.ts'
import { parseConditions, withMatches } from '../search/match-texts.ts'
import { neighborsOf } from '../search/neighbors.ts'
import { parseContents } from '../search/parse-contents.ts'
import { measureRecall, parseRecall } from '../search/recall.ts'
import { needsWholeVersion, parseSearch, type SearchPlanInput } from '../search/request.ts'
import { parseScroll, scroll } from '../search/scroll.ts'
import { searchAll } from '../search/search.ts'
import { searchAtOnce } from '../search/search-at-once.ts'
import { storedObjects } from '../search/stored.ts'
import type { CollectionLife } from './life.ts'

/** Opens the collection at an earlier moment. */
export type OpenPast = (asOf: AsOf, options: AsOfOptions | undefined) => Promise<PastCollection>

export interface ReadsOptions {
  readonly limits: Limits
  readonly embedder: Embedder
  readonly committer: Committer
  readonly openPast: OpenPast
  readonly onSearch?: ((search: ReceivedSearch) => void) | undefined
}

export class CollectionReads {
  readonly #collection: CollectionLife
  readonly #calibrator: Calibrator
  readonly #limits: Limits
  readonly #embedder: Embedder
  readonly #committer: Committer
  readonly #openPast: OpenPast
  readonly #onSearch: ReadsOptions['onSearch']

  constructor(collection: CollectionLife, calibrator: Calibrator, options: ReadsOptions) {
    this.#collection = collection
    this.#calibrator = calibrator
    this.#limits = options.limits
    this.#embedder = options.embedder
    this.#committer = options.committer
    this.#openPast = options.openPast
    this.#onSearch = options.onSearch
  }

  async getMany(
    ids: readonly string[],
    options: ContentOptions | undefined,
    room: AnswerRoom | undefined,
  ): Promise<readonly StoredObject[]> {
    // Read in the turn of the call, because the caller may change them afterwards.
    this.#collection.checkOpen()
    const [contents, wanted] = [parseContents(options), parseIds(ids)]
    await this.#collection.served()
    const { replica } = this.#collection
    const found = wanted.map((id) => replica.find(id)).filter((ordinal) => ordinal >= 0)
    if (room) room.take(found.reduce((sum, ordinal) => sum + objectBytes(replica, ordinal, contents), 0))
    return storedObjects(replica, found, { contents })
  }

  async waitFor(lsn: number, timeoutMs = minLsnWaitMs): Promise<void> {
    this.#collection.checkOpen()
    const wanted = wholeNumber(lsn, 'min_lsn', 0, Number.MAX_SAFE_INTEGER)
    // Usually a write of this collection, which was applied before it was acknowledged.
    if (
      (this.#collection.recovering?.lsnApplied ?? 0) >= wanted ||
      (await this.#committer.whenApplied(wanted, timeoutMs))
    )
      return
    const message = `record ${wanted} is not applied; the newest one is ${this.#committer.lsnApplied}`
    const details = { field: 'min_lsn', value: wanted, limit: this.#committer.lsnApplied }
    throw new EngineError(this.#committer.isWritable ? 'lsn_not_reached' : 'replica_behind', message, details)
  }

  async search<Name extends string>(
    given: SearchRequest<Fields, Name>,
    room: AnswerRoom | undefined,
  ): Promise<SearchResult<Fields, Name>> {
    if (given?.asOf !== undefined) return (await this.asOf(given.asOf)).search(given, room)
    // Most searches wait for nothing, so they are not put off.
    if (!this.#collection.isReady) await this.#collection.loaded()
    const request = hasTextQuery(given) ? await this.#embedQuery(given) : given
    const input = parseSearch(request, this.#collection.definition, this.#limits)
    if (request.minLsn !== undefined) await this.waitFor(request.minLsn)
    if (needsWholeVersion(input) || this.#collection.replica.expiry.isDue) await this.#collection.published()
    this.#onSearch?.({ collectionId: this.#collection.entry.id, lsn: this.#collection.replica.lsnApplied, request })
    const result =
      searchAtOnce(this.#collection.replica, input, room) ?? (await this.#runSearches([request], [input], room))[0]
    // The result has the fields that were parsed from the request.
    return result as SearchResult<Fields, Name>
  }

  async #embedQuery<R extends SearchRequest>(given: R): Promise<R> {
    const [request = given] = await this.#embedder.embedQueries([given], this.#collection.definition, this.#limits)
    return request
  }

  /** Runs searches that begin in this turn, and so at the same version. If the version moved, they run again between two applies. */
  async #runSearches(
    requests: readonly SearchRequest[],
    inputs: readonly SearchPlanInput[],
    room: AnswerRoom | undefined,
  ): Promise<readonly SearchResult[]> {
    const repeatable = room && inputs.some(({ groups }) => groups) ? new RepeatableRoom(room) : undefined
    const caller = { room: repeatable ?? room, calibrator: this.#calibrator }
    try {
      return await searchAll(this.#collection.replica, inputs, caller)
    } catch (error) {
      // Coded here, because a search that ends in its turn makes no promise for it.
      if (!(error instanceof VersionMoved)) throw codedDiskError(error)
    }
    repeatable?.repeat()
    // Writers go on appending; what they append is applied afterwards.
    return this.#collection.gate.queue(0, async () => {
      this.#collection.checkOpen()
      const again = requests.map((request) => parseSearch(request, this.#collection.definition, this.#limits))
      return codingDiskErrors(() => searchAll(this.#collection.replica, again, caller))
    })
  }

  async searchBatch(given: readonly SearchRequest[], room: AnswerRoom | undefined): Promise<readonly SearchResult[]> {
    checkBatch(given, 'searches', searchesMax)
    const asOf = asOfBatch(given)
    if (asOf !== undefined) return (await this.asOf(asOf)).searchBatch(given, room)
    if (!this.#collection.isReady) await this.#collection.loaded()
    const requests = given.some(hasTextQuery)
      ? await this.#embedder.embedQueries(given, this.#collection.definition, this.#limits)
      : [...given]
    const searches = requests.map((request, i) =>
      inSearch(i, () => parseSearch(request, this.#collection.definition, this.#limits)),
    )
    for (const { minLsn } of requests) if (minLsn !== undefined) await this.waitFor(minLsn)
    if (searches.some(needsWholeVersion) || this.#collection.replica.expiry.isDue) {
      await this.#collection.published()
      // Not awaited for the second search, when the first one already has its version.
      this.#collection.replica.publish()
    }
    for (const request of requests)
      this.#onSearch?.({ collectionId: this.#collection.entry.id, lsn: this.#collection.replica.lsnApplied, request })
    try {
      return await this.#runSearches(requests, searches, room)
    } catch (error) {
      // Those of several searches are named.
      throw errorOfSearch(0, error)
    }
  }

  count(filter: Filter): { readonly count: number; readonly lsn: number } {
    this.#collection.checkOpen()
    const { replica } = this.#collection
    const { count } = replica.filters.evaluate(parseFilter(filter))
    return { count, lsn: replica.lsnApplied }
  }

  async countMatching(request: CountRequest): Promise<{ readonly count: number; readonly lsn: number }> {
    this.#collection.checkOpen()
    const conditions = parseConditions(request, this.#collection.definition)
    await this.#collection.served()
    return countMatching(this.#collection.replica, conditions)
  }

  async facets(request: FacetRequest): Promise<Facets> {
    if (request?.asOf !== undefined) return (await this.asOf(request.asOf)).facets(request)
    this.#collection.checkOpen()
    const input = parseFacets(request, this.#collection.definition)
    await this.#collection.served()
    const quick = await countFacetsAtOnce(this.#collection.replica, input)
    if (quick) return quick
    // Between two applies the filters stay those of one version, however many turns it takes. Writers go on appending.
    return this.#collection.gate.queue(0, async () => {
      this.#collection.checkOpen()
      const { replica } = this.#collection
      if (input.texts.length === 0) return runInTurns(countFacets(replica, input))
      return withMatches(replica, input, ({ bitmap }) => runInTurns(countFacets(replica, input, bitmap)))
    })
  }

  async scroll(request: ScrollRequest, room: AnswerRoom | undefined): Promise<ScrollPage> {
    // The parser of requests refuses null.
    const asOf = asOfPage(request ?? {})
    if (asOf !== undefined) return (await this.asOf(asOf)).scroll(request, room)
    this.#collection.checkOpen()
    const input = parseScroll(request, this.#collection.definition, this.#limits)
    await this.#collection.served()
    return scroll(this.#collection.replica, input, room)
  }

  async asOf(asOf: AsOf, options?: AsOfOptions): Promise<PastCollection> {
    this.#collection.checkOpen()
    return this.#openPast(asOf, options)
  }

  async recall(request: RecallRequest): Promise<RecallReport> {
    if (request?.asOf !== undefined) return (await this.asOf(request.asOf)).recall(request)
    this.#collection.checkOpen()
    const input = parseRecall(request, this.#collection.definition, this.#limits)
    await this.#collection.served()
    return measureRecall(this.#collection.replica, input)
  }

  neighbors(field: string, id: string): readonly string[] {
    this.#collection.checkOpen()
    return neighborsOf(this.#collection.replica, field, id)
  }
}
