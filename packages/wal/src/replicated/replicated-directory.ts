// Opens the data directory of a node of a cluster: lock, identity, then a log that is elsewhere. The directory has the
// identity of the log, so a directory of a single server, or of another cluster, is refused.
import { join } from 'node:path'
import type { DataDirectory, DataDirectoryOptions } from '../data-directory.ts'
import { WalError } from '../errors.ts'
import { createIdentity, type Identity, newTimeline, readIdentity } from '../identity.ts'
import { acquireLock } from '../lock.ts'
import type { Log } from '../log.ts'
import { nodeVfs } from '../node-vfs.ts'
import { makeNamedDirectory } from '../whole-file.ts'
import type { ChainPosition } from './frame-chain.ts'
import type { ReplicatedLog } from './replicated-log.ts'
import { ownLogFolder } from './single-directory.ts'

/** How the directory of a node is opened. */
export interface ReplicatedDirectoryOptions
  extends Pick<DataDirectoryOptions, 'dir' | 'vfs' | 'findStart' | 'lsnReached' | 'onNotice'> {
  /** The uuid of the log. */
  readonly uuid: string
  /** The position that the newest checkpoint keeps. Known once `findStart` has resolved. */
  readonly checkpointPosition: () => string | undefined
  /** Opens the log at its end, from the position of a checkpoint if there is one. The directory needs the log from `lsnWanted` on. */
  readonly openLog: (from: ChainPosition | undefined, lsnWanted: number) => Promise<ReplicatedLog>
}

/**
 * Locks the directory and opens the log. Throws directory_locked, identity_mismatch, identity_damaged, `log_damaged` if the
 * log is older than the newest checkpoint, and `lsn_not_held` if it begins after it.
 */
export async function openReplicatedDirectory(options: ReplicatedDirectoryOptions): Promise<DataDirectory> {
  const { dir, uuid, vfs = nodeVfs() } = options
  await makeNamedDirectory(vfs, dir)
  const onWait = (pid: number | undefined) => options.onNotice?.({ kind: 'waiting-for-lock', pid })
  const lock = await acquireLock(dir, { force: false, onWait })
  let log: ReplicatedLog | undefined
  try {
    const known = await readIdentity({ dir, vfs })
    if (known !== undefined && known.uuid !== uuid) throw mismatch(dir, known, uuid)
    // It had the same identity before it left, or before it became the first node.
    if (await vfs.exists(join(dir, ownLogFolder))) throw single(dir, uuid)
    const start = (await options.findStart?.(known)) ?? 1
    const position = options.checkpointPosition()
    log = await options.openLog(position === undefined ? undefined : decodePosition(position), start)
    const { lsnFirst, lsnLast } = log.state()
    const reached = Math.max(start - 1, options.lsnReached?.() ?? 0)
    if (lsnLast < reached) throw older(reached, lsnLast)
    if (lsnFirst > start) throw notHeld(start, lsnFirst)
    const identity = known ?? (await createIdentity({ dir, vfs }, { uuid, timeline: newTimeline(), forkedAfterLsn: 0 }))
    return directoryOf(identity, known === undefined, log, () => lock.release())
  } catch (error) {
    await log?.close()
    await lock.release()
    throw error
  }
}

function directoryOf(identity: Identity, isNew: boolean, log: ReplicatedLog, release: () => Promise<void>) {
  let closed: Promise<void> | undefined
  const close = async () => {
    try {
      await log.close()
    } finally {
      await release()
    }
  }
  return {
    ...{ identity, isNew, log: untruncated(log) },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** A checkpoint of one node says nothing about what the others need, so it truncates nothing. */
function untruncated(log: ReplicatedLog): Log {
  return {
    append: (record) => log.append(record),
    read: (from) => log.read(from),
    truncateBefore: () => Promise.resolve(),
    sync: () => log.sync(),
    state: () => log.state(),
    close: () => log.close(),
  }
}

/** A position as text, for a checkpoint. */
export function encodePosition({ seq, seqSum, lsn, sum, epoch }: ChainPosition): string {
  return [seq, seqSum, lsn, sum, epoch].join(' ')
}

/** Reads the text of `encodePosition`. Throws `log_damaged`. */
export function decodePosition(text: string): ChainPosition {
  const [, seq, seqSum = '', lsn, sum = '', epoch] =
    /^(\d{1,15}) (\d{1,20}) (\d{1,15}) (\d{1,20}) (\d{1,15})$/.exec(text) ?? []
  if (epoch === undefined)
    throw new WalError('log_damaged', 'a checkpoint has no readable position in the replicated log', { evidence: text })
  return { seq: Number(seq), seqSum: BigInt(seqSum), lsn: Number(lsn), sum: BigInt(sum), epoch: Number(epoch) }
}

function mismatch(dir: string, known: Identity, uuid: string): WalError {
  return new WalError(
    'identity_mismatch',
    `${dir} has the data of ${known.uuid}, not of the cluster ${uuid}. Nothing was changed. Give this node an empty directory.`,
    { file: dir, value: known.uuid, limit: uuid },
  )
}

function single(dir: string, uuid: string): WalError {
  return new WalError(
    'identity_mismatch',
    `${dir} is the directory of a single server: it has a log of its own. Nothing was changed. Give this node an empty directory, or finish \`annal cluster init --from\`.`,
    { file: dir, limit: uuid },
  )
}

function older(lsn: number, lsnLast: number): WalError {
  return new WalError(
    'log_damaged',
    `the replicated log is older than this node: it ends with LSN ${lsnLast}, a checkpoint of this node has LSN ${lsn}`,
    { lsn, limit: lsnLast, evidence: 'older' },
  )
}

function notHeld(lsn: number, lsnFirst: number): WalError {
  return new WalError(
    'lsn_not_held',
    `the replicated log begins with LSN ${lsnFirst}; this node needs LSN ${lsn}, which was removed`,
    { lsn, limit: lsnFirst },
  )
}
