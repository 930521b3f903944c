// Turns the data directory of a node into that of a single server: a log of its own begins behind the newest checkpoint, on a new timeline.
import { join } from 'node:path'
import { BatchEncoder } from '../batch.ts'
import { WalError } from '../errors.ts'
import { recordType } from '../frame.ts'
import { createIdentity, newTimeline, readIdentity } from '../identity.ts'
import { acquireLock } from '../lock.ts'
import { nodeVfs } from '../node-vfs.ts'
import { createSegment, randomEpoch, type Tail } from '../tail.ts'
import { encodeTip, tipName } from '../tip.ts'
import type { Vfs } from '../vfs.ts'
import { createWhole, makeDurableDirectory, writeFully } from '../whole-file.ts'

/** The folder of the log of a single server. A node has none. */
export const ownLogFolder = 'wal'

/** How a directory leaves. */
export interface SingleDirectoryOptions {
  readonly dir: string
  readonly vfs?: Vfs
  /**
   * Finds the newest checkpoint: its LSN, 0 if there is none, and the newest record that any part of it has. Called under the lock.
   */
  readonly newestCheckpoint: (uuid: string) => Promise<{ readonly lsn: number; readonly lsnReached: number }>
}

/**
 * Gives the directory of a node a log of its own, and returns the newest LSN that it has. Throws `identity_mismatch` if it has one already,
 * or if there is no checkpoint, directory_locked, and identity_damaged.
 */
export async function makeSingleDirectory(options: SingleDirectoryOptions): Promise<number> {
  const { dir, vfs = nodeVfs() } = options
  const known = await readIdentity({ dir, vfs })
  if (known === undefined) throw refused(dir, 'it is not a data directory')
  const lock = await acquireLock(dir, { force: false })
  try {
    const walDir = join(dir, ownLogFolder)
    if (await vfs.exists(walDir)) throw refused(dir, 'it is that of a single server')
    const { lsn, lsnReached } = await options.newestCheckpoint(known.uuid)
    if (lsn === 0) throw refused(dir, 'it has no checkpoint; stop the node by SIGTERM, which takes one')
    const making = join(dir, `tmp-${ownLogFolder}`)
    await vfs.removeTree(making)
    await makeDurableDirectory(vfs, making, dir)
    const timeline = newTimeline()
    const position = { vfs, dir: making, timeline, makeEpoch: randomEpoch }
    const tail = await createSegment(position, { id: 1, lsnFirst: lsn + 1, chainBefore: 0n })
    await passOver(tail, { lsn, lsnReached }).finally(() => tail.close())
    const tip = encodeTip({ seq: 2, durableLsn: lsnReached, segmentId: 1 })
    await createWhole(vfs, join(making, tipName), (file) => writeFully(file, tip, 0))
    await createIdentity({ dir, vfs }, { uuid: known.uuid, timeline, forkedAfterLsn: lsn })
    // Until then it is the directory of a node, whatever its timeline is.
    await vfs.rename(making, walDir)
    await vfs.syncDirectory(dir)
    return lsnReached
  } finally {
    await lock.release()
  }
}

/** Parts of a checkpoint may have records after its LSN. Markers take the numbers of these records, so that no other record gets them. */
async function passOver(
  tail: Tail,
  { lsn, lsnReached }: { readonly lsn: number; readonly lsnReached: number },
): Promise<void> {
  if (lsnReached === lsn) return
  const marker = { type: recordType.marker, version: 0, pieces: [], length: 0 }
  const start = { lsnFirst: lsn + 1, durableLsn: lsn, chain: 0n, seed: tail.seed }
  await tail.write(
    new BatchEncoder().encode(
      Array.from({ length: lsnReached - lsn }, () => marker),
      start,
    ),
  )
  await tail.sync()
}

function refused(dir: string, why: string): WalError {
  const message = `${dir} cannot leave a cluster: ${why}. Nothing was changed.`
  return new WalError('identity_mismatch', message, { file: dir })
}
