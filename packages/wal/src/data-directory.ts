// Opens a data directory in the only safe order: lock, identity, log; and closes it in the reverse one. A new directory
// gets its log first and its identity last, so that an identity without a log always means that something was lost.
import { dirname, join } from 'node:path'
import { WalError } from './errors.ts'
import { createIdentity, type Identity, readIdentity } from './identity.ts'
import { acquireLock } from './lock.ts'
import type { Log } from './log.ts'
import { nodeVfs } from './node-vfs.ts'
import { type FileLogOptions, openFileLog } from './open-file-log.ts'

export interface DataDirectoryOptions extends Omit<FileLogOptions, 'dir' | 'mustExist'> {
  /** The data directory; the log lives in its folder `wal`. */
  readonly dir: string
  readonly forceUnlock?: boolean
}

export interface DataDirectory {
  readonly identity: Identity
  readonly isNew: boolean
  readonly log: Log
  /** Closes the log, then gives the lock back. Idempotent. */
  close(): Promise<void>
}

export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { dir, forceUnlock, ...logOptions } = options
  const vfs = options.vfs ?? nodeVfs()
  if (!(await vfs.exists(dir))) {
    await vfs.makeDirectory(dir)
    await vfs.syncDirectory(dirname(dir))
  }
  const lock = await acquireLock(dir, { force: forceUnlock ?? false })
  try {
    const known = await readIdentity({ dir, vfs })
    const log = await openFileLog({ ...logOptions, vfs, dir: join(dir, 'wal'), mustExist: known !== undefined })
    const identity = known ?? (await identityFor(log, dir, vfs))
    const close = async () => {
      await log.close()
      await lock.release()
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

async function identityFor(log: Log, dir: string, vfs: NonNullable<FileLogOptions['vfs']>): Promise<Identity> {
  const { lsnLast } = log.state()
  if (lsnLast === 0) return createIdentity({ dir, vfs })
  await log.close()
  throw new WalError(
    'identity_damaged',
    `${dir} holds a log of ${lsnLast} records and no IDENTITY. Nothing was lost from the log. Put IDENTITY back from a copy of the directory, or restore a backup with \`annal restore\`.`,
    { file: join(dir, 'IDENTITY'), lsn: lsnLast },
  )
}
