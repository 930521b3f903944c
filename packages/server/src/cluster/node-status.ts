// The parts of a node that runs, and its state from what they know.
import type { ReplicatedEngine } from '@annal/engine/replicated'
import type { FrameStore, ReplicatedLog } from '@annal/wal/replicated'
import type { BackupIndex } from './backup-index.ts'
import type { ClusterStatus, NodeRole } from './cluster-view.ts'
import type { ControlBucket } from './control-bucket.ts'
import type { DigestWatch } from './digest-watch.ts'
import type { Freshness } from './freshness.ts'
import type { Leadership } from './leadership.ts'
import type { Lease } from './lease.ts'
import type { SyncMonitor } from './nats-monitor.ts'
import type { Presence } from './presence.ts'
import type { SharedStore } from './shared-store.ts'
import type { Roster } from './snapshots/roster.ts'
import type { Snapshots } from './snapshots/snapshots.ts'

/** What a node runs on. */
export interface NodeParts {
  readonly engine: ReplicatedEngine
  readonly log: ReplicatedLog
  readonly store: FrameStore
  readonly bucket: ControlBucket
  readonly shared: SharedStore
  readonly snapshots: Snapshots
  readonly roster: Roster
  readonly backups: BackupIndex
  readonly monitor: Pick<SyncMonitor, 'syncInterval'>
  /** Leaves the NATS server that this node is connected to for the next one. */
  readonly reconnect: () => Promise<void>
}

/** A node whose engine is open. */
export interface RunningNode extends NodeParts {
  readonly lease: Lease
  readonly leadership: Leadership
  readonly freshness: Freshness
  readonly presence: Presence
  readonly digests: DigestWatch
}

interface Known {
  readonly node: string
  readonly version?: string | undefined
  readonly role: NodeRole
  readonly failovers: number
  readonly reason: string | undefined
}

/** The state of a node. `running` is undefined until its engine is open. */
export function statusOf(
  { node, version, role, failovers, reason }: Known,
  running: RunningNode | undefined,
): ClusterStatus {
  const base = {
    ...{ node, role, failovers },
    ...(version !== undefined && { version }),
    ...(reason !== undefined && { reason }),
  }
  if (running === undefined)
    return {
      ...base,
      epoch: 0,
      lag: 0,
      stalenessMs: Number.POSITIVE_INFINITY,
      digestLsn: 0,
      snapshotLsn: 0,
      syncInterval: 'unverified',
    }
  const { log, engine, lease, freshness, digests, snapshots, monitor } = running
  const { lsn, epoch } = log.position
  const held = lease.value?.released ? undefined : lease.value
  return {
    ...base,
    epoch,
    lag: Math.max(0, Math.max(lsn, held?.lsn ?? 0) - engine.lsnApplied),
    stalenessMs: role === 'leader' ? 0 : Math.round(freshness.stalenessMs),
    digestLsn: digests.lsnEqual,
    snapshotLsn: snapshots.lsnNewest,
    ...(snapshots.failures > 0 && { snapshotFailures: snapshots.failures }),
    ...(held && { leader: { node: held.node, url: held.url, epoch: held.epoch } }),
    syncInterval: monitor.syncInterval,
  }
}
