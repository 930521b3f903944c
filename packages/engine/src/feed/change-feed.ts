// The change feed of an engine. Each record that is durable and applied is decoded once and handed to every consumer; consumers wait for
// one promise and are woken together, so that many of them cost writers little. A consumer that is behind the records in memory reads
// files in steps.
import { type HistoryPlace, historySegments, type Log, yieldToOthers } from '@annal/wal'
import type { Catalog } from '../catalog/catalog.ts'
import { codingDiskErrorsOf } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import { decodeEvent, isCatalogRecord } from '../events/codec.ts'
import { feedPaceMs, feedPacePerConsumerMs, feedSyncMs } from '../limits.ts'
import type { Change, ChangeBatch, ChangeStream, PlaceNotice } from '../model/changes.ts'
import type { Event } from '../model/event.ts'
import { ReadingTurns } from '../search/reading-turns.ts'
import { CollectionFacts, isFed } from './collection-facts.ts'
import { type FeedRecord, FeedView } from './feed-view.ts'
import { keptEvent } from './kept-event.ts'
import type { ChangesWanted } from './parse-changes.ts'
import { FileReader, LogReader, positionLost, type RecordReader } from './record-reader.ts'
import { TailRecords } from './tail-records.ts'

/** The engine's functions that the feed uses. */
export interface FeedHost {
  catalog(): Catalog
  /** Catalogs of checkpoints, which know collections that were deleted since. */
  earlierCatalogs(): Promise<readonly Pick<Catalog, 'collections'>[]>
  log(): Log
  /** The files of the log and its archive; undefined on a node, whose log has none. */
  history(): HistoryPlace | undefined
  /** Records up to this LSN are the next to be removed; 0 while none are about to be. */
  removedNextLsn(): number
  timeMs(): number
  /** Throws unless the engine is open. */
  checkOpen(): void
}

/** What the feed does now. */
export interface FeedStats {
  readonly consumers: number
  /** Records between the slowest consumer and the newest record. */
  readonly lagMax: number
  /** Bytes of records in memory. */
  readonly bytes: number
}

interface Consumer {
  /** The next LSN that it needs. */
  position: number
  readonly includeVectors: boolean
  /** Ends its wait. */
  wake: () => void
}

/** Of the consumers that are behind the records in memory. */
const turns = new ReadingTurns(4)

type PlacedWanted = ChangesWanted & { readonly from: number }

export class ChangeFeed {
  readonly #host: FeedHost
  readonly #facts = new CollectionFacts()
  readonly #views = new Map<string, FeedView>()
  readonly #consumers = new Set<Consumer>()
  /** Appended records that are not applied or not durable yet. */
  #pending: FeedRecord[] = []
  readonly #tail = new TailRecords()
  #lsnApplied = 0
  #lsnNoted = 0
  /** How many consumers want vectors, and from which LSN on records are kept with them. */
  #vectorConsumers = 0
  #vectorsFrom = 0
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #syncTimer: NodeJS.Timeout | undefined
  #wokenAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  #scanned: Promise<void> | undefined

  constructor(host: FeedHost) {
    this.#host = host
  }

  /** Call it with each record in the order of the log, before the record or a later one is applied. */
  note(lsn: number, event: Event, bytes: number): void {
    this.#facts.note(lsn, event)
    this.#lsnNoted = lsn
    if (this.#consumers.size > 0) this.#pending.push({ lsn, ...keptEvent(event, bytes, this.#vectorConsumers > 0) })
  }

  /** Every record up to this LSN is applied. */
  advance(lsnApplied: number): void {
    this.#lsnApplied = lsnApplied
    if (this.#consumers.size > 0) this.#scheduleWake()
  }

  stats(): FeedStats {
    let lagMax = 0
    const end = this.#tail.lsnLast
    for (const { position } of this.#consumers) lagMax = Math.max(lagMax, end + 1 - position)
    return { consumers: this.#consumers.size, lagMax, bytes: this.#tail.bytes }
  }

  /** The changes of a database. `checkThere` throws when the database was deleted. */
  stream(databaseId: number, wanted: ChangesWanted, checkThere: () => void): ChangeStream {
    this.#host.checkOpen()
    const placed = { ...wanted, from: Math.max(1, wanted.from ?? this.#lsnApplied + 1) }
    const batches = () => codingDiskErrorsOf(this.#batches(databaseId, placed, checkThere))
    return {
      batches,
      async *[Symbol.asyncIterator](): AsyncGenerator<Change> {
        for await (const { changes } of batches()) yield* changes
      },
    }
  }

  /** Ends every stream. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#syncTimer)
    clearImmediate(this.#immediate)
    for (const { wake } of this.#consumers) wake()
  }

  /** The first batch comes at once, also if there is no change yet: it says that the place is held. */
  async *#batches(databaseId: number, wanted: PlacedWanted, checkThere: () => void): AsyncGenerator<ChangeBatch> {
    const { signal } = wanted
    const consumer = this.#attach(wanted)
    const view = this.#viewFor(databaseId, wanted)
    const reader = this.#newReader()
    const abort = () => consumer.wake()
    signal?.addEventListener('abort', abort)
    let noticed = 0
    let isBegun = false
    try {
      while (!this.#isClosed && !signal?.aborted) {
        checkThere()
        const { position } = consumer
        if (position > this.#tail.lsnLast) {
          if (isBegun) await this.#wait(consumer)
          else yield { changes: [], lsn: position - 1 }
          isBegun = true
          continue
        }
        isBegun = true
        const isInMemory = position >= Math.max(this.#tail.lsnFirst, wanted.includeVectors ? this.#vectorsFrom : 0)
        const batch = isInMemory ? this.#fromMemory(view, position) : await this.#fromLog(view, reader, position)
        consumer.position = batch.lsn + 1
        const notice = isInMemory ? undefined : this.#noticeFor(batch.lsn)
        if (notice !== undefined && notice.removedNextLsn > noticed) {
          noticed = notice.removedNextLsn
          yield { changes: [...batch.changes, notice], lsn: batch.lsn }
        } else yield batch
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#detach(consumer, wanted, databaseId)
    }
  }

  /** Resolves when records follow, and when the stream ends. */
  #wait(consumer: Consumer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    consumer.wake = resolve
    return promise
  }

  /** Throws feed_position_lost for an LSN that the log has not reached, and closed. */
  #attach({ from, includeVectors }: PlacedWanted): Consumer {
    this.#host.checkOpen()
    // A stream that ended at once would make a consumer that begins again do so forever, without a turn for the end of the engine.
    if (this.#isClosed) throw new EngineError('closed', 'the engine is closing')
    if (this.#consumers.size === 0) {
      this.#facts.learn(this.#host.catalog().state())
      this.#skip()
    }
    if (from > this.#lsnApplied + 1) this.#checkReached(from)
    if (includeVectors && this.#vectorConsumers++ === 0) this.#vectorsFrom = this.#lsnEnd + 1
    const consumer = { position: from, includeVectors, wake: () => undefined }
    this.#consumers.add(consumer)
    if (this.#tail.lsnLast < this.#lsnApplied) this.#scheduleWake()
    return consumer
  }

  #checkReached(from: number): void {
    const { lsnLast } = this.#host.log().state()
    // A node may be behind the one that delivered the changes before.
    if (from <= lsnLast + 1 || this.#host.history() === undefined) return
    const message = `LSN ${from} is after the end of the log, LSN ${lsnLast}: the position belongs to another log, or the log was restored to an earlier moment`
    throw new EngineError('feed_position_lost', message, { field: 'from', value: from, limit: lsnLast + 1 })
  }

  #detach(consumer: Consumer, wanted: ChangesWanted, databaseId: number): void {
    this.#consumers.delete(consumer)
    if (consumer.includeVectors) this.#vectorConsumers--
    const key = viewKey(databaseId, wanted)
    const view = this.#views.get(key)
    if (view !== undefined && --view.consumers === 0) this.#views.delete(key)
    if (this.#consumers.size === 0) this.#skip()
  }

  #viewFor(databaseId: number, wanted: ChangesWanted): FeedView {
    const key = viewKey(databaseId, wanted)
    const view = this.#views.get(key) ?? new FeedView(databaseId, wanted, this.#facts)
    view.consumers++
    this.#views.set(key, view)
    return view
  }

  #newReader(): RecordReader {
    const place = this.#host.history
    if (place() === undefined) return new LogReader(() => this.#host.log())
    return new FileReader(() => place() as HistoryPlace)
  }

  #fromMemory(view: FeedView, position: number): ChangeBatch {
    return view.batch(this.#tail.from(position), position, this.#tail.lsnLast)
  }

  async #fromLog(view: FeedView, reader: RecordReader, position: number): Promise<ChangeBatch> {
    await turns.take(undefined)
    try {
      return await this.#readStep(view, reader, position)
    } finally {
      turns.give()
    }
  }

  async #readStep(view: FeedView, reader: RecordReader, position: number): Promise<ChangeBatch> {
    // Reading and decoding take a few milliseconds each.
    await yieldToOthers()
    const { records, lsn } = await reader.read(position, this.#tail.lsnLast)
    await yieldToOthers()
    const decoded: FeedRecord[] = []
    for (const record of records) {
      const event = decodeEvent(record)
      this.#facts.note(record.lsn, event)
      await this.#checkKnown(record.lsn, event)
      decoded.push({ lsn: record.lsn, event, bytes: record.payload.length })
    }
    return view.batch(decoded, position, lsn)
  }

  /** Learns collections, their names, and aliases whose first record is before the position of a consumer. */
  async #checkKnown(lsn: number, event: Event): Promise<void> {
    if (this.#facts.isComplete(lsn, event)) return
    this.#scanned ??= this.#scan()
    await this.#scanned
    if (!isFed(event) || this.#facts.subjectOf(lsn, event) !== undefined) return
    const what = 'collectionId' in event ? `collection ${event.collectionId}` : `the ${event.kind}`
    const message = `the log no longer contains the collection of record ${lsn} (${what})`
    throw new EngineError('feed_position_lost', message, { field: 'from', value: lsn })
  }

  async #scan(): Promise<void> {
    for (const catalog of await this.#host.earlierCatalogs()) this.#facts.learn(catalog)
    const reader = this.#newReader()
    let from = await this.#lsnFirst()
    const to = this.#host.log().state().lsnDurable
    while (from <= to) {
      const step = await reader.read(from, to)
      for (const record of step.records) if (isCatalogRecord(record)) this.#facts.note(record.lsn, decodeEvent(record))
      await yieldToOthers()
      from = step.lsn + 1
    }
  }

  #noticeFor(lsn: number): PlaceNotice | undefined {
    const removedNextLsn = this.#host.removedNextLsn()
    if (lsn + 1 > removedNextLsn) return undefined
    return { kind: 'notice', lsn, timeMs: this.#host.timeMs(), removedNextLsn, margin: removedNextLsn - lsn }
  }

  async #lsnFirst(): Promise<number> {
    const history = this.#host.history()
    if (history === undefined) return this.#host.log().state().lsnFirst
    const [first] = await historySegments(history)
    if (first === undefined) throw positionLost(1, 0)
    return first.lsnFirst
  }

  /** Every record up to this LSN was appended before this turn; records that a replay applies are not noted. */
  get #lsnEnd(): number {
    return Math.max(this.#lsnNoted, this.#lsnApplied)
  }

  /** Without consumers no record stays in memory. Those that were appended until now are read from the log later. */
  #skip(): void {
    this.#pending = []
    const lsnLast = Math.min(this.#lsnApplied, this.#host.log().state().lsnDurable)
    this.#tail.skipTo({ lsnLast, lsnFirst: this.#lsnEnd + 1 })
  }

  #takePending(lsn: number): readonly FeedRecord[] {
    let count = 0
    while (count < this.#pending.length && (this.#pending[count] as FeedRecord).lsn <= lsn) count++
    return this.#pending.splice(0, count)
  }

  #scheduleWake(): void {
    if (this.#timer !== undefined || this.#immediate !== undefined || this.#isClosed) return
    const paceMs = feedPaceMs + feedPacePerConsumerMs * this.#consumers.size
    const waitMs = this.#wokenAt + paceMs - performance.now()
    // Never in the turn of a writer.
    if (waitMs <= 0) this.#immediate = setImmediate(() => this.#wake())
    else this.#timer = setTimeout(() => this.#wake(), waitMs)
  }

  #wake(): void {
    this.#timer = undefined
    this.#immediate = undefined
    if (this.#isClosed) return
    this.#wokenAt = performance.now()
    const { lsnDurable } = this.#host.log().state()
    const ready = Math.min(this.#lsnApplied, lsnDurable)
    if (ready < this.#lsnApplied) this.#syncLater()
    if (ready <= this.#tail.lsnLast) return
    this.#tail.add(this.#takePending(ready), ready)
    for (const { wake } of this.#consumers) wake()
  }

  /** With lazy syncs the newest records are applied before they are durable. */
  #syncLater(): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined
      // A log that refuses is closing or has failed, which its owner reports.
      this.#host
        .log()
        .sync()
        .then(
          () => this.#scheduleWake(),
          () => undefined,
        )
    }, feedSyncMs)
  }
}

function viewKey(databaseId: number, { view }: ChangesWanted): string {
  return `${databaseId} ${view}`
}
