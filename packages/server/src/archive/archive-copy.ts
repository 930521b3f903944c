// A copy of an archive in a data directory: it begins with the newest checkpoint, grows by what arrives in the bucket, and can take the
// archive over. It needs no engine, and knows none.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@annal/engine'
import { decodeEvent, isCatalogRecord } from '@annal/engine/events'
import {
  acquireLock,
  createIdentity,
  type LogRecord,
  makeNamedDirectory,
  newTimeline,
  nodeVfs,
  readIdentity,
} from '@annal/wal'
import { CopiedDirectory, type FrameStore, StoreUnavailable } from '@annal/wal/replicated'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { openBucketStore } from '../cluster/bucket-store.ts'
import { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'
import { IndexObject } from './archive-index.ts'
import { type ArchiveSource, baseFolder, downloadFiles, imageFolder, type Way, waysTo } from './download.ts'
import { endFollowing, type FollowState, readFollowState, readTakeover, writeFollowState } from './follow-state.ts'
import { checkNumber, readMessage } from './log-uploader.ts'
import { decodeMessage, encodeMessage } from './message.ts'

/** What is copied, and where to. */
export interface ArchiveCopyOptions {
  readonly place: BucketPlace
  readonly dataDir: string
  readonly requestMs?: number | undefined
  readonly onNotice?: (sentence: string) => void
  readonly onDownload?: (done: { readonly what: string; readonly done: number; readonly total: number }) => void
}

/** What arrived. */
export interface Arrived {
  /** In the order of the log; they are durable in the directory. */
  readonly records: readonly LogRecord[]
  /** Whether the copy has everything that was in the bucket when the call began. */
  readonly isAtEnd: boolean
}

/** The newest message of the copy. */
interface Newest {
  readonly number: number
  readonly sum: Buffer
}

/** Messages that are copied before their place is noted, about 32 MiB. */
const messagesAtOnce = 8
const requestMsDefault = 10_000
const attemptsMax = 10
const attemptMs = 100

/** An open copy. It holds the lock of its directory. */
export class ArchiveCopy {
  readonly directory: CopiedDirectory
  readonly #options: ArchiveCopyOptions
  readonly #source: ArchiveSource
  readonly #close: () => Promise<void>
  #newest: Newest
  #takeover: number | undefined
  /** The number of the message with which this directory took over. */
  #tookOverWith: number | undefined
  /** Records whose images are not in the directory yet. */
  #pending: LogRecord[] = []

  /** Only the functions of this file that open a copy call it. */
  constructor(
    { options, source, close }: Opening,
    { directory, newest, takeover }: { directory: CopiedDirectory; newest: Newest; takeover: number | undefined },
  ) {
    this.#options = options
    this.#source = source
    this.#close = close
    this.directory = directory
    this.#newest = newest
    this.#takeover = takeover
  }

  /**
   * Opens a copy, or begins one in an empty directory. Returns undefined if the directory has taken over from this archive. Throws
   * directory_locked, invalid_argument, ArchiveError, and StoreUnavailable.
   */
  static async open(options: ArchiveCopyOptions): Promise<ArchiveCopy | undefined> {
    const { place, dataDir, requestMs = requestMsDefault } = options
    const at = `s3://${place.bucket}/${place.prefix}`
    const vfs = nodeVfs()
    await makeNamedDirectory(vfs, dataDir)
    const lock = await acquireLock(dataDir)
    const client = openS3Client({ replyTimeoutMs: requestMs })
    let store: FrameStore | undefined
    const close = async () => {
      client.destroy()
      await store?.close()
    }
    try {
      const state = await readFollowState(dataDir)
      if (state !== undefined && state.from !== at) throw invalid(`${dataDir} follows ${state.from}, not ${at}`)
      if (state === undefined && (await readTakeover(dataDir))?.from === at) {
        await close()
        await lock.release()
        return undefined
      }
      if (state === undefined && (await readIdentity({ dir: dataDir, vfs })) !== undefined)
        throw invalid(`${dataDir} has data of its own; a server follows an archive with an empty directory`)
      store = await openBucketStore({ place, requestMs, readOnly: true })
      const opening = { options, source: { at, store, objects: new Objects(client, place) }, close, lock }
      return state?.end ? await reopen(opening, state, state.end) : await begin(opening)
    } catch (error) {
      await close()
      await lock.release()
      throw error
    }
  }

  /** The name of the archive. */
  get at(): string {
    return this.#source.at
  }

  /** Whether the archive names this directory as its writer. */
  get hasTakenOver(): boolean {
    return this.#tookOverWith !== undefined
  }

  /** LSN of the newest record of the copy, counting those of the log itself. */
  get lsn(): number {
    return (this.directory.end?.lsnNext ?? 1) - 1
  }

  /** Copies what arrived, some messages at a time. Throws StoreUnavailable and ArchiveError; the next call continues. */
  async next(): Promise<Arrived> {
    const { store, at } = this.#source
    const { first, last } = await store.range()
    const from = this.#newest.number + 1
    if (from < first) throw trimmed(at, `message ${from} was removed, and this directory needs it`)
    const to = Math.min(last, from + messagesAtOnce - 1)
    if (from <= to) {
      for await (const { seq, bytes } of store.read(from, to)) await this.#add(seq, bytes)
      await this.#bringImages(this.#pending)
      await this.#save()
    }
    const records = this.#pending
    this.#pending = []
    return { records, isAtEnd: to >= last }
  }

  async #add(seq: number, bytes: Uint8Array): Promise<void> {
    const { at } = this.#source
    const message = checkNumber(decodeMessage(bytes, `message ${seq} of ${at}`), seq, at)
    const { number, sum } = this.#newest
    // The first message after the beginning has none before it here.
    if (sum.length > 0 && !message.before.equals(sum))
      throw new ArchiveError('archive_damaged', `message ${seq} of ${at} does not follow message ${number}`)
    if (message.isAfterGap && this.directory.end !== undefined)
      throw trimmed(at, `message ${seq} begins after records that the archive does not have`)
    if (!message.isTakeover) this.#pending.push(...(await this.directory.add(message)))
    else if (message.line.timeline === this.#takeover) this.#tookOverWith = seq
    this.#newest = { number: seq, sum: message.sum }
  }

  /** Images are in the bucket before the records that name them. */
  async #bringImages(records: readonly LogRecord[]): Promise<void> {
    const vfs = nodeVfs()
    for (const record of records) {
      if (!isCatalogRecord(record)) continue
      const event = decodeEvent(record)
      if (event.kind !== 'collection-restored') continue
      const dir = path.join(this.#options.dataDir, 'imports', imageFolder(event.importId))
      if (await vfs.exists(dir)) continue
      const { at, objects } = this.#source
      const index = await IndexObject.open(objects, at)
      const image = index.value.images.find(({ id }) => id === event.importId)
      // A checkpoint that is newer made it unnecessary, or its collection was deleted.
      if (image === undefined) throw trimmed(at, `the image of record ${record.lsn} was removed`)
      const making = path.join(this.#options.dataDir, 'imports', `tmp-${event.importId}`)
      await vfs.removeTree(making)
      await downloadFiles(objects, index, { ...image, dir: making, onBytes: () => undefined })
      await vfs.rename(making, dir)
      await vfs.syncDirectory(path.dirname(dir))
    }
  }

  async #save(): Promise<void> {
    const { end: position } = this.directory
    const { number, sum } = this.#newest
    await writeFollowState(this.#options.dataDir, {
      from: this.at,
      ...(position && { end: { position, number, sum: sum.toString('hex') } }),
      ...(this.#takeover !== undefined && { takeover: this.#takeover }),
    })
  }

  /**
   * Makes this directory the writer of the archive: a message after the newest one names it, which only one server can write. `onArrived`
   * gets what arrives before it. Resolves with the last LSN before the takeover. Throws UnconditionalBucketError, StoreUnavailable, and
   * ArchiveError; a call after a failure continues.
   */
  async takeOver(onArrived: (records: readonly LogRecord[]) => Promise<void>): Promise<{ readonly lsn: number }> {
    const { place, requestMs = requestMsDefault } = this.#options
    const store = await openBucketStore({ place, requestMs })
    try {
      this.#takeover ??= newTimeline()
      const timeline = this.#takeover
      await this.#save()
      let unknown = 0
      while (this.#tookOverWith === undefined) {
        const { records, isAtEnd } = await this.next()
        await onArrived(records)
        if (!isAtEnd || this.hasTakenOver) continue
        // Unless the outcome is unknown, the next message is this one, or another that comes before it.
        const outcome = await store.append(this.#takeoverMessage(timeline), this.#newest.number)
        if (outcome.kind !== 'unknown') continue
        if (++unknown === attemptsMax) throw outcome.cause ?? new StoreUnavailable(`${this.at} confirms no writes`)
        await sleep(attemptMs * unknown)
      }
      const lsn = this.lsn
      await this.directory.becomeWriter(timeline)
      await endFollowing(this.#options.dataDir, { from: this.at, number: this.#tookOverWith })
      return { lsn }
    } finally {
      await store.close()
    }
  }

  #takeoverMessage(timeline: number): Buffer {
    const { segmentId = 0, lsnNext = 1 } = this.directory.end ?? {}
    const number = this.#newest.number + 1
    return encodeMessage({
      line: { uuid: this.directory.identity.uuid, timeline, forkedAfterLsn: lsnNext - 1 },
      ...{ number, segmentNumber: number, isAfterGap: false, isTakeover: true },
      // Its own log begins with a new segment.
      from: { segmentId: segmentId + 1, segmentLsn: lsnNext, offset: 0, lsnNext },
      ...{ lsnLast: lsnNext - 1, before: this.#newest.sum, body: Buffer.alloc(0) },
    }).bytes
  }

  /** Ends the connection. The directory is closed by its user. */
  close(): Promise<void> {
    return this.#close()
  }
}

interface Opening {
  readonly options: ArchiveCopyOptions
  readonly source: ArchiveSource
  readonly close: () => Promise<void>
  readonly lock: Awaited<ReturnType<typeof acquireLock>>
}

async function reopen(
  opening: Opening,
  { takeover }: FollowState,
  { position, number, sum }: NonNullable<FollowState['end']>,
): Promise<ArchiveCopy> {
  const { lock, options } = opening
  const vfs = nodeVfs()
  const identity = await readIdentity({ dir: options.dataDir, vfs })
  if (identity === undefined) throw invalid(`${options.dataDir} has no identity; remove it, and follow again`)
  const directory = await CopiedDirectory.open({ dir: options.dataDir, vfs, identity, lock, end: position })
  return new ArchiveCopy(opening, { directory, newest: { number, sum: Buffer.from(sum, 'hex') }, takeover })
}

/** Downloads the newest checkpoint that is intact, and the log after it. */
async function begin(opening: Opening): Promise<ArchiveCopy> {
  const { options, source } = opening
  const { first, last } = await source.store.range()
  if (last < first) throw new ArchiveError('archive_empty', `${source.at} holds no archive`)
  const index = await IndexObject.open(source.objects, source.at)
  let failure: ArchiveError | undefined
  for (const way of await waysTo(source, index, {})) {
    try {
      return await beginWith(opening, index, way)
    } catch (error) {
      if (!(error instanceof ArchiveError && error.code === 'archive_damaged')) throw error
      failure ??= error
      options.onNotice?.(`${way.base ? `checkpoint ${way.base.name}` : 'the log from LSN 1'}: ${error.message}`)
    }
  }
  throw failure ?? trimmed(source.at, 'it has no checkpoint yet, and its log does not begin with LSN 1')
}

async function beginWith(opening: Opening, index: IndexObject, { base, messageFirst }: Way): Promise<ArchiveCopy> {
  const { options, source, lock } = opening
  const { dataDir, onDownload } = options
  const vfs = nodeVfs()
  // Also what an earlier attempt left.
  await writeFollowState(dataDir, { from: source.at })
  for (const folder of ['checkpoints', 'imports', 'wal', 'originals', 'archive'])
    await vfs.removeTree(path.join(dataDir, folder))
  if (base) {
    let done = 0
    const onBytes = (bytes: number) => {
      done += bytes
      onDownload?.({ what: `checkpoint ${base.lsn}`, done, total: base.bytes })
    }
    const dir = path.join(dataDir, 'checkpoints', baseFolder(base))
    await downloadFiles(source.objects, index, { ...base, dir, onBytes })
    await vfs.syncDirectory(dir)
    await vfs.syncDirectory(path.dirname(dir))
  }
  const { line } = await readMessage(source.store, messageFirst, source.at)
  const identity = await createIdentity({ dir: dataDir, vfs }, line)
  const directory = await CopiedDirectory.open({ dir: dataDir, vfs, identity, lock, end: undefined })
  const newest = { number: messageFirst - 1, sum: Buffer.alloc(0) }
  return new ArchiveCopy(opening, { directory, newest, takeover: undefined })
}

function invalid(message: string): EngineError {
  return new EngineError('invalid_argument', message, { field: 'dataDir' })
}

function trimmed(at: string, why: string): ArchiveError {
  const message = `${at} cannot be followed from here: ${why}. Remove the directory and follow again; it then begins with a newer checkpoint.`
  return new ArchiveError('archive_trimmed', message)
}
