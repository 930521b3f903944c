// An operator's order to take an archive over: a server that follows it with the directory does it, or this process if none is open.
import { EngineError } from '@annal/engine'
import { lockHolder } from '@annal/wal'
import { parseBucketPlace } from '../backups/bucket-place.ts'
import { ArchiveCopy, type ArchiveCopyOptions } from './archive-copy.ts'
import { readFollowState } from './follow-state.ts'
import { requestTakeover } from './takeover-request.ts'

/** Which directory becomes the writer of which archive. */
export interface TakeOverArchive extends Pick<ArchiveCopyOptions, 'dataDir' | 'onNotice' | 'onDownload'> {
  /** `s3://BUCKET/PREFIX`; the archive that the directory follows by default. */
  readonly from?: string | undefined
  /** How long a server that has the directory open may take. */
  readonly timeoutMs: number
}

/** What became of it. */
export interface TakenOver {
  /** `s3://BUCKET/PREFIX` */
  readonly from: string
  /** The last record before the takeover. */
  readonly lsn: number
  /** A server has the directory open and takes writes now. */
  readonly isServed: boolean
}

/**
 * Makes a directory the writer of an archive; an empty one is filled from the archive first. Every other writer is refused by the bucket from
 * then on. Throws invalid_argument, ArchiveError, StoreUnavailable, UnconditionalBucketError, directory_locked.
 */
export async function takeOverArchive(options: TakeOverArchive): Promise<TakenOver> {
  const { dataDir, timeoutMs } = options
  const state = await readFollowState(dataDir)
  const from = options.from ?? state?.from
  const place = from === undefined ? undefined : parseBucketPlace(from)
  if (from === undefined || place === undefined)
    throw invalid(
      from === undefined
        ? `${dataDir} follows no archive; name one`
        : `"${from}" is not s3://BUCKET or s3://BUCKET/PREFIX`,
    )
  const holder = await lockHolder(dataDir)
  if (holder !== undefined && !holder.isGone && state !== undefined) {
    const answer = await requestTakeover(dataDir, timeoutMs)
    if (answer?.kind === 'done') return { from, lsn: answer.lsn, isServed: true }
    throw invalid(answer?.message ?? `process ${holder.pid}, which has ${dataDir} open, did not answer in time`)
  }
  const copy = await ArchiveCopy.open({ ...options, place })
  if (copy === undefined) throw invalid(`${dataDir} has taken ${from} over already`)
  try {
    return { from, ...(await copy.takeOver(async () => undefined)), isServed: false }
  } finally {
    await copy.close()
    await copy.directory.close()
  }
}

function invalid(message: string): EngineError {
  return new EngineError('invalid_argument', message, { field: 'dataDir' })
}
