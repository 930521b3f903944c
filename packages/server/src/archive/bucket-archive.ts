// Keeps a copy of a data directory in a bucket while it is served: the log at least once each second while records are written, images
// before the records that name them, and checkpoints behind it. It knows how late the bucket is, and states in health why.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, newestCheckpointLsn } from '@annal/engine'
import { decodeEvent, isCatalogRecord } from '@annal/engine/events'
import {
  historySegments,
  type LogPosition,
  type LogRecord,
  nodeVfs,
  positionBefore,
  readIdentity,
  sizeOf,
  WalError,
} from '@annal/wal'
import { type FrameStore, StoreUnavailable } from '@annal/wal/replicated'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { openBucketStore, UnconditionalBucketError } from '../cluster/bucket-store.ts'
import { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'
import { IndexObject } from './archive-index.ts'
import { type BaseDue, Bases, uploadsDir } from './bases.ts'
import { LogUploader } from './log-uploader.ts'
import type { Line } from './message.ts'

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
  readonly due?: BaseDue
  /** How often it is looked whether a base is due, in milliseconds. */
  readonly baseTickMs?: number
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
}

const tickMs = 500
const baseTickMsDefault = 10_000
const retryMsMax = 5_000
const stopMsMax = 10_000
const stopTickMs = 20
const requestMsDefault = 10_000
const dueDefault: BaseDue = { logBytesMin: 64 * 1024 * 1024, logShareMin: 0.5 }

interface Opened {
  readonly store: FrameStore
  readonly uploader: LogUploader
  readonly bases: Bases
  readonly index: IndexObject
  close(): Promise<void>
}

/** The archive of one directory in a bucket. */
export class BucketArchive {
  readonly #options: BucketArchiveOptions
  readonly #at: string
  readonly #closing = new AbortController()
  #engine: Pick<Engine, 'lsnDurable' | 'lsnApplied'> | undefined
  #opened: Opened | undefined
  /** It lasts until the server is started again. */
  #fault: Error | undefined
  /** Why the last attempt failed; undefined after one that succeeded. */
  #trouble: string | undefined
  #baseTrouble: string | undefined
  #failures = 0
  #fileBytes = 0
  #backlogBytes = 0
  #gaveUpAt = 0
  /** When records were first seen that are not in the bucket yet, oldest first. In the time of performance.now(). */
  #seen: { readonly lsn: number; readonly sinceMs: number }[] = []
  readonly #waiting = new Set<{ readonly lsn: number; readonly end: (isReached: boolean) => void }>()
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
    const lsn = this.#engine?.lsnDurable ?? 0
    while (this.#opened && !this.#trouble && this.#lsnUploaded < lsn && !this.#closing.signal.aborted) {
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
    return this.#isBacklogGivenUp() ? Number.POSITIVE_INFINITY : (this.#opened?.uploader.lsnNeeded ?? 0)
  }

  /** Resolves to true when the bucket can be restored to a record, and to false after `timeoutMs`. */
  async whenArchived(lsn: number, timeoutMs: number): Promise<boolean> {
    if (this.#lsnRestorable >= lsn) return true
    if (this.#fault) return false
    return this.#whenRestorable(lsn, AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]))
  }

  /** Why records are not archived as they should be: one sentence for each reason. */
  reasons(): string[] {
    const reasons: string[] = []
    const say = (why: string) => void reasons.push(`the archive in ${this.#at}: ${why}`)
    if (this.#fault) say(`nothing is archived: ${this.#fault.message}`)
    else if (this.isLate()) {
      const { lagSeconds, backlogBytes } = this.figures()
      say(
        `it is ${Math.round(lagSeconds)} s late; ${backlogBytes} bytes of the log wait${this.#trouble ? `: ${this.#trouble}` : ''}`,
      )
    }
    if (this.#gaveUpAt > 0)
      say(
        `more than ${this.#options.backlogBytesMax} bytes of the log waited, so the log may be truncated before it is uploaded`,
      )
    if (!this.#opened && !this.#fault) say(`the bucket was not reached yet${this.#trouble ? `: ${this.#trouble}` : ''}`)
    if (this.#opened?.bases.isNeeded)
      say(
        `it cannot be restored to its end until a checkpoint is uploaded${this.#baseTrouble ? `: ${this.#baseTrouble}` : ''}`,
      )
    return reasons
  }

  /** Whether the bucket is later than it may be, or refuses this server. */
  isLate(): boolean {
    return this.#fault !== undefined || this.figures().lagSeconds * 1000 > this.#options.lagMsMax
  }

  /** Why writes are refused where the archive is required; undefined where they are not. */
  refusal(): string | undefined {
    if (!this.#options.isRequired) return undefined
    if (!this.isLate() && this.#backlogBytes <= this.#options.backlogBytesMax) return undefined
    return this.reasons()[0] ?? `the archive in ${this.#at}: ${this.#backlogBytes} bytes of the log wait`
  }

  figures(): ArchiveFigures {
    const [oldest] = this.#seen
    const lsnUploaded = this.#lsnUploaded
    return {
      lagSeconds: oldest === undefined ? 0 : (performance.now() - oldest.sinceMs) / 1000,
      lagLsns: Math.max(0, (this.#engine?.lsnDurable ?? 0) - lsnUploaded),
      backlogBytes: this.#backlogBytes,
      bytes: (this.#opened?.uploader.bytes ?? 0) + this.#fileBytes,
      messages: this.#opened?.uploader.number ?? 0,
      failures: this.#failures,
      bases: this.#opened?.index.value.bases.length ?? 0,
      lsnUploaded,
    }
  }

  /** The newest record to which the bucket can be restored. */
  get #lsnRestorable(): number {
    return this.#opened?.bases.isNeeded ? 0 : this.#lsnUploaded
  }

  get #lsnUploaded(): number {
    return this.#opened?.uploader.lsnUploaded ?? 0
  }

  #whenRestorable(lsn: number, signal: AbortSignal): Promise<boolean> {
    if (this.#lsnRestorable >= lsn) return Promise.resolve(true)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const entry = { lsn, end: (isReached: boolean) => end(isReached) }
    const abort = () => end(false)
    const end = (isReached: boolean) => {
      this.#waiting.delete(entry)
      signal.removeEventListener('abort', abort)
      resolve(isReached)
    }
    this.#waiting.add(entry)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    this.#wake()
    return promise
  }

  async #uploadLog(): Promise<void> {
    let retryMs = tickMs
    while (!this.#closing.signal.aborted) {
      try {
        this.#note()
        if (this.#fault) throw this.#fault
        this.#opened ??= await this.#open()
        while (!this.#closing.signal.aborted && (await this.#opened.uploader.step(this.#engine?.lsnDurable ?? 0)))
          this.#note()
        this.#note()
        this.#trouble = undefined
        retryMs = tickMs
        await this.#pause(tickMs)
      } catch (error) {
        this.#failed(error as Error)
        await this.#measureBacklog()
        await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
        retryMs = Math.min(2 * retryMs, retryMsMax)
      }
    }
  }

  /** Waits for the next look at the log, or until a write waits for the archive. */
  async #pause(ms: number): Promise<void> {
    const lsn = this.#engine?.lsnDurable ?? 0
    for (const { lsn: wanted } of this.#waiting) if (wanted > this.#lsnUploaded && wanted <= lsn) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    await promise
    clearTimeout(timer)
    this.#wake = () => undefined
  }

  /** Notes what is durable now and what has been uploaded. */
  #note(): void {
    const lsn = this.#engine?.lsnDurable ?? 0
    const uploaded = this.#lsnRestorable
    this.#seen = this.#seen.filter((seen) => seen.lsn > uploaded)
    if (lsn > Math.max(uploaded, this.#seen.at(-1)?.lsn ?? 0)) this.#seen.push({ lsn, sinceMs: performance.now() })
    for (const { lsn: wanted, end } of this.#waiting) if (wanted <= uploaded) end(true)
    if (this.#seen.length === 0) this.#backlogBytes = 0
  }

  #failed(error: Error): void {
    if (error === this.#fault) return
    this.#failures++
    const isLasting = error instanceof ArchiveError || error instanceof UnconditionalBucketError
    if (isLasting) this.#fault = error
    // Records that were given up are not there any more: the archive goes on after a gap.
    if (error instanceof WalError && error.code === 'lsn_not_held') void this.#close()
    if (this.#trouble !== error.message) this.#options.onNotice(`the archive in ${this.#at}: ${error.message}`)
    this.#trouble = error.message
    if (isLasting) for (const { end } of this.#waiting) end(false)
  }

  async #close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.close()
  }

  async #open(): Promise<Opened> {
    const { place, dataDir, keep, requestMs = requestMsDefault } = this.#options
    const vfs = nodeVfs()
    const line = await readIdentity({ dir: dataDir, vfs })
    if (line === undefined) throw new StoreUnavailable(`${dataDir} has no identity yet`)
    await vfs.removeTree(uploadsDir(dataDir))
    const store = await openBucketStore({ place, requestMs })
    const client = openS3Client({ replyTimeoutMs: requestMs })
    const close = async () => {
      client.destroy()
      await store.close()
    }
    try {
      const objects = new Objects(client, place)
      const history = { vfs, dirs: [path.join(dataDir, 'archive', 'wal'), path.join(dataDir, 'wal')] }
      const index = await IndexObject.open(objects, this.#at, line.uuid)
      const parts = {
        ...{ store, place: history, line, at: this.#at },
        prepare: (records: readonly LogRecord[]) => this.#prepare(records),
      }
      const { uploader, beginning } = await LogUploader.open(parts, () => this.#findStart(line))
      const isWhole =
        beginning === 'new'
          ? uploader.position.segmentLsn <= 1
          : beginning === 'continued' && (await uploader.isWhole(index.value.bases.at(-1)?.messageFirst))
      if (beginning === 'after-gap')
        this.#options.onNotice(`the archive in ${this.#at}: the log in between is not held any more; there is a gap`)
      const bases = new Bases(
        {
          ...{ dataDir, line, store, objects, index, uploader, keep },
          due: this.#options.due ?? dueDefault,
          now: Date.now,
          onBytes: (bytes) => {
            this.#fileBytes += bytes
          },
          checkWanted: () => this.#closing.signal.throwIfAborted(),
        },
        { isNeeded: !isWhole },
      )
      return { store, uploader, bases, index, close }
    } catch (error) {
      await close()
      throw error
    }
  }

  /** A new archive begins with the segment that the newest checkpoint needs. */
  async #findStart(line: Line): Promise<LogPosition> {
    const { dataDir } = this.#options
    const lsn = await newestCheckpointLsn({ dataDir, identity: line })
    const segments = await historySegments({ vfs: nodeVfs(), dirs: [path.join(dataDir, 'wal')] })
    const start = segments.findLast(({ lsnFirst }) => lsnFirst <= lsn) ?? segments[0]
    if (start === undefined) throw new StoreUnavailable(`${dataDir} has no log yet`)
    return positionBefore(start)
  }

  async #prepare(records: readonly LogRecord[]): Promise<void> {
    for (const record of records) {
      if (!isCatalogRecord(record)) continue
      const event = decodeEvent(record)
      if (event.kind === 'collection-restored') await this.#opened?.bases.uploadImage(event.importId, record.lsn)
    }
  }

  async #uploadBases(): Promise<void> {
    while (!this.#closing.signal.aborted && !this.#fault) {
      let isUploaded = false
      try {
        isUploaded = (await this.#opened?.bases.uploadIfDue()) ?? false
        if (isUploaded) {
          this.#gaveUpAt = 0
          this.#note()
        }
        this.#baseTrouble = undefined
      } catch (error) {
        if (this.#closing.signal.aborted) return
        if (error instanceof ArchiveError && error.code === 'archive_in_use') return this.#failed(error)
        const { message } = error as Error
        if (this.#baseTrouble !== message)
          this.#options.onNotice(`the archive in ${this.#at}: a checkpoint failed: ${message}`)
        this.#baseTrouble = message
        this.#failures++
      }
      const ms = this.#opened?.bases.isNeeded === false ? (this.#options.baseTickMs ?? baseTickMsDefault) : tickMs
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
    if (bytes <= backlogBytesMax || this.#options.isRequired || this.#gaveUpAt > 0) return
    this.#gaveUpAt = Date.now()
    this.#options.onNotice(`the archive in ${this.#at}: ${bytes} bytes of the log wait; the log is truncated now`)
  }

  #isBacklogGivenUp(): boolean {
    return this.#gaveUpAt > 0 && this.#backlogBytes > this.#options.backlogBytesMax
  }
}
