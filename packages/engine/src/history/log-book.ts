// Statistics about the past from the log and its archive, computed once and kept. They are read in steps: a call reads
// no more than its share and returns its progress; to read more, call again. Recovery does not need any of this.
import { errnoOf, type HistoryPlace, historySegments, readHistory, type SegmentFile } from '@annal/wal'
import { basesOf, historyOf } from '../backup/archive.ts'
import type { BackupHost } from '../backup/host.ts'
import { factsOf, type RecordFacts } from '../events/record-facts.ts'
import { historyStepBytesMax } from '../limits.ts'
import { Ledger, type Owned } from './ledger.ts'
import { type OwnerId, SegmentSummary } from './summary.ts'

/** A segment and its summary, as far as the log reaches now. */
export interface ReadSegment {
  readonly lsnFirst: number
  readonly lsnTo: number
  readonly summary: SegmentSummary
}

export interface Reading {
  /** Oldest first; complete when `read` equals `total`. */
  readonly segments: readonly ReadSegment[]
  readonly read: number
  readonly total: number
}

/** A segment may move to or from the archive between listing and reading, so reads are repeated. */
const attempts = 3

export class LogBook {
  readonly ledger = new Ledger()
  readonly #host: BackupHost
  readonly #stepBytesMax: number
  readonly #summaries = new Map<number, SegmentSummary>()
  #seeded = false
  #step: Promise<Reading> | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(host: BackupHost, limits: { readonly stepBytesMax?: number } = {}) {
    this.#host = host
    this.#stepBytesMax = limits.stepBytesMax ?? historyStepBytesMax
  }

  /** Reads one step further. Concurrent callers share a step, so that many readers cost no more than one. */
  readOn(): Promise<Reading> {
    this.#step ??= this.#try(1).finally(() => {
      this.#step = undefined
    })
    return this.#step
  }

  /** Returns the id of the collection that had this name just after a record. */
  async collectionAt(databaseId: number, name: string, lsn: number): Promise<number | undefined> {
    const now = this.#host.catalog().find(databaseId, name)
    if (now && now.lsnCreated <= lsn) return now.id
    while (!isComplete(await this.readOn()));
    const had = ({ lsnCreated, lsnDropped = Number.POSITIVE_INFINITY }: Owned) => lsnCreated <= lsn && lsn < lsnDropped
    return this.ledger.collectionsOf(databaseId, name).find(had)?.id
  }

  /** Runs one reader at a time: many requests for pages cost the disk and the processor as much as one. */
  runExclusively<T>(read: () => Promise<T>): Promise<T> {
    const reading = this.#turn.then(read)
    this.#turn = reading.catch(() => undefined)
    return reading
  }

  /** Yields the facts of the records in the range, in order. */
  async *facts(range: { readonly from: number; readonly to: number }): AsyncGenerator<RecordFacts> {
    if (range.from > range.to) return
    for await (const record of readHistory(this.#place(), range)) yield factsOf(record)
  }

  async #try(attempt: number): Promise<Reading> {
    try {
      return await this.#readOn()
    } catch (error) {
      if (attempt === attempts || errnoOf(error) !== 'ENOENT') throw error
      return this.#try(attempt + 1)
    }
  }

  async #readOn(): Promise<Reading> {
    const place = this.#place()
    const lsnEnd = this.#host.log().state().lsnDurable
    const files = (await historySegments(place)).filter(({ lsnFirst }) => lsnFirst <= lsnEnd)
    this.#forgetAllBut(files)
    await this.#learnOwners()
    const segments: ReadSegment[] = []
    let bytes = 0
    for (const [i, { id, lsnFirst }] of files.entries()) {
      const lsnTo = Math.min(lsnEnd, (files[i + 1]?.lsnFirst ?? Number.POSITIVE_INFINITY) - 1)
      const summary = this.#summaryOf(id)
      if (summary.lsnTo < lsnTo) {
        if (bytes >= this.#stepBytesMax) break
        bytes += await this.#read(summary, { from: Math.max(lsnFirst, summary.lsnTo + 1), to: lsnTo })
      }
      segments.push({ lsnFirst, lsnTo, summary })
    }
    return { segments, read: segments.length, total: files.length }
  }

  async #read(summary: SegmentSummary, range: { readonly from: number; readonly to: number }): Promise<number> {
    let bytes = 0
    for await (const facts of this.facts(range)) {
      this.ledger.note(facts)
      const owner = ownerOf(facts)
      if (owner !== undefined) summary.add(owner, facts)
      // Updated record by record, so that a step that fails halfway counts nothing twice when repeated.
      summary.lsnTo = facts.lsn
      summary.timeMs = facts.timeMs
      bytes += facts.bytes
    }
    summary.lsnTo = range.to
    return bytes
  }

  #summaryOf(id: number): SegmentSummary {
    const known = this.#summaries.get(id)
    if (known) return known
    const summary = new SegmentSummary()
    this.#summaries.set(id, summary)
    return summary
  }

  #forgetAllBut(files: readonly SegmentFile[]): void {
    const held = new Set(files.map(({ id }) => id))
    for (const id of this.#summaries.keys()) if (!held.has(id)) this.#summaries.delete(id)
  }

  /**
   * Learns the owners of existing collections and of those in the checkpoints still held; the records contain the
   * others.
   */
  async #learnOwners(): Promise<void> {
    const catalogs = [this.#host.catalog().collections]
    if (!this.#seeded) for (const { manifest } of await basesOf(this.#host)) catalogs.push(manifest.catalog.collections)
    this.#seeded = true
    for (const { id, databaseId, definition, lsnCreated } of catalogs.flat())
      this.ledger.add({ id, databaseId, name: definition.name, lsnCreated })
  }

  #place(): HistoryPlace {
    return historyOf(this.#host, this.#host.identity())
  }
}

export function isComplete({ read, total }: Reading): boolean {
  return read === total
}

/** Settings of the directory have no owner. */
export function ownerOf({ collectionId, catalog }: RecordFacts): OwnerId | undefined {
  if (collectionId !== undefined) return collectionId
  return catalog && 'databaseId' in catalog ? -catalog.databaseId : undefined
}
