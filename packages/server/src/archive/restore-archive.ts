// Restores a data directory from a bucket alone: downloads a checkpoint and the log after it into a directory next to the result, each
// object verified by its checksum and the log by its chain, and restores that directory to the moment.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { EngineError, type Progress, restoreDataDirectory } from '@annal/engine'
import { createIdentity, makeDurableDirectory, nodeVfs, segmentName, type VfsFile, writeFully } from '@annal/wal'
import type { FrameStore } from '@annal/wal/replicated'
import { type BucketPlace, parseBucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { openBucketStore } from '../cluster/bucket-store.ts'
import { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'
import { type Base, IndexObject } from './archive-index.ts'
import { baseFolder, downloadFiles, follows, imageFolder, type Way, waysTo } from './download.ts'
import { checkNumber } from './log-uploader.ts'
import { decodeMessage, type ReadMessage } from './message.ts'

export { StoreUnavailable } from '@annal/wal/replicated'
export { ArchiveError } from './archive-error.ts'
export { type TakenOver, type TakeOverArchive, takeOverArchive } from './take-over.ts'

/** What is restored, and where to. */
export interface RestoreArchive {
  /** `s3://BUCKET/PREFIX` */
  readonly from: string
  /** Must not exist yet. It gets its own identity. */
  readonly to: string
  /** Without `lsn` and `timeMs`, everything in the bucket is restored. */
  readonly lsn?: number | undefined
  readonly timeMs?: number | undefined
  readonly onDownload?: (done: { readonly what: string; readonly done: number; readonly total: number }) => void
  /** Called while the result is opened as a test. */
  readonly onProgress?: (progress: Progress) => void
  /** Called with a sentence if something in the bucket is damaged and the restore goes another way. */
  readonly onNotice?: (sentence: string) => void
}

/** Throws archive_empty, archive_damaged, restore_unreachable, invalid_argument; then nothing was created. */
export async function restoreArchive(options: RestoreArchive): Promise<{ readonly lsn: number }> {
  const place = parseBucketPlace(options.from)
  if (place === undefined)
    throw new EngineError('invalid_argument', `"${options.from}" is not s3://BUCKET or s3://BUCKET/PREFIX`, {
      field: 'from',
    })
  const to = path.resolve(options.to)
  if (await nodeVfs().exists(to))
    throw new EngineError('invalid_argument', `${to} already exists and is not overwritten`, { field: 'to' })
  const client = openS3Client()
  const store = await openBucketStore({ place, readOnly: true })
  try {
    return await new Restore({ ...options, to }, place, store, new Objects(client, place)).run()
  } finally {
    await store.close()
    client.destroy()
  }
}

class Restore {
  readonly #options: RestoreArchive
  readonly #at: string
  readonly #store: FrameStore
  readonly #objects: Objects

  constructor(options: RestoreArchive, place: BucketPlace, store: FrameStore, objects: Objects) {
    this.#options = options
    this.#at = `s3://${place.bucket}/${place.prefix}`
    this.#store = store
    this.#objects = objects
  }

  async run(): Promise<{ readonly lsn: number }> {
    const { to, onNotice } = this.#options
    const { first, last } = await this.#store.range()
    if (last < first) throw new ArchiveError('archive_empty', `${this.#at} holds no archive`)
    const index = await IndexObject.open(this.#objects, this.#at)
    let failure: Error | undefined
    const source = { at: this.#at, store: this.#store, objects: this.#objects }
    for (const way of await waysTo(source, index, this.#options)) {
      const staging = path.join(path.dirname(to), `tmp-download-${path.basename(to)}-${randomBytes(4).toString('hex')}`)
      try {
        return await this.#restore(way, { index, last, staging })
      } catch (error) {
        if (!isOfTheWay(error)) throw error
        failure ??= error
        onNotice?.(`${way.base ? `checkpoint ${way.base.name}` : 'the log from LSN 1'}: ${error.message}`)
      } finally {
        await nodeVfs().removeTree(staging)
      }
    }
    throw failure ?? new EngineError('restore_unreachable', `${this.#at} has no checkpoint at or before that moment`)
  }

  async #restore(
    { base, messageFirst }: Way,
    { index, last, staging }: { readonly index: IndexObject; readonly last: number; readonly staging: string },
  ): Promise<{ readonly lsn: number }> {
    const { to, lsn, timeMs, onProgress } = this.#options
    const vfs = nodeVfs()
    await makeDurableDirectory(vfs, path.dirname(to), path.parse(to).root)
    await vfs.makeDirectory(path.join(staging, 'wal'))
    if (base) {
      await this.#downloadFiles(index, base, path.join(staging, 'checkpoints', baseFolder(base)), base)
    }
    for (const image of index.value.images) {
      const { id, lsn: lsnOfImage } = image
      if (lsnOfImage <= (base?.lsn ?? 0) || lsnOfImage > (lsn ?? Number.POSITIVE_INFINITY)) continue
      await this.#downloadFiles(index, image, path.join(staging, 'imports', imageFolder(id)))
    }
    const { line } = await this.#downloadLog(messageFirst, last, path.join(staging, 'wal'))
    await createIdentity({ dir: staging, vfs }, line)
    return restoreDataDirectory({ from: staging, to, lsn, timeMs, onProgress })
  }

  #downloadFiles(
    index: IndexObject,
    { listing, folder }: Pick<Base, 'listing' | 'folder'>,
    dir: string,
    base?: Base,
  ): Promise<void> {
    let done = 0
    const what = base ? `checkpoint ${base.lsn}` : 'an image'
    const onBytes = (bytes: number) => {
      done += bytes
      this.#options.onDownload?.({ what, done, total: base?.bytes ?? done })
    }
    return downloadFiles(this.#objects, index, { listing, ...(folder && { folder }), dir, onBytes })
  }

  /** Writes the segments from a message on. Throws archive_damaged unless each message continues the one before it. */
  async #downloadLog(from: number, last: number, dir: string): Promise<ReadMessage> {
    const segments = new SegmentWriter(dir)
    let before: ReadMessage | undefined
    try {
      for await (const { seq, bytes } of this.#store.read(from, last)) {
        const message = checkNumber(decodeMessage(bytes, `message ${seq} of ${this.#at}`), seq, this.#at)
        if (before === undefined ? seq !== from : !follows(message, before))
          throw new ArchiveError('archive_damaged', `message ${seq} of ${this.#at} does not follow the one before it`)
        if (message.isAfterGap && before !== undefined) {
          this.#refuseGap(before, message)
          break
        }
        // A takeover has no records.
        if (!message.isTakeover) await segments.write(message)
        before = message
        this.#options.onDownload?.({ what: 'the log', done: seq - from + 1, total: last - from + 1 })
        if (this.#options.lsn !== undefined && message.lsnLast >= this.#options.lsn) break
      }
    } finally {
      await segments.close()
    }
    if (before === undefined) throw new ArchiveError('archive_damaged', `${this.#at} has no message ${from}`)
    return before
  }

  #refuseGap({ lsnLast }: ReadMessage, { from }: ReadMessage): void {
    if (this.#options.lsn !== undefined || this.#options.timeMs !== undefined) return
    throw new ArchiveError(
      'archive_damaged',
      `${this.#at} lacks the records after LSN ${lsnLast} and before LSN ${from.lsnNext}, and has no checkpoint after them; restore to LSN ${lsnLast}`,
    )
  }
}

/** Writes the bodies of messages to files of segments. */
class SegmentWriter {
  readonly #dir: string
  #name = ''
  #file: VfsFile | undefined
  #end = 0

  constructor(dir: string) {
    this.#dir = dir
  }

  async write({ from, body, number }: ReadMessage): Promise<void> {
    const name = segmentName(from.segmentId, from.segmentLsn)
    if (name !== this.#name) {
      await this.close()
      this.#file = await nodeVfs().open(path.join(this.#dir, name), 'create')
      this.#name = name
      this.#end = 0
    }
    if (from.offset !== this.#end)
      throw new ArchiveError(
        'archive_damaged',
        `message ${number} begins at byte ${from.offset} of ${name}, not ${this.#end}`,
      )
    await writeFully(this.#file as VfsFile, body, from.offset)
    this.#end += body.length
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }
}

/** Another way may avoid what is damaged. */
function isOfTheWay(error: unknown): error is Error {
  if (error instanceof ArchiveError) return error.code === 'archive_damaged'
  return error instanceof EngineError && error.code === 'restore_unreachable'
}
