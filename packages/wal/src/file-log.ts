// The log over files. One loop writes: it takes the queued entries, writes them in one call, syncs once, and settles
// the promises in order. The next batch collects during a sync, so no timer delays a client.
import { AppendQueue, checkRecord, ownRecord, type QueueEntry } from './append-queue.ts'
import { BatchEncoder, type BatchRecord } from './batch.ts'
import type { Clock } from './clock.ts'
import { CommitLoop } from './commit-loop.ts'
import { assert, errnoOf, isDiskFull, WalError } from './errors.ts'
import { recordType } from './frame.ts'
import type { Appended, FsyncPolicy, Log, LogRecord, LogState, Lsn, NewRecord } from './log.ts'
import type { LogNotice } from './notice.ts'
import type { Reserve } from './reserve.ts'
import { runEach } from './run-each.ts'
import { segmentName } from './segment-header.ts'
import { type HeldSegment, SegmentList } from './segment-list.ts'
import { acknowledge, recordsOf, refuse } from './settle.ts'
import { type MakeRoom, type SpaceLimits, SpaceWatch } from './space-watch.ts'
import { createSegment, type Tail, type TailPlace } from './tail.ts'
import type { Tip } from './tip.ts'

/** Settings of a log, with their defaults applied. */
export interface FileLogSettings {
  readonly fsync: FsyncPolicy
  readonly fsyncIntervalMs: number
  readonly tipSync: 'timer' | 'commit'
  readonly segmentBytesMax: number
  readonly markerDelayMs: number
  readonly slowSyncMs: number
  readonly queueBytesMax: number
  readonly queueRecordsMax: number
  readonly space: SpaceLimits
}

/** What an opened log consists of. */
export interface FileLogParts {
  readonly settings: FileLogSettings
  readonly place: TailPlace
  readonly clock: Clock
  readonly segments: readonly HeldSegment[]
  /** The folder that keeps removed segments. */
  readonly archiveDir: string | undefined
  readonly tip: Tip
  /** Undefined when the disk was too full to create the tail. `recover` is tried again when there is space. */
  readonly tail: Tail | undefined
  readonly recover: () => Promise<Tail>
  readonly lsnLast: number
  readonly chain: bigint
  readonly reason: string | undefined
  /** Undefined when no reserve is kept for records that free space. */
  readonly reserve: Reserve | undefined
  readonly makeRoom: MakeRoom
  readonly onFailed: (error: WalError) => void
  readonly onNotice: (notice: LogNotice) => void
}

/** The log of one directory. openFileLog creates it. */
export class FileLog implements Log {
  readonly #parts: FileLogParts
  readonly #settings: FileLogSettings
  readonly #queue: AppendQueue
  readonly #commits: CommitLoop
  readonly #encoder = new BatchEncoder()
  readonly #space: SpaceWatch
  readonly #segments: SegmentList
  #tail: Tail | undefined
  #recover: () => Promise<Tail>
  #lsnLast: number
  #lsnDurable: number
  #chain: bigint
  #condition: LogState['condition'] = 'ok'
  #reason: string | undefined
  #failure: WalError | undefined
  #closing: Promise<void> | undefined
  #closeWanted = false
  #newestIsOwn = true
  #sealEarly = false
  #cancelMarker: (() => void) | undefined
  #cancelInterval: (() => void) | undefined
  #appends = 0
  #syncs = 0
  #syncMs = 0

  constructor(parts: FileLogParts) {
    this.#parts = parts
    this.#settings = parts.settings
    this.#queue = new AppendQueue(parts.settings)
    this.#commits = new CommitLoop(
      this.#queue,
      (batch) => this.#commit(batch),
      (error) => this.#fail(error, 'the log cannot be written'),
    )
    this.#segments = new SegmentList(parts.place.vfs, parts.place.dir, parts.segments, parts.archiveDir)
    this.#tail = parts.tail
    this.#recover = parts.recover
    this.#lsnLast = parts.lsnLast
    this.#lsnDurable = parts.lsnLast
    this.#chain = parts.chain
    if (parts.tail === undefined) this.#stopWriting(parts.reason ?? 'the disk is full')
    else this.#adopt(parts.tail)
    this.#space = new SpaceWatch({
      vfs: parts.place.vfs,
      dir: parts.place.dir,
      clock: parts.clock,
      limits: parts.settings.space,
      isReadOnly: () => this.#condition === 'read-only',
      onLow: (reason) => this.#stopWriting(reason),
      makeRoom: parts.makeRoom,
      reserve: parts.reserve,
      onRoom: () => this.#commits.add({ kind: 'resume' }),
    })
  }

  /** Runs the first check of free disk space. */
  async begin(): Promise<void> {
    await this.#space.begin()
  }

  append(record: NewRecord): Promise<Appended> {
    const checked = checkRecord(record)
    if (checked instanceof WalError) return Promise.reject(checked)
    const usesReserve = record.usesReserve ?? false
    const refusal = this.#refusal(usesReserve) ?? this.#queue.refusal(checked.length)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) =>
      this.#commits.add({ kind: 'record', record: checked, usesReserve, resolve, reject }),
    )
  }

  read(from: Lsn): AsyncIterable<LogRecord> {
    return this.#segments.read({ from, to: this.#lsnDurable })
  }

  sync(): Promise<Lsn> {
    if (this.#failure !== undefined || this.#closeWanted) return Promise.reject(this.#refusal())
    return new Promise((resolve, reject) => this.#commits.add({ kind: 'barrier', resolve, reject }))
  }

  truncateBefore(lsn: Lsn): Promise<void> {
    if (this.#failure !== undefined || this.#closeWanted) return Promise.reject(this.#refusal())
    return this.#segments.removeBefore(lsn)
  }

  state(): LogState {
    return {
      // The branded numbers of the state are the log's own counters.
      lsnFirst: (this.#segments.lsnFirst ?? this.#lsnLast + 1) as Lsn,
      lsnLast: this.#lsnLast as Lsn,
      lsnDurable: this.#lsnDurable as Lsn,
      bytes: this.#segments.bytesWithout(this.#tail?.header.id) + (this.#tail?.bytes ?? 0),
      segments: this.#segments.count,
      appends: this.#appends,
      syncs: this.#syncs,
      syncMs: this.#syncMs,
      queuedBytes: this.#queue.bytes,
      queuedRecords: this.#queue.records,
      condition: this.#condition,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #refusal(usesReserve = false): WalError | undefined {
    if (this.#closeWanted) return new WalError('log_closed', 'the log is closed')
    if (this.#failure !== undefined) return this.#failure
    if (this.#condition === 'read-only' && !usesReserve) return this.#diskFull()
    return undefined
  }

  #diskFull(): WalError {
    const { dir } = this.#parts.place
    return new WalError(
      'disk_full',
      `the log in ${dir} is read-only: ${this.#reason ?? ''}. Reads, deletes and deletions of collections still work; writes resume automatically when there is space.`,
      { file: dir },
    )
  }

  async #commit(batch: readonly QueueEntry[]): Promise<void> {
    this.#cancelMarker?.()
    if (batch[0]?.kind === 'resume') return this.#resume()
    const records = recordsOf(batch)
    const lsnBefore = this.#lsnLast
    if (records.length > 0 && !(await this.#place(records))) return this.#commitReserved(batch)
    if (this.#settings.fsync === 'always' || batch.some((entry) => entry.kind !== 'record')) await this.#sync()
    // TIP may have failed in the meantime. After a failure nothing is acknowledged.
    if (this.#failure !== undefined) return refuse(batch, this.#failure)
    this.#appends += acknowledge(batch, lsnBefore, this.#lsnDurable)
    this.#armTimers()
  }

  /**
   * Writes the records after the tail, in a new segment when the current one is full. On a full disk it first frees
   * whatever is expendable. Returns false when the records cannot be written now.
   */
  async #place(records: readonly BatchRecord[]): Promise<boolean> {
    while (this.#condition === 'ok') {
      const reason = await this.#attempt(records)
      if (reason === undefined) return true
      const bytes = this.#settings.space.freeBytesHard + recordBytes(records)
      if (!(await this.#parts.makeRoom(bytes))) this.#stopWriting(reason)
    }
    return false
  }

  /** Writes only the records that free space, and refuses the rest of the batch. */
  async #commitReserved(batch: readonly QueueEntry[]): Promise<void> {
    const reserved = batch.filter((entry) => entry.kind === 'record' && entry.usesReserve)
    if (reserved.length < batch.length) await this.#refuse(batch.filter((entry) => !reserved.includes(entry)))
    if (reserved.length === 0) return
    if (this.#failure !== undefined) return refuse(reserved, this.#failure)
    const lsnBefore = this.#lsnLast
    const records = recordsOf(reserved)
    while ((await this.#attempt(records)) !== undefined) if (!(await this.#giveReserve())) return this.#refuse(reserved)
    await this.#sync()
    if (this.#failure !== undefined) return refuse(reserved, this.#failure)
    this.#appends += acknowledge(reserved, lsnBefore, this.#lsnDurable)
    this.#armTimers()
  }

  async #giveReserve(): Promise<boolean> {
    try {
      return (await this.#parts.reserve?.give()) ?? false
    } catch (error) {
      // The reserve is not part of the log, so its failure changes nothing: it simply frees no space.
      if (errnoOf(error) === undefined) throw error
      return false
    }
  }

  /**
   * Returns why the disk has no space for the records; undefined when they are written. A failed write leaves no bytes
   * behind.
   */
  async #attempt(records: readonly BatchRecord[]): Promise<string | undefined> {
    const reason = this.#isDueToRoll()
      ? await this.#roll()
      : this.#tail === undefined
        ? await this.#openNext()
        : undefined
    return reason ?? this.#write(records)
  }

  async #write(records: readonly BatchRecord[]): Promise<string | undefined> {
    const tail = this.#tail
    assert(tail !== undefined, 'there is a tail when a record is written')
    try {
      const start = { lsnFirst: this.#lsnLast + 1, durableLsn: this.#lsnDurable, chain: this.#chain, seed: tail.seed }
      const encoded = this.#encoder.encode(records, start)
      this.#segments.noteRecord(tail.header, start.lsnFirst, tail.bytes)
      await tail.write(encoded)
      this.#lsnLast = encoded.lsnLast
      this.#chain = encoded.chain
      this.#newestIsOwn = (records.at(-1)?.type ?? 0) < recordType.userMin
      return undefined
    } catch (error) {
      if (!isDiskFull(error)) throw error
      await tail.cutBack()
      this.#lsnDurable = this.#lsnLast
      this.#sealEarly = true
      return messageOf(error)
    }
  }

  #isDueToRoll(): boolean {
    if (this.#tail === undefined || this.#lsnLast < this.#tail.header.lsnFirst) return false
    return this.#sealEarly || this.#tail.bytes >= this.#settings.segmentBytesMax
  }

  /**
   * Seals the tail and begins the next segment. Returns the reason when the disk has no space for it; throws when a
   * sync or close fails.
   */
  async #roll(): Promise<string | undefined> {
    const tail = this.#tail
    assert(tail !== undefined, 'only a tail can be sealed')
    await this.#sync()
    this.#segments.markSealed(tail.header.id, tail.bytes)
    const start = { id: tail.header.id + 1, lsnFirst: this.#lsnLast + 1, chainBefore: this.#chain }
    this.#recover = () => createSegment(this.#parts.place, start)
    this.#tail = undefined
    await tail.close()
    return this.#openNext()
  }

  /** Creates the tail after a roll or a start. TIP records the segment before the first record is written to it. */
  async #openNext(): Promise<string | undefined> {
    try {
      this.#adopt(await this.#recover())
    } catch (error) {
      if (!isDiskFull(error)) throw error
      return messageOf(error)
    }
    await this.#parts.tip.sync()
    return undefined
  }

  #adopt(tail: Tail): void {
    const { id, lsnFirst } = tail.header
    this.#tail = tail
    this.#sealEarly = false
    this.#segments.add({ id, lsnFirst, name: segmentName(id, lsnFirst), path: tail.path })
    this.#parts.tip.note(this.#lsnDurable, id)
  }

  async #sync(): Promise<void> {
    if (this.#lsnDurable === this.#lsnLast || this.#tail === undefined || this.#failure !== undefined) return
    const { clock, tip } = this.#parts
    const startMs = clock.nowMs()
    const lsn = this.#lsnLast
    await this.#tail.sync()
    this.#syncs++
    this.#lsnDurable = lsn
    tip.note(lsn, this.#tail.header.id)
    if (this.#settings.tipSync === 'commit') await tip.sync()
    const tookMs = clock.nowMs() - startMs
    this.#syncMs += tookMs
    if (tookMs > this.#settings.slowSyncMs) this.#parts.onNotice({ kind: 'slow-sync', tookMs })
  }

  #armTimers(): void {
    const { clock } = this.#parts
    if (this.#lsnDurable < this.#lsnLast) {
      if (this.#settings.fsync === 'interval')
        this.#cancelInterval ??= clock.after(this.#settings.fsyncIntervalMs, () => this.#intervalSync())
    } else if (!this.#newestIsOwn && !this.#closeWanted) {
      this.#cancelMarker = clock.after(this.#settings.markerDelayMs, () => this.#mark())
    }
  }

  #intervalSync(): void {
    this.#cancelInterval = undefined
    // A refused sync has already failed the log, and the failure is reported there.
    this.sync().catch(() => undefined)
  }

  /** Stamps the newest record as durable, so that a reader can distinguish damage to it from a torn write. */
  #mark(): void {
    if (this.#refusal() === undefined && this.#queue.isEmpty && this.#commits.working === undefined) {
      this.#commits.add(ownRecord(recordType.marker))
    }
  }

  async #resume(): Promise<void> {
    if (this.#condition !== 'read-only') return
    const reason = this.#tail === undefined ? await this.#openNext() : undefined
    if (reason !== undefined) return this.#stopWriting(reason)
    this.#condition = 'ok'
    this.#reason = undefined
    this.#parts.onNotice({ kind: 'writable' })
  }

  #stopWriting(reason: string): void {
    if (this.#condition === 'read-only') this.#reason = reason
    if (this.#condition !== 'ok') return
    this.#condition = 'read-only'
    this.#reason = reason
    this.#parts.onNotice({ kind: 'read-only', reason })
  }

  #fail(cause: unknown, what: string): WalError {
    if (this.#failure !== undefined) return this.#failure
    const { dir } = this.#parts.place
    const where = this.#tail?.path ?? dir
    this.#failure = new WalError(
      'log_failed',
      `${what}: ${where}: ${messageOf(cause)}. It is unknown whether the newest bytes are on the disk, so the log accepts no more writes. Restart to recover the records on the disk.`,
      { file: where, lsn: this.#lsnDurable, evidence: messageOf(cause) },
      { cause },
    )
    this.#condition = 'failed'
    this.#reason = messageOf(cause)
    this.#parts.tip.abandon()
    void this.#stopTimers()
    this.#parts.onFailed(this.#failure)
    return this.#failure
  }

  /** Fails the log because TIP cannot be written or synced. */
  tipFailed(error: unknown): void {
    this.#fail(error, 'TIP cannot be written')
  }

  /**
   * Refuses the batch: none of its records is in the log. On a full disk earlier records can still be made durable, and
   * are.
   */
  async #refuse(batch: readonly QueueEntry[]): Promise<void> {
    if (this.#failure === undefined) await this.#sync()
    refuse(batch, this.#failure ?? this.#diskFull(), this.#failure === undefined ? this.#lsnDurable : undefined)
  }

  async #close(): Promise<void> {
    this.#closeWanted = true
    await this.#stopTimers()
    const { tip } = this.#parts
    if (this.#condition === 'ok') this.#commits.add(ownRecord(recordType.cleanClose))
    await this.#commits.working
    await this.#segments.settled()
    try {
      await runEach(
        () => this.#sync(),
        () => this.#failure ?? tip.sync(),
        () => tip.close(),
        () => this.#tail?.close(),
      )
    } catch (error) {
      this.#fail(error, 'the log cannot be closed')
    }
    if (this.#failure !== undefined) throw this.#failure
    this.#condition = 'closed'
  }

  #stopTimers(): Promise<void> {
    this.#cancelMarker?.()
    this.#cancelInterval?.()
    return this.#space.stop()
  }
}

function recordBytes(records: readonly BatchRecord[]): number {
  return records.reduce((sum, { length }) => sum + length, 0)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
