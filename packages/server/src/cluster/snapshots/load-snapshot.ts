// Gives a node a checkpoint to begin with: the newest snapshot of the cluster, if the node is new, or if the log does not have what the
// node needs any more. The node then follows the log from there.
import path from 'node:path'
import { newestCheckpointLsn } from '@annal/engine'
import { acquireLock, makeDurableDirectory, makeNamedDirectory, nodeVfs, readIdentity, WalError } from '@annal/wal'
import { ServerError } from '../../errors.ts'
import { getFileSet } from '../file-sets.ts'
import type { SharedStore } from '../shared-store.ts'
import type { Roster } from './roster.ts'
import { type Snapshot, type SnapshotIndex, withoutSnapshots } from './snapshot-index.ts'

/** What loading needs. */
export interface SnapshotLoading {
  readonly dataDir: string
  /** The uuid of the cluster. */
  readonly uuid: string
  readonly index: SnapshotIndex
  readonly roster: Roster
  readonly shared: SharedStore
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number }) => void) | undefined
  readonly onNotice?: ((sentence: string) => void) | undefined
  /** Throws when the snapshot is no longer wanted. */
  readonly checkWanted: () => void
}

/** Why a snapshot is loaded. */
export interface LoadReason {
  /** The first record of the log. */
  readonly lsnFirst: number
  /** The node could not begin with what it has, although the log continues its checkpoint. */
  readonly isNeeded: boolean
}

/** The folder of the snapshots of a node in the shared store. */
export function snapshotsFolder(node: string): string {
  return `snapshots/${node}/`
}

/**
 * Loads a snapshot if this node needs one, and notes what the node needs of the log. Resolves to whether it loaded one. Rejects with
 * NodeRemovedError, `lsn_not_held` if the node needs a snapshot and there is none, `directory_locked`, and StoreUnavailable.
 */
export async function loadSnapshot(loading: SnapshotLoading, { lsnFirst, isNeeded }: LoadReason): Promise<boolean> {
  const { dataDir, uuid, index, roster } = loading
  const vfs = nodeVfs()
  await makeNamedDirectory(vfs, dataDir)
  const lock = await acquireLock(dataDir)
  try {
    const identity = await readIdentity({ dir: dataDir, vfs })
    // The node refuses it by name when it opens it.
    if (identity !== undefined && identity.uuid !== uuid) return false
    const own = await newestCheckpointLsn({ dataDir, identity: { uuid } })
    const isHeld = lsnFirst <= own + 1
    await roster.note({ checkpoint: own })
    if (own > 0 && isHeld && !isNeeded) return false
    const { snapshots } = await index.read()
    const usable = snapshots.filter(({ lsn }) => lsnFirst <= lsn + 1 && (isNeeded || lsn > own)).reverse()
    const begun = await begunIn(checkpointsIn(dataDir))
    // A download that was interrupted continues, although there may be a newer snapshot now.
    const first = usable.filter(({ name }) => begun.includes(name))
    for (const snapshot of new Set([...first, ...usable])) if (await load(loading, snapshot)) return true
    if (isHeld && !isNeeded) return false
    throw notHeld(lsnFirst, own)
  } finally {
    await lock.release()
  }
}

function checkpointsIn(dataDir: string): string {
  return path.join(dataDir, 'checkpoints')
}

/** The names of snapshots of which some files are there. The engine removes them when it opens. */
async function begunIn(checkpoints: string): Promise<readonly string[]> {
  const vfs = nodeVfs()
  if (!(await vfs.exists(checkpoints))) return []
  return (await vfs.list(checkpoints)).flatMap((name) => (name.startsWith('tmp-') ? [name.slice('tmp-'.length)] : []))
}

/** Resolves to false if the snapshot is damaged; then no other node tries it. An interrupted download leaves what it has. */
async function load(loading: SnapshotLoading, snapshot: Snapshot): Promise<boolean> {
  const { dataDir, index, roster, shared, onProgress, onNotice, checkWanted } = loading
  const { lsn, node, bytes: total } = snapshot
  const name = checkedName(snapshot.name)
  await roster.note({ checkpoint: lsn, loading: name })
  const vfs = nodeVfs()
  const checkpoints = checkpointsIn(dataDir)
  const making = path.join(checkpoints, `tmp-${name}`)
  let done = 0
  const onBytes = (bytes: number) => {
    checkWanted()
    done += bytes
    onProgress?.({ done: Math.min(done, total), total })
  }
  try {
    await makeDurableDirectory(vfs, checkpoints, dataDir)
    for (const begun of await begunIn(checkpoints))
      if (begun !== name) await vfs.removeTree(path.join(checkpoints, `tmp-${begun}`))
    if (!(await vfs.exists(making))) await vfs.makeDirectory(making)
    onProgress?.({ done, total })
    await getFileSet({ store: shared, folder: snapshotsFolder(node), name }, { vfs, dir: making, onBytes })
    await vfs.rename(making, path.join(checkpoints, name))
    await vfs.syncDirectory(checkpoints)
    onNotice?.(`this node begins with snapshot ${lsn} of node ${node}: ${total} bytes`)
    return true
  } catch (error) {
    if (!(error instanceof ServerError && error.code === 'shared_file_damaged')) throw error
    await vfs.removeTree(making)
    onNotice?.(`snapshot ${lsn} of node ${node} cannot be used: ${error.message}`)
    await index.change((list) => withoutSnapshots(list, (each) => each.name === name))
    return false
  }
}

/** Names come from the cluster, so they are checked before they become a path. */
export function checkedName(name: string): string {
  if (/^\d{20}-[0-9a-f]{8}$/.test(name)) return name
  throw new WalError('log_damaged', `the list of snapshots names ${JSON.stringify(name)} as a checkpoint`)
}

function notHeld(lsnFirst: number, own: number): WalError {
  return new WalError(
    'lsn_not_held',
    `the log of the cluster begins with LSN ${lsnFirst}, this node needs LSN ${own + 1}, and there is no snapshot that it can begin with. A node that is in service makes one`,
    { lsn: own + 1, limit: lsnFirst },
  )
}
