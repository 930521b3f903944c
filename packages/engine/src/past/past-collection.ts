// A collection at an earlier moment as its users see it.

import { runInTurns } from '@annal/wal'
import { codeDiskErrors } from '../disk-errors.ts'
import { type Embedder, hasTextQuery } from '../embed/embedder.ts'
import { type Limits, searchesMax } from '../limits.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import type { PastCollection } from '../model/as-of.ts'
import type { Fields } from '../model/fields.ts'
import type { Filter } from '../model/filter.ts'
import { checkBatch, checkObject, parseIds } from '../model/ids.ts'
import type { AsOf, AsOfMoment, AsOfOptions } from '../model/moment.ts'
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
import { objectBytes, RepeatableRoom } from '../search/answer-room.ts'
import { errorOfSearch, inSearch } from '../search/batch-errors.ts'
import { countMatching, isCountRequest } from '../search/count.ts'
import { countFacets, parseFacets } from '../search/facets.ts'
import { VersionMoved } from '../search/field-groups.ts'
import { parseConditions, withMatches } from '../search/match-texts.ts'
import { parseContents } from '../search/parse-contents.ts'
import { measureRecall, parseRecall } from '../search/recall.ts'
import { parseSearch } from '../search/request.ts'
import { parseScroll, scroll } from '../search/scroll.ts'
import { searchAll } from '../search/search.ts'
import { storedObjects } from '../search/stored.ts'
import { asOfPage, keepsExpired, type ParsedMoment, parsePastCursor, pastCursor } from './parse-as-of.ts'
import { comparedMax, NeedsState, type PastStates, type PastSubject, type ReadPast } from './past-states.ts'

/** What reads of the past need of the engine. */
export interface PastDoor {
  readonly states: PastStates
  readonly limits: Limits
  readonly embedder: Embedder
  /** Throws invalid_argument. */
  parse(asOf: AsOf): ParsedMoment
  /** Throws when the engine is closed, the database was deleted, or the history is not here. */
  check(): void
}

/** Steps of a read that one turn of the event loop has time for. */
const stepsMax = 8

export class LocalPastCollection implements PastCollection {
  readonly name: string
  readonly asOf: AsOfMoment
  readonly #door: PastDoor
  readonly #subject: PastSubject
  readonly #waitMs: number
  readonly #keepsExpired: boolean

  private constructor(
    door: PastDoor,
    subject: PastSubject,
    asOf: AsOfMoment,
    { waitMs, keepsExpired }: { readonly waitMs: number; readonly keepsExpired: boolean },
  ) {
    this.name = subject.collection
    this.asOf = asOf
    this.#door = door
    this.#subject = subject
    this.#waitMs = waitMs
    this.#keepsExpired = keepsExpired
  }

  /** Resolves when the moment is loaded. */
  static async open(
    door: PastDoor,
    subject: PastSubject,
    asOf: AsOf,
    options: AsOfOptions = {},
  ): Promise<LocalPastCollection> {
    checkObject(options, 'options')
    const { waitMs = Number.POSITIVE_INFINITY } = options
    door.check()
    const moment = await door.states.use(subject, door.parse(asOf), waitMs, async ({ moment }) => moment)
    return new LocalPastCollection(door, subject, moment, { waitMs, keepsExpired: keepsExpired(asOf) })
  }

  #use<T>(
    read: (replica: ReadPast['replica'], isLive: boolean) => Promise<T>,
    removedMax?: number,
    { timeMs, keepsExpired } = { timeMs: this.asOf.timeMs, keepsExpired: this.#keepsExpired },
  ): Promise<T> {
    this.#door.check()
    const { lsn } = this.asOf
    const moment = { moment: { lsn }, timeMs }
    const readPast = ({ replica, isLive, expiry }: ReadPast) => {
      // A state serves several moments. Every read decides what has expired in the turn in which it begins.
      if (expiry) expiry.clock = () => (keepsExpired ? Number.NEGATIVE_INFINITY : timeMs)
      return read(replica, isLive)
    }
    return this.#door.states.use(this.#subject, moment, this.#waitMs, readPast, removedMax)
  }

  async get(id: string, options?: ContentOptions, room?: AnswerRoom): Promise<StoredObject | undefined> {
    return (await this.getMany([id], options, room))[0]
  }

  async getMany(ids: readonly string[], options?: ContentOptions, room?: AnswerRoom): Promise<readonly StoredObject[]> {
    const wanted = parseIds(ids)
    const contents = parseContents(options)
    return this.#use(async (replica) => {
      const found = wanted.map((id) => replica.find(id)).filter((ordinal) => ordinal >= 0)
      room?.take(found.reduce((sum, ordinal) => sum + objectBytes(replica, ordinal, contents), 0))
      return storedObjects(replica, found, { contents })
    })
  }

  async search<Name extends string>(
    request: SearchRequest<Fields, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<Fields, Name>> {
    const [result] = await this.#searchAll([request], room)
    // The result has the fields that were parsed from the request.
    return result as SearchResult<Fields, Name>
  }

  async searchBatch(given: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]> {
    checkBatch(given, 'searches', searchesMax)
    try {
      return await this.#searchAll(given, room)
    } catch (error) {
      // Those of several searches are named.
      throw errorOfSearch(0, error)
    }
  }

  async #searchAll(given: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]> {
    const requests = await this.#embedded(given)
    const removedMax = requests.every((request) => request?.exact) ? undefined : comparedMax
    const repeatable = room && requests.some((request) => request?.groupBy) ? new RepeatableRoom(room) : undefined
    return this.#use(async (replica) => {
      const parse = (request: SearchRequest) => parseSearch(request, replica.definition, this.#door.limits)
      const searches =
        requests.length === 1 ? requests.map(parse) : requests.map((request, i) => inSearch(i, () => parse(request)))
      repeatable?.repeat()
      try {
        const results = await searchAll(replica, searches, { room: repeatable ?? room })
        return results.map((result): SearchResult => ({ ...result, asOf: this.asOf }))
      } catch (error) {
        // Only a live collection moves on.
        if (error instanceof VersionMoved) throw new NeedsState('groups are found in several turns')
        throw error
      }
    }, removedMax)
  }

  /** Nothing is read while a provider is called. */
  async #embedded(requests: readonly SearchRequest[]): Promise<readonly SearchRequest[]> {
    if (!requests.some(hasTextQuery)) return requests
    const definition = await this.#use(async (replica) => replica.definition)
    return this.#door.embedder.embedQueries(requests, definition, this.#door.limits)
  }

  async count(given: Filter | CountRequest = []): ReturnType<PastCollection['count']> {
    const request = isCountRequest(given) ? given : { filter: given }
    return this.#use(async (replica) => {
      const counted = await countMatching(replica, parseConditions(request, replica.definition))
      return { ...counted, asOf: this.asOf }
    })
  }

  async facets(request: FacetRequest): Promise<Facets> {
    return this.#use(async (replica, isLive) => {
      const input = parseFacets(request, replica.definition)
      const count = (matching?: Bitmap) => {
        const counting = countFacets(replica, input, matching)
        return isLive ? runAtOnce(counting) : runInTurns(counting)
      }
      if (input.texts.length === 0) return { ...(await count()), asOf: this.asOf }
      const counted = await withMatches(replica, input, async ({ bitmap, version }) => {
        replica.publish()
        if (version !== replica.version) throw new NeedsState('texts are matched in several turns')
        return count(bitmap)
      })
      return { ...counted, asOf: this.asOf }
    })
  }

  scroll(request: ScrollRequest = {}, room?: AnswerRoom): Promise<ScrollPage> {
    const { lsn } = this.asOf
    asOfPage({ asOf: { lsn }, cursor: request.cursor })
    const kept = parsePastCursor(request.cursor)
    const given = { ...request, cursor: kept?.cursor }
    // Later pages are as of the moment of the first one, whatever time it was given by.
    const timeMs = kept?.timeMs ?? this.asOf.timeMs
    const moment = { lsn, timeMs, keepsExpired: kept?.keepsExpired ?? this.#keepsExpired }
    const readPage = async (replica: ReadPast['replica']) => {
      const input = parseScroll(given, replica.definition, this.#door.limits)
      const { cursor, ...page } = await scroll(replica, input, room)
      return { ...page, cursor: cursor === undefined ? undefined : pastCursor(moment, cursor), asOf: { lsn, timeMs } }
    }
    return this.#use(readPage, undefined, moment)
  }

  recall(request: RecallRequest = {}): Promise<RecallReport> {
    return this.#use(async (replica) => {
      const report = await measureRecall(replica, parseRecall(request, replica.definition, this.#door.limits))
      return { ...report, asOf: this.asOf }
    }, comparedMax)
  }
}

codeDiskErrors(LocalPastCollection)

/** Throws NeedsState if the read needs several turns. */
function runAtOnce<T>(reading: Generator<void, T>): T {
  for (let steps = 0; steps < stepsMax; steps++) {
    const step = reading.next()
    if (step.done) return step.value
  }
  throw new NeedsState('the read takes more than one turn')
}
