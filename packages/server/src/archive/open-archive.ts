// Finds out what a bucket has of a directory, and where its upload continues.
import path from 'node:path'
import { newestCheckpointLsn } from '@annal/engine'
import { historySegments, type LogPosition, type LogRecord, nodeVfs, positionBefore, readIdentity } from '@annal/wal'
import { type FrameStore, StoreUnavailable } from '@annal/wal/replicated'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { openBucketStore, refuseUnconditional } from '../cluster/bucket-store.ts'
import { Objects } from '../cluster/objects.ts'
import { IndexObject } from './archive-index.ts'
import { type BaseDue, Bases, uploadsDir } from './bases.ts'
import { readTakeover } from './follow-state.ts'
import { LogUploader } from './log-uploader.ts'
import type { Line } from './message.ts'

/** What is archived, and where. */
export interface OpenArchive {
  readonly place: BucketPlace
  readonly dataDir: string
  /** Name of the archive in errors. */
  readonly at: string
  readonly keep: number
  readonly due: BaseDue
  readonly requestMs: number
  readonly onNotice: (sentence: string) => void
  readonly onBytes: (bytes: number) => void
  /** Throws when an upload is no longer wanted. */
  readonly checkWanted: () => void
  /** Called with records before they are uploaded. */
  readonly prepare: (records: readonly LogRecord[]) => Promise<void>
}

/** An archive that can be written to. */
export interface OpenedArchive {
  readonly store: FrameStore
  readonly uploader: LogUploader
  readonly bases: Bases
  readonly index: IndexObject
  /** Throws UnconditionalBucketError if the server does not check the conditions of writes any more. */
  checkConditions(): Promise<void>
  close(): Promise<void>
}

/** Throws ArchiveError, UnconditionalBucketError, and StoreUnavailable while the bucket cannot be used. */
export async function openArchive(options: OpenArchive): Promise<OpenedArchive> {
  const { place, dataDir, at, keep, due, requestMs, onNotice, onBytes, checkWanted, prepare } = options
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
    const owner = (await readTakeover(dataDir))?.number ?? 0
    const index = await IndexObject.open(objects, at, { uuid: line.uuid, owner })
    const { uploader, beginning } = await LogUploader.open({ store, place: history, line, at, prepare }, () =>
      findStart(dataDir, line),
    )
    const isWhole =
      beginning === 'new'
        ? uploader.position.segmentLsn <= 1
        : beginning === 'continued' && (await uploader.isWhole(index.value.bases.at(-1)?.messageFirst))
    if (beginning === 'after-gap')
      onNotice(`the archive in ${at} has a gap: the log no longer has the records in between`)
    const parts = { dataDir, line, store, objects, index, uploader, keep, owner, due, onBytes, onNotice, checkWanted }
    const bases = new Bases(parts, { isNeeded: !isWhole })
    return { store, uploader, bases, index, checkConditions: () => refuseUnconditional(objects, place), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A new archive begins with the segment that the newest checkpoint needs. */
async function findStart(dataDir: string, line: Line): Promise<LogPosition> {
  const lsn = await newestCheckpointLsn({ dataDir, identity: line })
  const segments = await historySegments({ vfs: nodeVfs(), dirs: [path.join(dataDir, 'wal')] })
  const start = segments.findLast(({ lsnFirst }) => lsnFirst <= lsn) ?? segments[0]
  if (start === undefined) throw new StoreUnavailable(`${dataDir} has no log yet`)
  return positionBefore(start)
}
