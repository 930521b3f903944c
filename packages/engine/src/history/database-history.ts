// The history of one database: its events and their times, the versions of its objects, and what differs between two moments, from the log
// and its archive. Records of other databases are neither shown nor counted.

import type { Backups } from '../backup/backups.ts'
import type { Imaged } from '../backup/host.ts'
import { namingMoment } from '../backup/past.ts'
import type { PastReplica } from '../backup/past-replica.ts'
import type { RestoreWatch } from '../backup/restore-image.ts'
import { activityBucketsDefault, eventsDefault, versionsDefault } from '../defaults.ts'
import { codeDiskErrors, codingDiskErrorsOf } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import { idsOf } from '../events/object-ids.ts'
import type { RecordFacts } from '../events/record-facts.ts'
import { parseMoment } from '../input/moment.ts'
import { activityBucketsMax, eventsMax, historyStepBytesMax, versionsMax } from '../limits.ts'
import type { Moment } from '../model/backups.ts'
import type {
  Activity,
  ActivityRequest,
  DiffRequest,
  EventPage,
  EventsRequest,
  History,
  HistoryProgress,
  ObjectChange,
  PastEvent,
  Undone,
  UndoRequest,
  VersionPage,
  VersionsRequest,
} from '../model/history.ts'
import { checkObject, parseId, parseName } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { RequestFacts, WriteOptions } from '../model/requests.ts'
import type { Replica } from '../replica/replica.ts'
import { keyed } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { activityOf } from './activity.ts'
import { addIds, changesBetween, digestsOf } from './compare-moments.ts'
import { isComplete, type LogBook, ownerOf, type Reading, type ReadSegment } from './log-book.ts'
import { readVersions } from './read-versions.ts'
import type { OwnerId } from './summary.ts'
import { planUndo, type RestoredContent, restoredContent, type UndoPlan, type UndoSubject } from './undo.ts'
import { chosenBy, undoFlags } from './undo-request.ts'

type IsOwn = (owner: OwnerId) => boolean

interface Wanted {
  readonly mine: IsOwn
  readonly limit: number
}

/** A collection whose objects can be restored. */
export interface Undoable extends Imaged {
  /** Commits what `plan` finds when every earlier write is applied; later ones wait for it. */
  restoreObjects<Facts extends RequestFacts>(
    plan: (live: Replica) => Promise<{ readonly content: RestoredContent | undefined; readonly facts: Facts }>,
    claim: Claim | undefined,
  ): Promise<Acknowledgement & Facts>
}

/** The functions of the database that its history uses. */
export interface HistoryDoor {
  readonly database: { readonly id: number; readonly name: string }
  readonly book: LogBook
  /** Restores are among them, and undos count as such. */
  readonly jobs: Backups
  readonly keys: KeptRequests
  /** Throws collection_not_found. */
  collection(name: string): Undoable
  /** Finds a collection, including deleted ones. Throws collection_not_found. */
  collectionIdAt(name: string, lsn: number): Promise<number>
  /** The records of two moments; undefined is now. Throws restore_unreachable. */
  lsnsOf(moments: readonly [Moment, Moment | undefined]): Promise<{ readonly from: number; readonly to: number }>
  /** Runs `use` with a collection as of a moment, whatever its name was then. One at a time, because it takes as much memory as the collection. */
  withPast<T>(
    of: { readonly id: number; readonly name: string },
    moment: Moment,
    watch: RestoreWatch,
    use: (past: PastReplica) => Promise<T>,
  ): Promise<T>
  /** Throws when the engine is closed, the database was deleted, or the log is not in the data directory. */
  checkOpen(): void
  /** Throws while this engine appends nothing. */
  checkWritable(): void
}

export class DatabaseHistory implements History {
  readonly #door: HistoryDoor
  readonly #databaseId: number
  readonly #book: LogBook

  constructor(door: HistoryDoor) {
    this.#door = door
    this.#databaseId = door.database.id
    this.#book = door.book
  }

  async activity(request: ActivityRequest = {}): Promise<Activity> {
    checkObject(request, 'request')
    const buckets = wholeNumber(request.buckets ?? activityBucketsDefault, 'buckets', 1, activityBucketsMax)
    checkCollection(request)
    const reading = await this.#readOn()
    const mine = this.#mine(request.collection)
    return { ...activityOf(reading.segments, mine, { ...request, buckets }), ...progressOf(reading) }
  }

  async events(request: EventsRequest = {}): Promise<EventPage> {
    checkObject(request, 'request')
    const limit = wholeNumber(request.limit ?? eventsDefault, 'limit', 1, eventsMax)
    const { from, before, sinceMs } = request
    checkCollection(request)
    if ([from, before, sinceMs].filter((given) => given !== undefined).length > 1) {
      const details = { field: 'from' }
      throw new EngineError('invalid_argument', 'give only one of from, before, and sinceMs', details)
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

  async versions(request: VersionsRequest): Promise<VersionPage> {
    checkObject(request, 'request')
    const limit = wholeNumber(request.limit ?? versionsDefault, 'limit', 1, versionsMax)
    const from = wholeNumber(request.from ?? 0, 'from', 0, Number.MAX_SAFE_INTEGER)
    const to = wholeNumber(request.to ?? Number.MAX_SAFE_INTEGER, 'to', 0, Number.MAX_SAFE_INTEGER)
    const id = parseId(request.id, 'id')
    const { entry, recovering } = this.#door.collection(request.collection)
    const reading = await this.#readOn()
    const progress = progressOf(reading)
    if (!progress.complete) return { versions: [], ...progress }
    const mine = (owner: OwnerId) => owner === entry.id
    const [first] = reading.segments
    const isWhole = first !== undefined && first.lsnFirst <= entry.lsnCreated && entry.restored === undefined
    const page = await this.#book.runExclusively(() =>
      readVersions({
        book: this.#book,
        segments: reading.segments.filter((segment) =>
          holds(segment, mine, 0, to === Number.MAX_SAFE_INTEGER ? to : to + 1),
        ),
        collectionId: entry.id,
        fieldNames: entry.definition.fields.map(({ name }) => name),
        isWhole,
        existsNow: (recovering?.find(id) ?? -1) >= 0,
        ...{ id, from, to, limit },
      }),
    )
    return { ...progress, ...page }
  }

  diff(request: DiffRequest): AsyncGenerator<ObjectChange> {
    return codingDiskErrorsOf(this.#diff(request))
  }

  async *#diff(request: DiffRequest): AsyncGenerator<ObjectChange> {
    checkObject(request, 'request')
    const { collection, from, to } = request
    const moments = [parseMoment(from, 'from'), to === undefined ? undefined : parseMoment(to, 'to')] as const
    this.#door.checkOpen()
    const lsns = await this.#door.lsnsOf(moments)
    if (lsns.from > lsns.to)
      throw new EngineError('invalid_argument', `from is LSN ${lsns.from}, after to, LSN ${lsns.to}`, {
        field: 'from',
        value: lsns.from,
        limit: lsns.to,
      })
    const collectionId = await this.#door.collectionIdAt(collection, lsns.to)
    const ids = new Set<string>()
    const range = { from: lsns.from + 1, to: lsns.to }
    for await (const { payload } of this.#book.objectRecords(collectionId, range)) addIds(ids, idsOf(payload))
    if (ids.size === 0) return
    const digests = (field: 'from' | 'to') =>
      namingMoment(field, (field === 'from' ? from : to) ?? { lsn: lsns.to }, () =>
        this.#door.withPast({ id: collectionId, name: collection }, { lsn: lsns[field] }, unwatched, ({ replica }) =>
          digestsOf(replica, ids, () => this.#door.checkOpen()),
        ),
      )
    const before = await digests('from')
    yield* changesBetween(ids, before, await digests('to'))
  }

  async undo(request: UndoRequest, options?: WriteOptions): Promise<Undone> {
    const chosen = chosenBy(request)
    const moment = parseMoment(request.asOf, 'asOf')
    const { collection: name } = request
    const { dryRun, keepsExpired } = undoFlags(request)
    const { ids, filter, asOf } = request
    const parts = () => ['undo', name, JSON.stringify({ ids, filter, asOf }), ...(keepsExpired ? ['keepExpired'] : [])]
    const call = { databaseId: this.#databaseId, parts }
    this.#door.checkWritable()
    const run = (claim: Claim | undefined) =>
      this.#door.jobs.restoring(this.#door.database.name, { collection: name, bytes: 0 }, async (job) => {
        const collection = this.#door.collection(name)
        await collection.served()
        const { parent, lsnCreated } = collection.entry
        const subject = (live: Replica): UndoSubject => ({
          live,
          branchedAt: parent && lsnCreated,
          keepsExpired,
        })
        let read = 0
        const onRead = (bytes: number) => {
          read += bytes
          job.progress({ bytesDone: read })
        }
        const checkWanted = () => {
          job.check()
          this.#door.checkWritable()
        }
        const watch = { checkWanted, onRead }
        const withPast = <T>(use: (past: PastReplica) => Promise<T>) =>
          namingMoment('asOf', moment, () => this.#door.withPast({ id: collection.entry.id, name }, moment, watch, use))
        return withPast(async (past) => {
          checkWanted()
          const counts = ({ restored, deleted }: UndoPlan) => ({
            restored: restored.length,
            deleted: deleted.length,
            asOfLsn: past.lsn,
          })
          if (dryRun) {
            const { lsnApplied, plan } = await collection.gate.between(() => {
              const { replica } = collection
              return { lsnApplied: replica.lsnApplied, plan: planUndo(chosen, subject(replica), past) }
            })
            return { lsn: lsnApplied, durable: true, ...counts(plan) }
          }
          return collection.restoreObjects(async (live) => {
            const plan = planUndo(chosen, subject(live), past)
            const content =
              plan.restored.length + plan.deleted.length > 0
                ? await restoredContent(plan, past, { keepsExpired })
                : undefined
            // The last moment at which it can be canceled.
            checkWanted()
            return { content, facts: counts(plan) }
          }, claim)
        })
      })
    return dryRun ? run(undefined) : keyed(this.#door.keys, options, call, run)
  }

  #readOn(): Promise<Reading> {
    this.#door.checkOpen()
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
    const ids = ledger.everNamed(this.#databaseId, collection)
    return (owner) => ids.has(owner)
  }

  #pastEvent({ lsn, timeMs, kind, bytes, collectionId, objects, ids, catalog, author }: RecordFacts): PastEvent {
    const subject = collectionId ?? subjectOf(catalog)
    const collection = subject === undefined ? undefined : this.#book.ledger.byId(subject)?.name
    return {
      ...{ lsn, timeMs, kind, bytes },
      ...(collection !== undefined && { collection }),
      ...(objects > 0 && { objects, ids }),
      ...(author && { author }),
      ...(catalog && 'fields' in catalog && { fields: catalog.fields.map(({ name }) => name) }),
      ...(catalog?.kind === 'token-put' && { token: catalog.token.name }),
      ...(catalog?.kind === 'token-dropped' && { token: catalog.name }),
      ...((catalog?.kind === 'alias-put' || catalog?.kind === 'alias-dropped') && { alias: catalog.name }),
      ...(catalog?.kind === 'collection-promoted' && { keptAs: catalog.keptAs }),
      ...(catalog?.kind === 'database-changed' && { active: catalog.active }),
    }
  }
}

codeDiskErrors(DatabaseHistory)

/** The collection that a change of names is about. */
function subjectOf(catalog: RecordFacts['catalog']): number | undefined {
  if (catalog?.kind === 'alias-put') return catalog.targetId
  return catalog?.kind === 'collection-promoted' ? catalog.promotedId : undefined
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

const unwatched: RestoreWatch = { checkWanted: () => undefined, onRead: () => undefined }

/** It may have been deleted, but its name was valid. */
function checkCollection({ collection }: Pick<EventsRequest, 'collection'>): void {
  if (collection !== undefined) parseName(collection, 'collection')
}
