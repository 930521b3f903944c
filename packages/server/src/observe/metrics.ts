// The metrics of the server and the engine in the text form that Prometheus reads. prom-client writes the text; it is loaded at the
// first request for it, and never counts: requests are counted in shared memory (request-counts.ts), which it only reads.
import type { EngineStats } from '@annal/engine'
import type { ArchiveFigures } from '../archive/bucket-archive.ts'
import type { FollowStatus } from '../archive/follower.ts'
import type { ClusterStatus, NodeRole } from '../cluster/cluster-view.ts'
import { callBounds, type ProviderFigures } from '../embed/provider.ts'
import type { ServingFigures, ThreadFigures } from '../serving/serving-figures.ts'
import { SharedCounters } from './counters.ts'
import { counter, type Family, family, gauge, type Sample } from './family.ts'
import { type HostFacts, hostFamilies } from './host-facts.ts'
import { durationBounds, RequestCounts, type RouteCounts, requestCountsLength } from './request-counts.ts'

/** What the metrics show besides the requests. */
export interface MetricsState {
  /** Undefined until the engine is open. */
  readonly stats: EngineStats | undefined
  readonly bodyBytes: number
  readonly replyBytes: number
  readonly serving: ServingFigures
  readonly host: HostFacts
  /** Undefined where no archive in a bucket is kept. */
  readonly archive?: ArchiveFigures | undefined
  /** Undefined if the server is no node of a cluster. */
  readonly cluster?: ClusterStatus | undefined
  /** What makes vectors of texts. */
  readonly providers?: readonly ProviderFigures[] | undefined
  /** Undefined where nothing is followed. */
  readonly follow?: FollowStatus | undefined
}

export class Metrics {
  readonly #counts: RequestCounts
  readonly #closed = () => this.#counts.closed()

  constructor(counts = new RequestCounts(new SharedCounters({ length: requestCountsLength }))) {
    this.#counts = counts
  }

  get requests(): number {
    return this.#counts.requests
  }

  get inFlight(): number {
    return this.#counts.inFlight
  }

  /** Returns the function to call when the connection has nothing more of the request, whether it was answered or not. */
  started(): () => void {
    this.#counts.started()
    return this.#closed
  }

  finished(method: string, route: string, status: number, seconds: number): void {
    this.#counts.finished(this.#counts.row(method, route), status, seconds)
  }

  families(state: MetricsState): Family[] {
    return [
      ...requestFamilies([...this.#counts.routes()]),
      gauge('annal_http_requests_in_flight', 'Requests in progress.', this.inFlight),
      gauge('annal_http_body_bytes_in_flight', 'Memory used by request bodies.', state.bodyBytes),
      gauge(
        'annal_http_reply_bytes_waiting',
        'Bytes of large replies that clients have not read yet.',
        state.replyBytes,
      ),
      ...servingFamilies(state.serving),
      ...(state.stats === undefined ? [] : engineFamilies(state.stats)),
      ...(state.archive === undefined ? [] : archiveFamilies(state.archive)),
      ...(state.cluster === undefined ? [] : clusterFamilies(state.cluster)),
      ...(state.providers?.length ? providerFamilies(state.providers) : []),
      ...(state.follow === undefined ? [] : followFamilies(state.follow)),
      ...hostFamilies(state.host),
      ...processFamilies(),
    ]
  }

  async render(state: MetricsState): Promise<string> {
    const families = this.families(state)
    const { AggregatorRegistry } = await import('prom-client')
    // prom-client's way for values that were counted elsewhere.
    const registry = AggregatorRegistry.aggregate([families])
    const texts = await Promise.all(families.map(({ name }) => registry.getSingleMetricAsString(name)))
    // The library writes `Nan`, and the text format says `NaN`.
    return `${texts.join('\n').replaceAll(/ Nan$/gm, ' NaN')}\n`
  }
}

function requestFamilies(routes: readonly RouteCounts[]): Family[] {
  const replies = routes.flatMap(({ method, route, byStatus }) =>
    byStatus.map(([status, value]) => ({ labels: { method, route, status }, value })),
  )
  return [
    family('counter', 'annal_http_requests_total', 'Requests that received a reply.', replies),
    family(
      'histogram',
      'annal_http_request_seconds',
      'Time from the first byte of a request to the last byte of its reply.',
      routes.flatMap(durations),
    ),
  ]
}

function durations({ method, route, buckets, seconds }: RouteCounts): Sample[] {
  const labels = { method, route }
  let below = 0
  const cumulative = buckets.map((requests, i) => {
    below += requests
    const le = durationBounds[i] ?? '+Inf'
    return { metricName: 'annal_http_request_seconds_bucket', labels: { ...labels, le }, value: below }
  })
  return [
    ...cumulative,
    { metricName: 'annal_http_request_seconds_sum', labels, value: seconds },
    { metricName: 'annal_http_request_seconds_count', labels, value: below },
  ]
}

function servingFamilies({ running, lost, replaced, ...figures }: ServingFigures): Family[] {
  const threads = figures.threads()
  const byThread = (
    type: Family['type'],
    name: string,
    help: string,
    read: (each: ThreadFigures) => number | undefined,
  ) =>
    family(
      type,
      name,
      help,
      threads.flatMap((each) => {
        const value = read(each)
        return value === undefined ? [] : [{ labels: { thread: each.thread }, value }]
      }),
    )
  return [
    gauge('annal_serving_threads', 'Threads that accept connections.', running),
    counter('annal_serving_threads_lost_total', 'Serving threads that exited unexpectedly.', lost),
    counter('annal_serving_threads_replaced_total', 'Serving threads that run in the place of a lost one.', replaced),
    byThread('gauge', 'annal_thread_connections', 'Open connections, by thread.', (each) => each.connections?.open),
    byThread(
      'counter',
      'annal_thread_connections_accepted_total',
      'Connections accepted, by thread.',
      (each) => each.connections?.accepted,
    ),
    byThread(
      'counter',
      'annal_thread_connections_refused_total',
      'Connections closed at once because there were too many, by thread.',
      (each) => each.connections?.refused,
    ),
    byThread(
      'counter',
      'annal_thread_connections_moved_total',
      'Connections closed after a reply so that their clients connect to another thread, by thread.',
      (each) => each.connections?.moved,
    ),
    byThread(
      'counter',
      'annal_thread_requests_total',
      'Replies, by the thread that sent them.',
      (each) => each.requests,
    ),
    byThread(
      'counter',
      'annal_thread_searches_total',
      'Replies to searches, by the thread that sent them. A batch counts once.',
      (each) => each.searches,
    ),
  ]
}

function engineFamilies({ objects, collections, log, checkpoints, workers, memory, ...stats }: EngineStats): Family[] {
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
    counter('annal_log_sync_seconds_total', 'Time spent in these syncs.', log.syncMs / 1_000),
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
    counter('annal_recall_unreachable_total', 'Those whose recall no ef reaches.', stats.calibrations.unreachable),
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
    counter('annal_clock_jumps_total', 'Jumps of the clock.', stats.expiry.clockJumps),
    gauge('annal_asof_loaded', 'Moments of the past that are loaded for reads.', stats.asOf.loaded),
    gauge('annal_asof_loaded_bytes', 'Memory of these moments.', stats.asOf.loadedBytes),
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
  ]
}

function followFamilies({ lag_seconds: seconds, lsn, role }: FollowStatus): Family[] {
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

function archiveFamilies(figures: ArchiveFigures): Family[] {
  return [
    gauge(
      'annal_bucket_archive_lag_seconds',
      'Age of the oldest record that is not in the bucket; 0 if none waits.',
      figures.lagSeconds,
    ),
    gauge('annal_bucket_archive_lag_records', 'Records that are not in the bucket.', figures.lagLsns),
    gauge('annal_bucket_archive_backlog_bytes', 'Bytes of the log that wait while uploads fail.', figures.backlogBytes),
    gauge('annal_bucket_archive_lsn', 'LSN of the newest record in the bucket.', figures.lsnUploaded),
    gauge('annal_bucket_archive_bases', 'Checkpoints in the bucket.', figures.bases),
    family('gauge', 'annal_bucket_archive_trouble', 'Why nothing is uploaded at the moment; 1 for each reason.', [
      ...(figures.trouble === undefined ? [] : [{ labels: { reason: figures.trouble }, value: 1 }]),
    ]),
    counter('annal_bucket_archive_bytes_total', 'Bytes uploaded.', figures.bytes),
    counter('annal_bucket_archive_failures_total', 'Uploads that failed and were tried again.', figures.failures),
  ]
}

function providerFamilies(providers: readonly ProviderFigures[]): Family[] {
  const each = (type: Family['type'], name: string, help: string, read: (one: ProviderFigures) => number) =>
    family(
      type,
      name,
      help,
      providers.map((one) => ({ labels: { provider: one.name }, value: read(one) })),
    )
  const calls = providers.flatMap(({ name: provider, calls: { ok, failed } }) => [
    { labels: { provider, result: 'ok' }, value: ok },
    { labels: { provider, result: 'failed' }, value: failed },
  ])
  return [
    family('counter', 'annal_embedding_calls_total', 'Calls of providers of vectors, by result.', calls),
    family('histogram', 'annal_embedding_call_seconds', 'Time of these calls.', providers.flatMap(callTimes)),
    each(
      'counter',
      'annal_embedding_calls_repeated_total',
      'Calls that repeated a failed one.',
      ({ repeated }) => repeated,
    ),
    each('counter', 'annal_embedding_texts_total', 'Texts that were sent, with repetitions.', ({ texts }) => texts),
    each(
      'counter',
      'annal_embedding_cache_hits_total',
      'Texts whose vectors were in the cache.',
      ({ cacheHits }) => cacheHits,
    ),
    each('gauge', 'annal_embedding_cache_bytes', 'Memory of the cache of vectors.', ({ cacheBytes }) => cacheBytes),
    each('gauge', 'annal_embedding_texts_waiting', 'Texts that wait for a call.', ({ waiting }) => waiting),
  ]
}

function callTimes({ name: provider, buckets, seconds }: ProviderFigures): Sample[] {
  let below = 0
  const cumulative = buckets.map((calls, i) => {
    below += calls
    const labels = { provider, le: callBounds[i] ?? '+Inf' }
    return { metricName: 'annal_embedding_call_seconds_bucket', labels, value: below }
  })
  return [
    ...cumulative,
    { metricName: 'annal_embedding_call_seconds_sum', labels: { provider }, value: seconds },
    { metricName: 'annal_embedding_call_seconds_count', labels: { provider }, value: below },
  ]
}

const nodeRoles: readonly NodeRole[] = [
  'bootstrapping',
  'catching-up',
  'follower',
  'candidate',
  'leader',
  'deposed',
  'out-of-service',
]

function clusterFamilies(status: ClusterStatus): Family[] {
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

function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage()
  return [
    gauge('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
    counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6),
  ]
}
