// Keeps a copy of a data directory in a bucket while it is served: the log at least once each second while records are written, images
// before the records that name them, and checkpoints behind it. It knows how late the bucket is, and states in health why.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '@annal/engine'
import { decodeEvent, isCatalogRecord } from '@annal/engine/events'
import { historySegments, type LogRecord, nodeVfs, sizeOf, WalError } from '@annal/wal'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { UnconditionalBucketError } from '../cluster/bucket-store.ts'
import { BucketUnavailable } from '../cluster/bucket-trouble.ts'
import { ArchiveError } from './archive-error.ts'
import { ArchiveLag } from './archive-lag.ts'
import type { BaseDue } from './bases.ts'
import { writeLeftBehind } from './left-behind.ts'
import { type OpenedArchive, openArchive } from './open-archive.ts'

/** How an archive is kept. */
export interface BucketArchiveOptions {
  readonly place: BucketPlace
  readonly dataDir: string
  /** The number of checkpoints in the bucket. */
  readonly keep: number
  /** How late the bucket may be before health is degraded, in milliseconds. */
  readonly lagMsMax: number
  /** How much of the log waits for the bucket at most, in bytes. */
  readonly backlogBytesMax: number
  /** Whether more than that stops writes; otherwise the log is truncated, and the archive has a gap. */
  readonly isRequired: boolean
  readonly onNotice: (sentence: string) => void
  readonly requestMs?: number
  /** How often the log is looked at while no write waits, and the first wait after a failure, in milliseconds. */
  readonly tickMs?: number
  readonly due?: BaseDue
  /** How often it is looked whether a base is due, in milliseconds. */
  readonly baseTickMs?: number
  /** How often an idle server looks whether another one has written to the archive, in milliseconds. */
  readonly watchMs?: number
  /** How often it is tested whether the bucket checks the conditions of writes, in milliseconds. */
  readonly conditionsMs?: number
  /** The longest wait before a bucket that refused this server is tried again, in milliseconds. */
  readonly refusedRetryMsMax?: number
}

/** Counts since the server was started. */
export interface ArchiveFigures {
  /** 0 where nothing waits. */
  readonly lagSeconds: number
  readonly lagLsns: number
  readonly backlogBytes: number
  /** Bytes of log and files that were uploaded. */
  readonly bytes: number
  readonly messages: number
  readonly failures: number
  readonly bases: number
  readonly lsnUploaded: number
  /** Why nothing is uploaded at the moment: a code of ArchiveError, a BucketTrouble, `unconditional`, or `other`. */
  readonly trouble: string | undefined
}

const tickMsDefault = 500
const baseTickMsDefault = 10_000
const retryMsMax = 5_000
const refusedRetryMsMaxDefault = 60_000
const watchMsDefault = 5_000
const conditionsMsDefault = 10 * 60_000
const stopMsMax = 10_000
const stopTickMs = 20
const requestMsDefault = 10_000
const dueDefault: BaseDue = { logBytesMin: 64 * 1024 * 1024, logShareMin: 0.5 }

const finalCodes: ReadonlySet<string> = new Set(['archive_in_use', 'archive_diverged', 'archive_taken_over'])

/** The archive of one directory in a bucket. */
export class BucketArchive {
  readonly #options: BucketArchiveOptions
  readonly #at: string
  readonly #closing = new AbortController()
  readonly #lag = new ArchiveLag()
  #engine: Pick<Engine, 'lsnDurable' | 'lsnApplied'> | undefined
  #opened: OpenedArchive | undefined
  /** Why nothing is archived at all. */
  #fault: Error | undefined
  /** Why the last attempt failed; undefined after one that succeeded. */
  #trouble: Error | undefined
  #baseTrouble: string | undefined
  #failures = 0
  #fileBytes = 0
  #backlogBytes = 0
  /** The backlog exceeded its limit since the last base, so the log may have been truncated. */
  #hasGivenUp = false
  /** What this server acknowledged and the writer that took over does not have, up to which record. */
  #leftBehind: { readonly to: number; readonly what?: string } | undefined
  #watchedAt = 0
  #conditionsAt = 0
  #wake: () => void = () => undefined
  #running: Promise<unknown> | undefined

  constructor(options: BucketArchiveOptions) {
    this.#options = options
    this.#at = `s3://${options.place.bucket}/${options.place.prefix}`
  }

  /** Begins to upload the log of an open engine. */
  start(engine: Pick<Engine, 'lsnDurable' | 'lsnApplied'>): void {
    this.#engine = engine
    this.#running ??= Promise.all([this.#uploadLog(), this.#uploadBases()])
  }

  /** Uploads what is durable, for at most ten seconds, and ends. */
  async stop(): Promise<void> {
    const end = setTimeout(() => this.#closing.abort(), stopMsMax)
    const lsn = this.#lsnDurable
    // Also while the archive is still being opened.
    const isUploading = () => this.#running !== undefined && !this.#fault && !this.#trouble && this.#lsnUploaded < lsn
    while (isUploading() && !this.#closing.signal.aborted) {
      this.#wake()
      await sleep(stopTickMs)
    }
    clearTimeout(end)
    this.#closing.abort()
    this.#wake()
    await this.#running
    await this.#close()
  }

  /** Records after this LSN must not be removed from the directory. */
  get lsnNeeded(): number {
    if (this.#isTakenOver) return Number.POSITIVE_INFINITY
    return this.#isBacklogGivenUp() ? Number.POSITIVE_INFINITY : (this.#opened?.uploader.lsnNeeded ?? 0)
  }

  /** Resolves to true when the bucket can be restored to a record, and to false after `timeoutMs`. */
  async whenArchived(lsn: number, timeoutMs: number): Promise<boolean> {
    if (this.#lsnRestorable >= lsn) return true
    if (this.#fault) return false
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal])
    const reached = this.#lag.whenRestorable(lsn, signal)
    this.#wake()
    return reached
  }

  /** Why records are not archived as they should be: one sentence for each reason. */
  reasons(): string[] {
    const reasons: string[] = []
    const say = (why: string) => void reasons.push(`the archive in ${this.#at}: ${why}`)
    const trouble = this.#trouble ? `: ${this.#trouble.message}` : ''
    if (this.#fault) say(`nothing is archived: ${this.#fault.message}`)
    if (this.#leftBehind?.what) say(this.#leftBehind.what)
    if (!this.#fault && this.isLate()) {
      const { lagSeconds, backlogBytes } = this.figures()
      say(`it is ${Math.round(lagSeconds)} s late; ${backlogBytes} bytes of the log wait${trouble}`)
    }
    if (this.#hasGivenUp)
      say(
        `more than ${this.#options.backlogBytesMax} bytes of the log waited, so the log may be truncated before it is uploaded`,
      )
    if (!this.#opened && !this.#fault) say(`the bucket was not reached yet${trouble}`)
    const baseTrouble = this.#baseTrouble ? `: ${this.#baseTrouble}` : ''
    if (this.#opened?.bases.isNeeded)
      say(`it cannot be restored to its end until a checkpoint is uploaded${baseTrouble}`)
    else if (baseTrouble !== '' && !this.#fault) say(`the newest checkpoint could not be uploaded${baseTrouble}`)
    return reasons
  }

  /** Whether the bucket is later than it may be, or refuses this server. */
  isLate(): boolean {
    return this.#fault !== undefined || this.#lag.ms > this.#options.lagMsMax
  }

  /** Why writes are rejected: another server writes, or the archive is required and late. Undefined where they are not. */
  refusal(): { readonly code: 'archive_late' | 'not_leader'; readonly message: string } | undefined {
    if (this.#fault && this.#isTakenOver) return { code: 'not_leader', message: this.#fault.message }
    if (!this.#options.isRequired) return undefined
    if (!this.isLate() && this.#backlogBytes <= this.#options.backlogBytesMax) return undefined
    const why = this.reasons()[0] ?? `the archive in ${this.#at}: ${this.#backlogBytes} bytes of the log wait`
    return { code: 'archive_late', message: `writes are rejected: ${why}` }
  }

  get #isTakenOver(): boolean {
    return this.#fault instanceof ArchiveError && this.#fault.code === 'archive_taken_over'
  }

  figures(): ArchiveFigures {
    const lsnUploaded = this.#lsnUploaded
    return {
      lagSeconds: this.#lag.ms / 1000,
      lagLsns: Math.max(0, this.#lsnDurable - lsnUploaded),
      backlogBytes: this.#backlogBytes,
      bytes: (this.#opened?.uploader.bytes ?? 0) + this.#fileBytes,
      messages: this.#opened?.uploader.number ?? 0,
      failures: this.#failures,
      bases: this.#opened?.index.value.bases.length ?? 0,
      lsnUploaded,
      trouble: troubleOf(this.#fault ?? this.#trouble),
    }
  }

  get #lsnDurable(): number {
    return this.#engine?.lsnDurable ?? 0
  }

  /** The newest record to which the bucket can be restored. */
  get #lsnRestorable(): number {
    return this.#opened?.bases.isNeeded ? 0 : this.#lsnUploaded
  }

  get #lsnUploaded(): number {
    return this.#opened?.uploader.lsnUploaded ?? 0
  }

  async #uploadLog(): Promise<void> {
    const { tickMs = tickMsDefault } = this.#options
    let retryMs = tickMs
    while (!this.#closing.signal.aborted) {
      try {
        this.#note()
        if (isFinal(this.#fault)) {
          await this.#reportLeftBehind(this.#fault)
          throw this.#fault
        }
        await this.#uploadAll()
        this.#trouble = undefined
        retryMs = tickMs
        await this.#pause(tickMs)
      } catch (error) {
        this.#failed(error as Error)
        await this.#measureBacklog()
        await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
        const { refusedRetryMsMax = refusedRetryMsMaxDefault } = this.#options
        retryMs = Math.min(2 * retryMs, this.#fault && !isFinal(this.#fault) ? refusedRetryMsMax : retryMsMax)
      }
    }
  }

  async #uploadAll(): Promise<void> {
    if (this.#opened && this.#trouble) await this.#confirmEnd(this.#opened)
    const { uploader, checkConditions } = await this.#reopen()
    const number = uploader.number
    while (!this.#closing.signal.aborted && (await uploader.step(this.#lsnDurable))) this.#note()
    this.#note()
    const { watchMs = watchMsDefault, conditionsMs = conditionsMsDefault } = this.#options
    const now = performance.now()
    if (uploader.number > number) this.#watchedAt = now
    else if (now - this.#watchedAt >= watchMs) {
      this.#watchedAt = now
      await uploader.lookForOthers()
    }
    if (uploader.number === number || now - this.#conditionsAt < conditionsMs) return
    this.#conditionsAt = now
    await checkConditions()
  }

  /** After a failure, perhaps of the whole bucket, it is not certain that the bucket still has what was uploaded. */
  async #confirmEnd({ uploader }: OpenedArchive): Promise<void> {
    if (await uploader.isEndThere()) return
    this.#say(`message ${uploader.number} is not in the bucket any more; what is there is examined again`)
    await this.#close()
  }

  async #reopen(): Promise<OpenedArchive> {
    if (this.#opened) return this.#opened
    const { due = dueDefault, requestMs = requestMsDefault } = this.#options
    this.#opened = await openArchive({
      ...{ ...this.#options, at: this.#at, due, requestMs },
      onBytes: (bytes) => {
        this.#fileBytes += bytes
      },
      checkWanted: () => this.#closing.signal.throwIfAborted(),
      prepare: (records) => this.#prepare(records),
    })
    this.#conditionsAt = performance.now()
    if (this.#fault) this.#say('it can be used again')
    this.#fault = undefined
    return this.#opened
  }

  /** Waits for the next look at the log, or until a write waits for the archive. */
  async #pause(ms: number): Promise<void> {
    if (this.#lag.isAwaited(this.#lsnUploaded, this.#lsnDurable)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    await promise
    clearTimeout(timer)
    this.#wake = () => undefined
  }

  #note(): void {
    this.#lag.note(this.#lsnDurable, this.#lsnRestorable)
    if (this.#lag.isEmpty) this.#backlogBytes = 0
  }

  #failed(error: Error): void {
    if (error === this.#fault || this.#closing.signal.aborted) return
    this.#failures++
    if (this.#trouble?.message !== error.message) this.#say(error.message)
    this.#trouble = error
    const isRefused = error instanceof ArchiveError || error instanceof UnconditionalBucketError
    if (isRefused) {
      this.#fault = error
      this.#lag.giveUp()
    }
    // Records that were given up are not there any more: the archive goes on after a gap.
    const isGone = error instanceof WalError && error.code === 'lsn_not_held'
    if (isGone || (isRefused && !isFinal(error))) void this.#close()
  }

  /** Records that this server acknowledged and the new writer does not have are written to a file. */
  async #reportLeftBehind({ lsn: from }: ArchiveError): Promise<void> {
    const to = this.#lsnDurable
    if (!this.#isTakenOver || from === undefined || to <= Math.max(from, this.#leftBehind?.to ?? 0)) return
    try {
      const written = await writeLeftBehind(this.#options.dataDir, { from, to })
      this.#leftBehind = {
        to,
        ...(written && {
          what: `${written.records} records of this server are not in it; they are in ${written.file}`,
        }),
      }
      if (this.#leftBehind.what) this.#say(this.#leftBehind.what)
    } catch (error) {
      const what = `the records of this server after LSN ${from} are not in it, and could not be written to a file: ${(error as Error).message}`
      if (this.#leftBehind?.what !== what) this.#say(what)
      this.#leftBehind = { to: from, what }
    }
  }

  #say(sentence: string): void {
    this.#options.onNotice(`the archive in ${this.#at}: ${sentence}`)
  }

  async #close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.close()
  }

  async #prepare(records: readonly LogRecord[]): Promise<void> {
    for (const record of records) {
      if (!isCatalogRecord(record)) continue
      const event = decodeEvent(record)
      if (event.kind === 'collection-restored') await this.#opened?.bases.uploadImage(event.importId, record.lsn)
    }
  }

  async #uploadBases(): Promise<void> {
    while (!this.#closing.signal.aborted && !isFinal(this.#fault)) {
      let isUploaded = false
      try {
        isUploaded = (await this.#opened?.bases.uploadIfDue()) ?? false
        if (isUploaded) {
          this.#hasGivenUp = false
          this.#note()
        }
        this.#baseTrouble = undefined
      } catch (error) {
        if (this.#closing.signal.aborted) return
        if (isFinal(error)) return this.#failed(error as Error)
        const { message } = error as Error
        if (this.#baseTrouble !== message) this.#say(`a checkpoint failed: ${message}`)
        this.#baseTrouble = message
        this.#failures++
      }
      const { baseTickMs = baseTickMsDefault, tickMs = tickMsDefault } = this.#options
      const ms = this.#opened?.bases.isNeeded === false ? baseTickMs : tickMs
      if (!isUploaded) await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  /** Measures the log that waits. It is only read while something fails. */
  async #measureBacklog(): Promise<void> {
    const { dataDir, backlogBytesMax } = this.#options
    const vfs = nodeVfs()
    const position = this.#opened?.uploader.position
    let bytes = 0
    try {
      for (const { id, path: file } of await historySegments({ vfs, dirs: [path.join(dataDir, 'wal')] })) {
        if (position === undefined || id > position.segmentId) bytes += await sizeOf(vfs, file)
        else if (id === position.segmentId) bytes += (await sizeOf(vfs, file)) - position.offset
      }
    } catch (error) {
      // A segment was removed meanwhile; it is measured again at the next failure.
      this.#options.onNotice(`the log that waits could not be measured: ${(error as Error).message}`)
      return
    }
    this.#backlogBytes = bytes
    if (bytes <= backlogBytesMax || this.#options.isRequired || this.#hasGivenUp) return
    this.#hasGivenUp = true
    this.#options.onNotice(`the archive in ${this.#at}: ${bytes} bytes of the log wait; the log is truncated now`)
  }

  #isBacklogGivenUp(): boolean {
    return this.#hasGivenUp && this.#backlogBytes > this.#options.backlogBytesMax
  }
}

/** Another server has the archive. Only an operator knows which of them must go on. */
function isFinal(error: unknown): error is ArchiveError {
  return error instanceof ArchiveError && finalCodes.has(error.code)
}

function troubleOf(error: Error | undefined): string | undefined {
  if (error instanceof ArchiveError) return error.code
  if (error instanceof BucketUnavailable) return error.trouble
  if (error instanceof UnconditionalBucketError) return 'unconditional'
  return error && 'other'
}
