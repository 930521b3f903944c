// Opens a data directory in the only safe order: lock, identity, log. Closes it in the reverse order. A new directory
// gets its log first and its identity last, so an identity without a log always means lost data.
import { join } from 'node:path'
import { WalError } from './errors.ts'
import { createIdentity, type Identity, newTimeline, readIdentity } from './identity.ts'
import { reserveBytes } from './limits.ts'
import { acquireLock } from './lock.ts'
import type { Log, Lsn } from './log.ts'
import { nodeVfs } from './node-vfs.ts'
import { type FileLogOptions, openFileLog } from './open-file-log.ts'
import { Reserve } from './reserve.ts'
import { listLogFiles, withSegment } from './scan-segment.ts'
import { decodeSegmentHeader } from './segment-header.ts'
import type { Vfs } from './vfs.ts'
import { makeNamedDirectory } from './whole-file.ts'

/** Name of the file of a directory that follows an archive: another server writes, so this directory takes no records of its own. */
export const followsName = 'FOLLOWS'

/** Options of openDataDirectory. */
export interface DataDirectoryOptions extends Omit<FileLogOptions, 'dir' | 'mustExist' | 'recoverFrom' | 'lsnReached'> {
  /** The data directory. The log is in its folder `wal`. */
  readonly dir: string
  /**
   * Finds the first LSN the caller will read, for example from checkpoints. Called under the lock, before the log is
   * opened.
   */
  readonly findStart?: (known: Identity | undefined) => Promise<Lsn | undefined>
  /** The newest record that the caller has, for example in checkpoints. Called after `findStart`. A log that ends before it is refused. */
  readonly lsnReached?: () => number
  readonly forceUnlock?: boolean
}

/** An open data directory, owned by this process. */
export interface DataDirectory {
  readonly identity: Identity
  readonly isNew: boolean
  readonly log: Log
  /** Closes the log, then releases the lock. Idempotent. */
  close(): Promise<void>
}

/** Locks a data directory and opens its log. Throws directory_locked, directory_follows, identity_damaged, and the errors of openFileLog. */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { dir, forceUnlock, findStart, lsnReached, ...logOptions } = options
  const vfs = options.vfs ?? nodeVfs()
  await makeNamedDirectory(vfs, dir)
  const onWait = (pid: number | undefined) => options.onNotice?.({ kind: 'waiting-for-lock', pid })
  const reservePath = join(dir, 'RESERVE')
  const reserve = new Reserve({ vfs, path: reservePath, bytes: reserveBytes })
  const lock = await acquireLock(dir, { force: forceUnlock ?? false, onWait, makeRoom: () => reserve.give() })
  try {
    if (await vfs.exists(join(dir, followsName)))
      throw new WalError(
        'directory_follows',
        `${dir} follows an archive that another server writes. Open it with \`annal follow\`, or make it the writer with \`annal takeover\`.`,
        { file: dir },
      )
    const known = await readIdentity({ dir, vfs })
    const recoverFrom = await findStart?.(known)
    const existing = known === undefined ? { mustBeNew: true } : { mustExist: true }
    const start = { ...(recoverFrom !== undefined && { recoverFrom }), lsnReached: lsnReached?.() ?? 0 }
    // A random number in the header of every segment, so that a segment of another directory is refused.
    const timeline = known?.timeline ?? (await firstTimeline(vfs, join(dir, 'wal')))
    const line = { timeline, ...(known && { timelineAfter: known.forkedAfterLsn }) }
    const places = { dir: join(dir, 'wal'), reservePath }
    const log = await openFileLog({ ...logOptions, ...existing, ...start, ...line, vfs, ...places })
    const identity = known ?? (await createIdentityOf(log, dir, vfs, timeline))
    const close = async () => {
      try {
        await log.close()
      } finally {
        await lock.release()
      }
    }
    let closed: Promise<void> | undefined
    return {
      identity,
      isNew: known === undefined,
      log,
      close() {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Returns the timeline of an existing segment when an earlier start stopped before it wrote the identity; otherwise a
 * new one.
 */
async function firstTimeline(vfs: Vfs, dir: string): Promise<number> {
  const [first] = (await listLogFiles(vfs, dir)).segments
  if (first === undefined) return newTimeline()
  const found = await withSegment(vfs, first, async (_file, head) => decodeSegmentHeader(head))
  return found.kind === 'header' ? found.header.timeline : newTimeline()
}

async function createIdentityOf(log: Log, dir: string, vfs: Vfs, timeline: number): Promise<Identity> {
  try {
    return await createIdentity({ dir, vfs }, { timeline, forkedAfterLsn: 0 })
  } catch (error) {
    await log.close()
    throw error
  }
}
