// Statistics about the past from the log and its archive, computed once and kept. They are read in steps: a call reads
// no more than its share and returns its progress; to read more, call again. Recovery does not need any of this. A piece
// of the log is a segment, or a range of records.
import { errnoOf, type LogRecord, WalError } from '@annal/wal'
import { basesOf } from '../backup/archive.ts'
import type { BackupHost } from '../backup/host.ts'
import type { Piece } from '../backup/past-records.ts'
import { sharedCatalogs } from '../backup/shared-bases.ts'
import type { CatalogState } from '../catalog/catalog-state.ts'
import { isObjectRecord, peekEvent } from '../events/codec.ts'
import { factsOf, type RecordFacts } from '../events/record-facts.ts'
import { historyStepBytesMax } from '../limits.ts'
import { Ledger } from './ledger.ts'
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
  #sharedSeeded = false
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

  /** Returns the id of the collection that this name or alias led to just after a record. */
  async collectionAt(databaseId: number, name: string, lsn: number): Promise<number | undefined> {
    const catalog = this.#host.catalog()
    const now = catalog.resolve(databaseId, name)
    const since = catalog.alias(databaseId, name)?.lsn ?? now?.lsnNamed ?? now?.lsnCreated ?? 0
    if (now && since <= lsn) return now.id
    while (!isComplete(await this.readOn()));
    const found = this.ledger.collectionAt(databaseId, name, lsn)
    if (found !== undefined) return found
    await this.#learnShared()
    return this.ledger.collectionAt(databaseId, name, lsn)
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
    for await (const record of this.#host.past().records(range)) yield factsOf(record)
  }

  /** Yields the records that change objects of a collection, in order. Their payloads are valid until the next one. */
  async *objectRecords(
    collectionId: number,
    range: { readonly from: number; readonly to: number },
  ): AsyncGenerator<LogRecord> {
    if (range.from > range.to) return
    for await (const record of this.#host.past().records(range))
      if (isObjectRecord(record) && peekEvent(record.payload).collectionIds.includes(collectionId)) yield record
  }

  async #try(attempt: number): Promise<Reading> {
    try {
      return await this.#readOn()
    } catch (error) {
      if (attempt === attempts || !isGone(error)) throw error
      return this.#try(attempt + 1)
    }
  }

  async #readOn(): Promise<Reading> {
    const past = this.#host.past()
    const lsnEnd = this.#host.log().state().lsnDurable
    const pieces = (await past.pieces()).filter(({ lsnFirst }) => lsnFirst <= lsnEnd)
    this.#forgetAllBut(pieces)
    await this.#learnOwners()
    const segments: ReadSegment[] = []
    let bytes = 0
    for (const [i, { id, lsnFirst }] of pieces.entries()) {
      const lsnTo = Math.min(lsnEnd, (pieces[i + 1]?.lsnFirst ?? Number.POSITIVE_INFINITY) - 1)
      const summary = this.#summaryOf(id)
      if (summary.lsnTo < lsnTo) {
        if (bytes >= this.#stepBytesMax) break
        const bytesMax = past.isIndexed ? this.#stepBytesMax - bytes : Number.POSITIVE_INFINITY
        bytes += await this.#read(summary, { from: Math.max(lsnFirst, summary.lsnTo + 1), to: lsnTo }, bytesMax)
        if (summary.lsnTo < lsnTo) break
      }
      segments.push({ lsnFirst, lsnTo, summary })
    }
    return { segments, read: segments.length, total: pieces.length }
  }

  /** Reads a piece, or about so many bytes of it. */
  async #read(
    summary: SegmentSummary,
    range: { readonly from: number; readonly to: number },
    bytesMax: number,
  ): Promise<number> {
    let bytes = 0
    for await (const facts of this.facts(range)) {
      this.ledger.note(facts)
      const owner = ownerOf(facts)
      if (owner !== undefined) summary.add(owner, facts)
      // Updated record by record, so that a step that fails halfway counts nothing twice when repeated.
      summary.lsnTo = facts.lsn
      summary.timeMs = facts.timeMs
      bytes += facts.bytes
      if (bytes >= bytesMax) return bytes
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

  #forgetAllBut(pieces: readonly Piece[]): void {
    const held = new Set(pieces.map(({ id }) => id))
    for (const id of this.#summaries.keys()) if (!held.has(id)) this.#summaries.delete(id)
  }

  /**
   * Learns the owners of existing collections and of those in the checkpoints still held; the records contain the
   * others.
   */
  async #learnOwners(): Promise<void> {
    const catalogs = [this.#host.catalog().state()]
    if (!this.#seeded) for (const { manifest } of await basesOf(this.#host)) catalogs.unshift(manifest.catalog)
    this.#seeded = true
    for (const catalog of catalogs) this.#learn(catalog)
  }

  /** Learns the owners of collections that were deleted, or created, before the oldest record. */
  async #learnShared(): Promise<void> {
    const { shared } = this.#host
    if (!shared || this.#sharedSeeded) return
    for (const catalog of await sharedCatalogs(this.#host, shared)) this.#learn(catalog)
    this.#sharedSeeded = true
  }

  #learn({ collections, aliases = [] }: CatalogState): void {
    for (const { id, databaseId, definition, lsnCreated, lsnNamed } of collections) {
      const { name } = definition
      this.ledger.add({ id, databaseId, name, lsnCreated })
      this.ledger.name(databaseId, name, { lsn: lsnNamed ?? lsnCreated, id, isAlias: false })
    }
    for (const { databaseId, name, collectionId: id, lsn } of aliases)
      this.ledger.name(databaseId, name, { lsn, id, isAlias: true })
  }
}

/** Whether a piece was moved or removed while it was read. */
function isGone(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT' || (error instanceof WalError && error.code === 'lsn_not_held')
}

export function isComplete({ read, total }: Reading): boolean {
  return read === total
}

/** Settings of the directory have no owner. */
export function ownerOf({ collectionId, catalog }: RecordFacts): OwnerId | undefined {
  if (collectionId !== undefined) return collectionId
  return catalog && 'databaseId' in catalog ? -catalog.databaseId : undefined
}
