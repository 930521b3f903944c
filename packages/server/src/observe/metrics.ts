// Counts what the server does, and writes it with the engine's figures in the text form that Prometheus reads. Labels are route
// patterns, never paths, so that their number is bounded.
import type { EngineStats } from '@annal/engine'

/** Upper bounds in seconds: from a search in memory to a batch that waits for a slow disk. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface RouteCounts {
  readonly method: string
  readonly route: string
  readonly byStatus: Map<number, number>
  readonly buckets: number[]
  seconds: number
  count: number
}

export interface Metrics {
  /** Gives what to call when the connection has nothing more of the request, whether it was answered or given up. */
  started(): () => void
  finished(method: string, route: string, status: number, seconds: number): void
  readonly requests: number
  readonly inFlight: number
  render(state: {
    readonly stats: EngineStats | undefined
    readonly bodyBytes: number
    readonly replyBytes: number
  }): string
}

export function createMetrics(): Metrics {
  // By method, then by route: a request makes no key of its own.
  const routes = new Map<string, Map<string, RouteCounts>>()
  let requests = 0
  let inFlight = 0
  const closed = () => {
    inFlight -= 1
  }
  return {
    get requests() {
      return requests
    },
    get inFlight() {
      return inFlight
    },
    started() {
      requests += 1
      inFlight += 1
      return closed
    },
    finished(method, route, status, seconds) {
      const counts = countsFor(routes, method, route)
      counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1)
      counts.seconds += seconds
      counts.count += 1
      const bucket = bounds.findIndex((bound) => seconds <= bound)
      if (bucket >= 0) counts.buckets[bucket]! += 1
    },
    render({ stats, bodyBytes, replyBytes }) {
      const lines = [
        ...requestLines([...routes.values()].flatMap((ofMethod) => [...ofMethod.values()])),
        ...gauge('annal_http_requests_in_flight', 'Requests in progress.', inFlight),
      ]
      lines.push(
        ...gauge('annal_http_body_bytes_in_flight', 'Memory used by request bodies.', bodyBytes),
        ...gauge(
          'annal_http_reply_bytes_waiting',
          'Bytes of large replies that clients have not read yet.',
          replyBytes,
        ),
      )
      if (stats !== undefined) lines.push(...engineLines(stats))
      return `${[...lines, ...processLines()].join('\n')}\n`
    },
  }
}

function countsFor(routes: Map<string, Map<string, RouteCounts>>, method: string, route: string): RouteCounts {
  let ofMethod = routes.get(method)
  if (ofMethod === undefined) {
    ofMethod = new Map()
    routes.set(method, ofMethod)
  }
  let counts = ofMethod.get(route)
  if (counts === undefined) {
    counts = { method, route, byStatus: new Map(), buckets: bounds.map(() => 0), seconds: 0, count: 0 }
    ofMethod.set(route, counts)
  }
  return counts
}

function requestLines(routes: Iterable<RouteCounts>): string[] {
  const totals = head('annal_http_requests_total', 'Requests that received a reply.', 'counter')
  const times = head(
    'annal_http_request_seconds',
    'Time from the first byte of a request to the last byte of its reply.',
    'histogram',
  )
  for (const { method, route, byStatus, buckets, seconds, count } of routes) {
    const labels = `method="${method}",route="${escaped(route)}"`
    for (const [status, answered] of byStatus)
      totals.push(`annal_http_requests_total{${labels},status="${status}"} ${answered}`)
    let below = 0
    for (const [i, bound] of bounds.entries()) {
      below += buckets[i]!
      times.push(`annal_http_request_seconds_bucket{${labels},le="${bound}"} ${below}`)
    }
    times.push(`annal_http_request_seconds_bucket{${labels},le="+Inf"} ${count}`)
    times.push(
      `annal_http_request_seconds_sum{${labels}} ${seconds}`,
      `annal_http_request_seconds_count{${labels}} ${count}`,
    )
  }
  return [...totals, ...times]
}

function engineLines({ objects, collections, log, checkpoints, workers, memory, ...stats }: EngineStats): string[] {
  const lines = [
    ...gauge('annal_uptime_seconds', 'Time since the engine was opened.', stats.uptimeMs / 1_000),
    ...gauge('annal_collections', 'Number of collections.', collections),
    ...gauge('annal_objects', 'Number of objects in all collections.', objects),
    ...gauge('annal_lsn_applied', 'LSN of the newest event that searches see.', stats.lsnApplied),
    ...gauge('annal_lsn_durable', 'LSN of the newest event that survives a power cut.', stats.lsnDurable),
    ...gauge('annal_lsn_checkpoint', 'LSN after which recovery starts.', stats.lsnCheckpoint),
    ...gauge('annal_log_bytes', 'Size of the log on disk.', log.bytes),
    ...gauge('annal_log_segments', 'Number of log segments.', log.segments),
    ...counter('annal_log_appends_total', 'Records appended to the log.', log.appends),
    ...counter('annal_log_syncs_total', 'Syncs of the log to disk.', log.syncs),
    ...counter('annal_log_sync_seconds_total', 'Time spent in these syncs.', log.syncMs / 1_000),
    ...gauge('annal_log_records_waiting', 'Records waiting to be written to the log.', log.queuedRecords),
    ...gauge('annal_log_bytes_waiting', 'Bytes of records waiting to be written to the log.', log.queuedBytes),
    ...counter('annal_checkpoints_total', 'Checkpoints finished, including failed ones.', checkpoints.taken),
    ...counter('annal_checkpoints_failed_total', 'Checkpoints that failed.', checkpoints.failed),
    ...counter('annal_checkpoint_seconds_total', 'Time spent in checkpoints.', checkpoints.ms / 1_000),
    ...gauge('annal_worker_threads', 'Worker threads that search and build graphs.', workers.threads),
    ...counter('annal_workers_lost_total', 'Worker threads that exited unexpectedly and were replaced.', workers.lost),
    ...gauge('annal_queries_waiting', 'Queries waiting for a thread.', workers.queriesWaiting),
    ...gauge('annal_questions_waiting', 'Deprecated: use annal_queries_waiting.', workers.queriesWaiting),
    ...backupLines(stats),
    ...head('annal_memory_bytes', 'Memory of all collections, by part.', 'gauge'),
  ]
  for (const [part, bytes] of Object.entries(memory)) lines.push(`annal_memory_bytes{part="${escaped(part)}"} ${bytes}`)
  return lines
}

function backupLines({ backups, reach }: Pick<EngineStats, 'backups' | 'reach'>): string[] {
  const newestAt = backups.newestAt ?? 0
  return [
    ...gauge('annal_backups', 'Number of backups.', backups.count),
    ...gauge('annal_backup_bytes', 'Size of all backups; shared files are counted in each.', backups.bytes),
    ...gauge(
      'annal_backup_newest_timestamp_seconds',
      'Time of the newest backup; 0 if there is none.',
      newestAt / 1_000,
    ),
    ...gauge('annal_archive_bytes', 'Size of the archive.', reach?.bytes ?? 0),
    ...gauge(
      'annal_restorable_from_timestamp_seconds',
      'Oldest moment that can be restored; 0 if history is complete, NaN if nothing is archived.',
      reach === undefined ? Number.NaN : reach.timeMs / 1_000,
    ),
  ]
}

function processLines(): string[] {
  const { user, system } = process.cpuUsage()
  return [
    ...gauge('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
    ...counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6),
  ]
}

function gauge(name: string, help: string, value: number): string[] {
  return [...head(name, help, 'gauge'), `${name} ${value}`]
}

function counter(name: string, help: string, value: number): string[] {
  return [...head(name, help, 'counter'), `${name} ${value}`]
}

function head(name: string, help: string, type: 'counter' | 'gauge' | 'histogram'): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
