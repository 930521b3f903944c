// Opens one node of a cluster: connects to NATS, makes sure that its stream is sound, and opens the engine on the log in it.
import { randomBytes } from 'node:crypto'
import { EngineError, type EngineOptions } from '@annal/engine'
import { type LogOpener, openReplicatedEngine, type ReplicatedEngine } from '@annal/engine/replicated'
import { nodeVfs, readIdentity, WalError } from '@annal/wal'
import {
  type ChainPosition,
  encodePosition,
  type FrameStore,
  oldestPosition,
  openReplicatedDirectory,
  openReplicatedLog,
  type ReplicatedLog,
} from '@annal/wal/replicated'
import type { NatsConnection } from '@nats-io/transport-node'
import { BackupIndex } from './backup-index.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { clusterIdentity, logIdOf } from './cluster-identity.ts'
import type { ClusterView } from './cluster-view.ts'
import { type ControlBucket, openControlBucket } from './control-bucket.ts'
import { digestEvery } from './digest-watch.ts'
import { openLogStore } from './log-store.ts'
import { connectNats, natsOptions } from './nats-connection.ts'
import { SyncMonitor } from './nats-monitor.ts'
import { NodeControl, type RoleChange } from './node-control.ts'
import { openSharedStore } from './open-shared-store.ts'
import { patiently } from './patiently.ts'
import { SharedImages } from './shared-images.ts'
import { loadSnapshot, type SnapshotLoading } from './snapshots/load-snapshot.ts'
import { Roster } from './snapshots/roster.ts'
import { SnapshotIndex } from './snapshots/snapshot-index.ts'
import { Snapshots } from './snapshots/snapshots.ts'

/** What the caller of openClusterNode learns. */
export interface ClusterEvents {
  /** Called before anything is opened, so that health can show the node. */
  readonly onView?: (view: ClusterView) => void
  readonly onRole?: (change: RoleChange) => void
  /** The version of Annal that the node announces. */
  readonly version?: string
  /** A sentence for the operator. */
  readonly onNotice?: (sentence: string) => void
}

/** A request to NATS that took longer counts as not answered. */
const requestMsMin = 500
/** A log that was trimmed while a node opened it is opened again so often. */
const attemptsMax = 5

/** A node that is open. */
export interface OpenNode {
  readonly engine: ReplicatedEngine
  readonly view: ClusterView
  /** What is wrong with the NATS servers, in sentences. */
  readonly faults: () => readonly string[]
}

/**
 * Opens a node. Waits for NATS as long as it does not answer. Rejects with ConfigError, WeakStreamError, WeakServerError, and as
 * openReplicatedDirectory and the engine do.
 */
export async function openClusterNode(
  config: ClusterConfig,
  engineOptions: EngineOptions,
  events: ClusterEvents = {},
): Promise<OpenNode> {
  const control = new NodeControl(config, { ...events, onBehind: (error) => engineOptions.onFailed?.(error) })
  events.onView?.(control)
  const { closing } = control
  const wait = <T>(act: () => Promise<T>) => patiently({ config, closing, onNotice: events.onNotice }, act)
  const options = await natsOptions(config)
  const monitor = new SyncMonitor(config.monitorUrls, events.onNotice)
  await monitor.verify()
  const connection = await wait(() => connectNats(options))
  // A start that is interrupted waits for nothing more.
  const interrupt = () => void connection.close()
  closing.addEventListener('abort', interrupt)
  try {
    const requestMs = Math.max(requestMsMin, Math.floor(config.leaseMs / 3))
    const bucketOptions = { name: `annal-${config.name}`, replicas: config.replicas, requestMs }
    const bucket = await wait(() => openControlBucket(connection, bucketOptions))
    const { dataDir, onProgress } = engineOptions
    const uuid = await wait(() => identityOf(connection, { bucket, config, dataDir }))
    const shared = await wait(() => openSharedStore(connection, config))
    closing.addEventListener('abort', () => shared.close())
    const backups = new BackupIndex({ bucket, store: shared, instance: control.instance })
    const index = new SnapshotIndex(bucket)
    const files = new SharedImages({
      ...{ store: shared, backups, snapshots: index, closing },
      onWaiting: (reason) => control.waitsFor(reason),
    })
    const kept = {
      ...config,
      uuid,
      shared,
      index,
      roster: new Roster(bucket, config.node),
    }
    const checkWanted = () => closing.throwIfAborted()
    const loading: SnapshotLoading = {
      ...{ ...kept, dataDir, checkWanted, onNotice: events.onNotice },
      onProgress: ({ done, total }) => onProgress?.({ job: 'snapshot-download', done, total, unit: 'bytes' }),
    }
    const opening = {
      connection,
      config,
      control,
      files,
      engineOptions: leaving(engineOptions, control),
      loading,
      wait,
    }
    const { engine, log, store } = await openFromSnapshot(opening)
    closing.removeEventListener('abort', interrupt)
    const snapshots = new Snapshots({
      ...kept,
      dataDir,
      engine,
      log,
      closing,
      nodes: () => control.nodes(),
      onNotice: events.onNotice,
    })
    const reconnect = () => connection.reconnect()
    control.start({ engine, log, store, bucket, shared, backups, snapshots, roster: kept.roster, monitor, reconnect })
    void monitor.watch(closing)
    return { engine, view: control, faults: () => [...control.faults(), ...monitor.faults(), ...snapshots.faults()] }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** An engine that has no room for what other nodes wrote fails. Its node stays, and says why in health and to the others. */
function leaving(options: EngineOptions, control: NodeControl): EngineOptions {
  const onFailed = (error: Error) => {
    if (lacksRoom(error) && control.refusal() !== undefined) control.lacksRoom(error.message)
    else options.onFailed?.(error)
  }
  return { ...options, onFailed }
}

function lacksRoom(error: Error): boolean {
  return error instanceof EngineError && (error.code === 'read_only' || error.code === 'memory_exhausted')
}

/** The identity of the cluster. The log, which is created if it does not exist, shows whether the cluster is new. */
async function identityOf(
  connection: NatsConnection,
  {
    bucket,
    config,
    dataDir,
  }: { readonly bucket: ControlBucket; readonly config: ClusterConfig; readonly dataDir: string },
): Promise<string> {
  const own = await readIdentity({ dir: dataDir, vfs: nodeVfs() })
  const store = await openLogStore(connection, config, () => Promise.resolve())
  try {
    return await clusterIdentity(bucket, { store, own: own?.uuid })
  } finally {
    await store.close()
  }
}

interface Opening {
  readonly connection: NatsConnection
  readonly config: ClusterConfig
  readonly control: NodeControl
  readonly files: SharedImages
  readonly engineOptions: EngineOptions
  readonly loading: SnapshotLoading
  readonly wait: <T>(act: () => Promise<T>) => Promise<T>
}

/** Opens the log and the engine on it, after a snapshot was loaded if the node needs one. */
async function openFromSnapshot({ connection, config, control, files, engineOptions, loading, wait }: Opening) {
  const { uuid } = loading
  let lsnBefore: number | undefined
  for (let attempt = 1; ; attempt++) {
    let isOpen = false
    // An engine that cannot be opened closes its store, and the next attempt needs the connection.
    const onClose = async () => {
      if (isOpen) await connection.close()
    }
    const store = await wait(() => openLogStore(connection, config, onClose))
    const lsnFirst = await wait(async () => ((await oldestPosition(store, logIdOf(uuid)))?.lsn ?? 0) + 1)
    // If the log was not trimmed meanwhile, something that this node has is damaged.
    await wait(() => loadSnapshot(loading, { lsnFirst, isNeeded: lsnFirst === lsnBefore }))
    try {
      const opened = await openEngineOn({ store, uuid, control, files, engineOptions })
      isOpen = true
      return { ...opened, store }
    } catch (error) {
      if (!(error instanceof WalError && error.code === 'lsn_not_held') || attempt === attemptsMax) throw error
      lsnBefore = lsnFirst
    }
  }
}

/** Opens the engine; closing it closes the store. */
async function openEngineOn({
  store,
  uuid,
  control,
  files,
  engineOptions,
}: {
  readonly store: FrameStore
  readonly uuid: string
  readonly control: NodeControl
  readonly files: SharedImages
  readonly engineOptions: EngineOptions
}): Promise<{ readonly engine: ReplicatedEngine; readonly log: ReplicatedLog }> {
  let log: ReplicatedLog | undefined
  const openLog = async (from: ChainPosition | undefined, lsnWanted: number) => {
    const parts = { store, logId: logIdOf(uuid), writer: randomBytes(16), lsnWanted, ...(from && { from }) }
    log = await openReplicatedLog({ ...parts, onFenced: (error) => control.fenced(error) })
    return log
  }
  const opener: LogOpener = {
    open: (request) => openReplicatedDirectory({ ...request, uuid, openLog }),
    positionBefore(lsn) {
      const position = log?.positionBefore(lsn)
      return position && encodePosition(position)
    },
    shared: files,
    refusal: () => control.refusal(),
  }
  const engine = await openReplicatedEngine(engineOptions, opener, { digestEvery })
  // The engine is open, so its opener was called.
  return { engine, log: log as ReplicatedLog }
}
