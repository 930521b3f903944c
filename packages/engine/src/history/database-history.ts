// The history of one database: its events and their times, from the log and its archive. Records of other databases are
// neither shown nor counted.

import { activityBucketsDefault, eventsDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import type { RecordFacts } from '../events/record-facts.ts'
import { activityBucketsMax, eventsMax, historyStepBytesMax } from '../limits.ts'
import type {
  Activity,
  ActivityRequest,
  EventPage,
  EventsRequest,
  History,
  HistoryProgress,
  PastEvent,
} from '../model/history.ts'
import { wholeNumber } from '../model/numbers.ts'
import { activityOf } from './activity.ts'
import { isComplete, type LogBook, ownerOf, type Reading, type ReadSegment } from './log-book.ts'
import type { OwnerId } from './summary.ts'

type IsOwn = (owner: OwnerId) => boolean

interface Wanted {
  readonly mine: IsOwn
  readonly limit: number
}

export class DatabaseHistory implements History {
  readonly #databaseId: number
  readonly #book: LogBook
  readonly #checkOpen: () => void

  constructor(databaseId: number, book: LogBook, checkOpen: () => void) {
    this.#databaseId = databaseId
    this.#book = book
    this.#checkOpen = checkOpen
  }

  async activity(request: ActivityRequest = {}): Promise<Activity> {
    const buckets = wholeNumber(request.buckets ?? activityBucketsDefault, 'buckets', 1, activityBucketsMax)
    const reading = await this.#readOn()
    const mine = this.#mine(request.collection)
    return { ...activityOf(reading.segments, mine, { ...request, buckets }), ...progressOf(reading) }
  }

  async events(request: EventsRequest = {}): Promise<EventPage> {
    const limit = wholeNumber(request.limit ?? eventsDefault, 'limit', 1, eventsMax)
    const { from, before, sinceMs } = request
    if ([from, before, sinceMs].filter((given) => given !== undefined).length > 1) {
      const details = { field: 'from' }
      throw new EngineError('invalid_argument', 'give only one of from, before and sinceMs', details)
    }
    const reading = await this.#readOn()
    const progress = progressOf(reading)
    if (!progress.complete) return { events: [], ...progress }
    const { segments } = reading
    const wanted = { mine: this.#mine(request.collection), limit }
    const page = await this.#book.runExclusively(() => {
      if (from !== undefined) return this.#after(segments, wanted, from, 0)
      if (sinceMs === undefined) return this.#before(segments, wanted, before ?? Infinity)
      const first = segments.find(({ summary }) => summary.timeMs >= sinceMs)
      return this.#after(segments, wanted, first?.lsnFirst ?? Infinity, sinceMs)
    })
    return { ...progress, ...page }
  }

  #readOn(): Promise<Reading> {
    this.#checkOpen()
    return this.#book.readOn()
  }

  /** Returns events from a record on, oldest first. */
  async #after(
    segments: readonly ReadSegment[],
    { mine, limit }: Wanted,
    from: number,
    sinceMs: number,
  ): Promise<Pick<EventPage, 'events' | 'next'>> {
    const events: PastEvent[] = []
    let bytes = 0
    for (const { lsnTo, lsnFirst } of segments.filter((segment) => holds(segment, mine, from, Infinity))) {
      if (bytes >= historyStepBytesMax) return { events, next: lsnFirst }
      for await (const facts of this.#book.facts({ from: Math.max(from, lsnFirst), to: lsnTo })) {
        bytes += facts.bytes
        if (facts.timeMs < sinceMs || !isMine(facts, mine)) continue
        if (events.length === limit) return { events, next: facts.lsn }
        events.push(this.#pastEvent(facts))
      }
    }
    return { events }
  }

  /**
   * Returns the newest events below a record, oldest first. The log is read forward, so each segment is read up to the
   * end of the page.
   */
  async #before(
    segments: readonly ReadSegment[],
    { mine, limit }: Wanted,
    before: number,
  ): Promise<Pick<EventPage, 'events' | 'previous'>> {
    let events: PastEvent[] = []
    let bytes = 0
    const held = segments.filter((segment) => holds(segment, mine, 0, before)).reverse()
    for (const { lsnFirst, lsnTo } of held) {
      if (bytes >= historyStepBytesMax) return { events, previous: lsnTo + 1 }
      const newest: RecordFacts[] = []
      for await (const facts of this.#book.facts({ from: lsnFirst, to: Math.min(lsnTo, before - 1) })) {
        bytes += facts.bytes
        if (!isMine(facts, mine)) continue
        newest.push(facts)
        // One event more than the page shows whether there are earlier ones.
        if (newest.length > limit - events.length + 1) newest.shift()
      }
      events = [...newest.map((facts) => this.#pastEvent(facts)), ...events]
      if (events.length > limit) return { events: events.slice(1), previous: (events[1] as PastEvent).lsn }
    }
    return { events }
  }

  #mine(collection: string | undefined): IsOwn {
    const { ledger } = this.#book
    if (collection === undefined)
      return (owner) => (owner < 0 ? -owner : ledger.byId(owner)?.databaseId) === this.#databaseId
    const ids = new Set(ledger.collectionsOf(this.#databaseId, collection).map(({ id }) => id))
    return (owner) => ids.has(owner)
  }

  #pastEvent({ lsn, timeMs, kind, bytes, collectionId, objects, ids, catalog }: RecordFacts): PastEvent {
    const collection = collectionId === undefined ? undefined : this.#book.ledger.byId(collectionId)?.name
    return {
      ...{ lsn, timeMs, kind, bytes },
      ...(collection !== undefined && { collection }),
      ...(objects > 0 && { objects, ids }),
      ...(catalog && 'fields' in catalog && { fields: catalog.fields.map(({ name }) => name) }),
      ...(catalog?.kind === 'token-put' && { token: catalog.token.name }),
      ...(catalog?.kind === 'token-dropped' && { token: catalog.name }),
      ...(catalog?.kind === 'database-changed' && { active: catalog.active }),
    }
  }
}

function isMine(facts: RecordFacts, mine: IsOwn): boolean {
  const owner = ownerOf(facts)
  return owner !== undefined && mine(owner)
}

/** Whether a segment has any record of an owner between two records; other segments need not be read. */
function holds({ summary }: ReadSegment, mine: IsOwn, from: number, before: number): boolean {
  for (const { owner, lsnFirst, lsnLast } of summary.cells)
    if (lsnLast >= from && lsnFirst < before && mine(owner)) return true
  return false
}

function progressOf(reading: Reading): HistoryProgress {
  return { complete: isComplete(reading), segmentsRead: reading.read, segments: reading.total }
}
