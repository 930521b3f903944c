// What metrics show of the engine and of its backups.
import type { EngineStats } from '@annal/engine'
import { counter, type Family, family, gauge } from './family.ts'

export function engineFamilies({
  objects,
  collections,
  log,
  checkpoints,
  workers,
  memory,
  ...stats
}: EngineStats): Family[] {
  return [
    gauge('annal_uptime_seconds', 'Time since the engine was opened.', stats.uptimeMs / 1_000),
    gauge('annal_collections', 'Number of collections.', collections),
    gauge('annal_objects', 'Number of objects in all collections.', objects),
    gauge('annal_lsn_applied', 'LSN of the newest event that searches see.', stats.lsnApplied),
    gauge('annal_lsn_durable', 'LSN of the newest event that survives a power cut.', stats.lsnDurable),
    gauge('annal_lsn_checkpoint', 'LSN after which recovery starts.', stats.lsnCheckpoint),
    gauge('annal_log_bytes', 'Size of the log on disk.', log.bytes),
    gauge('annal_log_segments', 'Number of log segments.', log.segments),
    counter('annal_log_appends_total', 'Records appended to the log.', log.appends),
    counter('annal_log_syncs_total', 'Syncs of the log to disk.', log.syncs),
    counter('annal_log_sync_seconds_total', 'Time spent in syncs of the log.', log.syncMs / 1_000),
    gauge('annal_log_records_waiting', 'Records waiting to be written to the log.', log.queuedRecords),
    gauge('annal_log_bytes_waiting', 'Bytes of records waiting to be written to the log.', log.queuedBytes),
    counter('annal_checkpoints_total', 'Checkpoints finished, including failed ones.', checkpoints.taken),
    counter('annal_checkpoints_failed_total', 'Checkpoints that failed.', checkpoints.failed),
    counter('annal_checkpoint_seconds_total', 'Time spent in checkpoints.', checkpoints.ms / 1_000),
    gauge('annal_worker_threads', 'Worker threads that search and build graphs.', workers.threads),
    counter('annal_workers_lost_total', 'Worker threads that exited unexpectedly and were replaced.', workers.lost),
    gauge('annal_queries_waiting', 'Queries waiting for a thread.', workers.queriesWaiting),
    gauge('annal_questions_waiting', 'Deprecated: use annal_queries_waiting.', workers.queriesWaiting),
    family(
      'gauge',
      'annal_calibrations',
      'Measurements of recall by ef, by state.',
      Object.entries(stats.calibrations.states).map(([state, value]) => ({ labels: { state }, value })),
    ),
    counter('annal_recall_searches_total', 'Searches that state a recall.', stats.calibrations.searches),
    counter(
      'annal_recall_unreachable_total',
      'Searches that state a recall that no ef reaches.',
      stats.calibrations.unreachable,
    ),
    gauge('annal_feed_consumers', 'Consumers of the change feed.', stats.feed.consumers),
    gauge(
      'annal_feed_lag_records',
      'LSNs between the slowest consumer of the change feed and the newest record.',
      stats.feed.lagMax,
    ),
    gauge('annal_request_keys', 'Request keys that are kept.', stats.requestKeys.count),
    gauge('annal_request_key_bytes', 'Memory of request keys.', stats.requestKeys.bytes),
    counter(
      'annal_requests_repeated_total',
      'Requests that got the reply of an earlier one.',
      stats.requestKeys.repeated,
    ),
    gauge('annal_expired_objects', 'Objects that have expired and are still stored.', stats.expiry.hidden),
    counter('annal_expired_objects_deleted_total', 'Objects deleted because they expired.', stats.expiry.deleted),
    gauge(
      'annal_expired_objects_deleting',
      'Whether expired objects are deleted: 1 after the clock has run steadily for an hour.',
      stats.expiry.isDeleting ? 1 : 0,
    ),
    counter('annal_clock_jumps_total', 'Jumps of the clock of the machine.', stats.expiry.clockJumps),
    gauge('annal_asof_loaded', 'Moments of the past that are loaded for reads.', stats.asOf.loaded),
    gauge('annal_asof_loaded_bytes', 'Memory of moments that are loaded for reads.', stats.asOf.loadedBytes),
    gauge(
      'annal_asof_window_bytes',
      'Memory of the recent past that collections keep for reads.',
      stats.asOf.windowBytes,
    ),
    counter(
      'annal_asof_window_reads_total',
      'Reads of the past that collections answered without a load.',
      stats.asOf.windowReads,
    ),
    ...backupFamilies(stats),
    family(
      'gauge',
      'annal_memory_bytes',
      'Memory of all collections, by part.',
      Object.entries(memory).map(([part, value]) => ({ labels: { part }, value })),
    ),
    ...memoryFamilies(stats),
  ]
}

function memoryFamilies({ memoryRoom }: Pick<EngineStats, 'memoryRoom'>): Family[] {
  if (memoryRoom === undefined) return []
  const { used, pending, usable, refused, waiting } = memoryRoom
  return [
    gauge(
      'annal_memory_used_bytes',
      'Memory in use under the limit that is nearest, without what the kernel can reclaim.',
      used,
    ),
    gauge('annal_memory_pending_bytes', 'Memory that running writes may still take.', pending),
    gauge('annal_memory_usable_bytes', 'Memory in use from which on writes are rejected.', usable),
    counter(
      'annal_memory_refused_total',
      'Writes, restores, and rebuilds rejected because memory was scarce.',
      refused,
    ),
    gauge('annal_memory_waiting', 'Writes that wait for memory of other writes.', waiting),
  ]
}

function backupFamilies({ backups, reach }: Pick<EngineStats, 'backups' | 'reach'>): Family[] {
  return [
    gauge('annal_backups', 'Number of backups.', backups.count),
    gauge('annal_backup_bytes', 'Size of all backups; shared files are counted in each.', backups.bytes),
    gauge(
      'annal_backup_newest_timestamp_seconds',
      'Time of the newest backup; 0 if there is none.',
      (backups.newestAt ?? 0) / 1_000,
    ),
    gauge('annal_archive_bytes', 'Size of the archive.', reach?.bytes ?? 0),
    gauge(
      'annal_restorable_from_timestamp_seconds',
      'Oldest moment that can be restored; 0 if history is complete, NaN if nothing is archived.',
      reach === undefined ? Number.NaN : reach.timeMs / 1_000,
    ),
  ]
}
