// What metrics show of other machines: of the nodes of a cluster, of the archive in a bucket, and of a server that follows one.
import type { ArchiveFigures } from '../archive/bucket-archive.ts'
import type { FollowStatus } from '../archive/follower.ts'
import type { ClusterStatus, NodeRole } from '../cluster/cluster-view.ts'
import { counter, type Family, family, gauge } from './family.ts'

const nodeRoles: readonly NodeRole[] = [
  'bootstrapping',
  'catching-up',
  'follower',
  'candidate',
  'leader',
  'deposed',
  'out-of-service',
]

export function clusterFamilies(status: ClusterStatus): Family[] {
  const { role, epoch, lag, stalenessMs, digestLsn, snapshotLsn, failovers } = status
  const roles = nodeRoles.map((each) => ({ labels: { role: each }, value: each === role ? 1 : 0 }))
  return [
    family('gauge', 'annal_cluster_role', 'Role of this node: 1 for the one that it has.', roles),
    gauge('annal_cluster_epoch', 'Epoch of the newest leader that this node knows.', epoch),
    gauge('annal_cluster_lag_records', 'Records in the log that this node has not applied.', lag),
    gauge(
      'annal_cluster_staleness_seconds',
      'Time since this node had everything that was in the log.',
      stalenessMs / 1_000,
    ),
    gauge(
      'annal_cluster_digest_lsn',
      'Newest LSN at which the state of this node was equal to that of other nodes.',
      digestLsn,
    ),
    gauge('annal_cluster_snapshot_lsn', 'LSN of the newest snapshot of the cluster that this node knows.', snapshotLsn),
    counter('annal_cluster_failovers_total', 'Changes of the leader that this node has seen.', failovers),
  ]
}

export function archiveFamilies(figures: ArchiveFigures): Family[] {
  return [
    gauge(
      'annal_bucket_archive_lag_seconds',
      'Age of the oldest record that is not in the bucket; 0 if none waits.',
      figures.lagSeconds,
    ),
    gauge('annal_bucket_archive_lag_records', 'Records that are not in the bucket.', figures.lagLsns),
    gauge(
      'annal_bucket_archive_backlog_bytes',
      'Bytes of the log that wait for the bucket while uploads fail.',
      figures.backlogBytes,
    ),
    gauge('annal_bucket_archive_lsn', 'LSN of the newest record in the bucket.', figures.lsnUploaded),
    gauge('annal_bucket_archive_bases', 'Checkpoints in the bucket.', figures.bases),
    family(
      'gauge',
      'annal_bucket_archive_trouble',
      'Why nothing is uploaded to the bucket at the moment; 1 for each reason.',
      [...(figures.trouble === undefined ? [] : [{ labels: { reason: figures.trouble }, value: 1 }])],
    ),
    counter('annal_bucket_archive_bytes_total', 'Bytes uploaded.', figures.bytes),
    counter(
      'annal_bucket_archive_failures_total',
      'Uploads to the bucket that failed and were tried again.',
      figures.failures,
    ),
  ]
}

export function followFamilies({ lag_seconds: seconds, lsn, role }: FollowStatus): Family[] {
  return [
    gauge(
      'annal_follow_lag_seconds',
      'Time since this server last had everything that was in the bucket that it follows.',
      seconds,
    ),
    gauge('annal_follow_lsn', 'LSN up to which records are applied.', lsn),
    gauge('annal_follow_is_writer', '1 after a takeover.', role === 'writer' ? 1 : 0),
  ]
}
