// Opens one node of a cluster: connects to NATS, makes sure that its stream is sound, and opens the engine on the log in it.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineOptions } from '@annal/engine'
import { type LogOpener, openReplicatedEngine, type ReplicatedEngine } from '@annal/engine/replicated'
import { WalError } from '@annal/wal'
import {
  type ChainPlace,
  encodePlace,
  type FrameStore,
  openReplicatedDirectory,
  openReplicatedLog,
  type ReplicatedLog,
} from '@annal/wal/replicated'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { ClusterConfig } from './cluster-config.ts'
import { clusterIdentity, logIdOf } from './cluster-identity.ts'
import type { ClusterView } from './cluster-view.ts'
import { openControlBucket } from './control-bucket.ts'
import { digestEvery } from './digest-watch.ts'
import { openJetStreamStore } from './jetstream-store.ts'
import { WeakStreamError } from './log-stream.ts'
import { natsOptions, natsTrouble } from './nats-connection.ts'
import { SyncMonitor } from './nats-monitor.ts'
import { NodeControl, type RoleChange } from './node-control.ts'

/** What the caller of openClusterNode learns. */
export interface ClusterEvents {
  /** Called before anything is opened, so that health can show the node. */
  readonly onView?: (view: ClusterView) => void
  readonly onRole?: (change: RoleChange) => void
  /** A sentence for the operator. */
  readonly onNotice?: (sentence: string) => void
}

/** A request to NATS that took longer counts as not answered. */
const requestMsMin = 500
const appendMsMax = 2000
const messageBytesMax = 8 << 20
/** Headers of a message of NATS. */
const overheadBytes = 1024
const retryMs = 500
const noticeEveryMs = 10_000

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
  const control = new NodeControl(config, events)
  events.onView?.(control)
  const wait = <T>(act: () => Promise<T>) => patiently(config, control.closing, events, act)
  const options = await natsOptions(config)
  const monitor = new SyncMonitor(config.monitorUrls, events.onNotice)
  await monitor.verify()
  const connection = await wait(() => connect(options))
  // A start that is interrupted waits for nothing more.
  const interrupt = () => void connection.close()
  control.closing.addEventListener('abort', interrupt)
  try {
    const requestMs = Math.max(requestMsMin, Math.floor(config.leaseMs / 3))
    const bucketOptions = { name: `annal-${config.name}`, replicas: config.replicas, requestMs }
    const bucket = await wait(() => openControlBucket(connection, bucketOptions))
    const uuid = await wait(() => clusterIdentity(bucket))
    const store = await wait(() => openStore(connection, config))
    const { engine, log } = await openEngineOn({ store, uuid, control, engineOptions })
    control.closing.removeEventListener('abort', interrupt)
    control.start({ engine, log, store, bucket, monitor })
    void monitor.watch(control.closing)
    return { engine, view: control, faults: () => monitor.faults() }
  } catch (error) {
    await connection.close()
    throw error
  }
}

function openStore(connection: NatsConnection, { name, replicas }: ClusterConfig): Promise<FrameStore> {
  const room = (connection.info?.max_payload ?? 1 << 20) - 2 * overheadBytes
  const stream = { name: `annal-${name}`, replicas, messageBytesMax: Math.min(messageBytesMax, room) }
  return openJetStreamStore({ ...stream, connection, requestMs: appendMsMax, onClose: () => connection.close() })
}

/** Opens the engine; closing it closes the store. */
async function openEngineOn({
  store,
  uuid,
  control,
  engineOptions,
}: {
  readonly store: FrameStore
  readonly uuid: string
  readonly control: NodeControl
  readonly engineOptions: EngineOptions
}): Promise<{ readonly engine: ReplicatedEngine; readonly log: ReplicatedLog }> {
  let log: ReplicatedLog | undefined
  const openLog = async (from: ChainPlace | undefined) => {
    const parts = { store, logId: logIdOf(uuid), writer: randomBytes(16), ...(from && { from }) }
    log = await openReplicatedLog({ ...parts, onFenced: (error) => control.fenced(error) })
    return log
  }
  const opener: LogOpener = {
    open: (request) => openReplicatedDirectory({ ...request, uuid, openLog }),
    placeBefore(lsn) {
      const place = log?.placeBefore(lsn)
      return place && encodePlace(place)
    },
    refusal: () => control.refusal(),
  }
  const engine = await openReplicatedEngine(engineOptions, opener, { digestEvery })
  // The engine is open, so its opener was called.
  return { engine, log: log as ReplicatedLog }
}

/** Calls `act` until NATS answers, and says now and then why it has not. */
async function patiently<T>(
  config: ClusterConfig,
  closing: AbortSignal,
  { onNotice }: ClusterEvents,
  act: () => Promise<T>,
): Promise<T> {
  let noticedMs = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (error instanceof WeakStreamError || !(error instanceof Error)) throw error
      if (closing.aborted) throw new WalError('log_closed', 'the node was closed while it waited for NATS')
      if (performance.now() - noticedMs > noticeEveryMs) {
        noticedMs = performance.now()
        onNotice?.(`waiting for NATS: ${natsTrouble(error, config)}`)
      }
    }
    await sleep(retryMs, undefined, { signal: closing }).catch(() => undefined)
  }
}
