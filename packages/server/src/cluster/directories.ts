// Data directories that join and leave a cluster: that of a single server becomes the first node of a new cluster, and that of a node becomes
// a single server. Both keep their data, and so their digests. No server may have the directory open.
import path from 'node:path'
import { EngineError, newestCheckpointLsn, newestCheckpointReach, openEngine } from '@annal/engine'
import { placeholderRecord } from '@annal/engine/replicated'
import { nodeVfs, readIdentity, WalError } from '@annal/wal'
import { beginLog, makeSingleDirectory, ownLogFolder, StoreUnavailable } from '@annal/wal/replicated'
import type { NatsConnection } from '@nats-io/transport-node'
import type { ClusterConfig } from './cluster-config.ts'
import { claimIdentity, logIdOf } from './cluster-identity.ts'
import { openControlBucket } from './control-bucket.ts'
import { openLogStore } from './log-store.ts'
import { connectNats, natsOptions, natsTrouble } from './nats-connection.ts'
import { WeakServerError } from './nats-monitor.ts'

export { exitOf } from '../exit.ts'

/** A directory that joined or left. */
export interface MovedDirectory {
  /** The newest LSN that it has. */
  readonly lsn: number
  /** Of its catalog and of each collection, in order. Equal digests mean equal state. */
  readonly digest: string
}

/** The log of the single server stays under this name, until an operator removes it. */
export const logBeforeCluster = 'wal-before-cluster'
const requestMs = 4000

/**
 * Makes the directory of a single server the first node of a new cluster. Repeats what was interrupted. Rejects with identity_mismatch if
 * the cluster is not new, or the directory is not that of a single server; then nothing is changed.
 */
export async function initCluster(config: ClusterConfig, dataDir: string): Promise<MovedDirectory> {
  const [vfs, walDir] = [nodeVfs(), path.join(dataDir, ownLogFolder)]
  const identity = await readIdentity({ dir: dataDir, vfs })
  if (identity === undefined || !(await vfs.exists(walDir)))
    throw new WalError('identity_mismatch', `${dataDir} is not the data directory of a single server`, {
      file: dataDir,
    })
  const { timeMs, ...moved } = await settle(dataDir)
  if (moved.lsn !== (await newestCheckpointLsn({ dataDir, identity })))
    throw new EngineError('snapshot_damaged', `${dataDir} could not be written to a checkpoint`)
  const connection = await connected(config)
  try {
    const bucket = await openControlBucket(connection, {
      ...{ name: `annal-${config.name}`, replicas: config.replicas, requestMs },
    })
    const store = await openLogStore(connection, config, () => Promise.resolve())
    const { last } = await store.range()
    await claimIdentity(bucket, identity.uuid, { isNew: last === 0 })
    await beginLog({ store, logId: logIdOf(identity.uuid), lsn: moved.lsn, record: placeholderRecord(timeMs) })
  } finally {
    await connection.close()
  }
  // The last step: until then it is the directory of a single server.
  await vfs.rename(walDir, path.join(dataDir, logBeforeCluster))
  await vfs.syncDirectory(dataDir)
  return moved
}

/**
 * Makes the directory of a node that was stopped that of a single server, as of its newest checkpoint. Rejects with identity_mismatch if it
 * is not that of a node; then nothing is changed.
 */
export async function leaveCluster(dataDir: string): Promise<MovedDirectory> {
  const newestCheckpoint = (uuid: string) => newestCheckpointReach({ dataDir, identity: { uuid } })
  await makeSingleDirectory({ dir: dataDir, newestCheckpoint })
  const { timeMs: _, ...moved } = await settle(dataDir)
  return moved
}

/** Opens a directory, writes everything to a checkpoint, and closes it. */
async function settle(dataDir: string): Promise<MovedDirectory & { readonly timeMs: number }> {
  const engine = await openEngine({ dataDir })
  try {
    const { reasons } = engine.health()
    if (reasons.length > 0)
      throw new EngineError('snapshot_damaged', `${dataDir} is damaged: ${reasons.join('; ')}`, { file: dataDir })
    await engine.checkpoint()
    const digests = [engine.control.digest()]
    for (const { name } of engine.control.databases()) {
      const database = engine.database(name)
      for (const collection of database.collections()) digests.push(database.collection(collection.name).stateDigest())
    }
    const { lsnApplied: lsn, timeMs } = engine.stats()
    return { lsn, timeMs, digest: digests.join(' ') }
  } finally {
    await engine.close()
  }
}

async function connected(config: ClusterConfig): Promise<NatsConnection> {
  try {
    return await connectNats({ ...(await natsOptions(config)), maxReconnectAttempts: 5 })
  } catch (error) {
    if (error instanceof Error && !(error instanceof WeakServerError || error.name === 'ConfigError'))
      throw new StoreUnavailable(`NATS cannot be used: ${natsTrouble(error, config)}`, { cause: error })
    throw error
  }
}
