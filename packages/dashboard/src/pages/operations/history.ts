// The data of the charts: server metrics read every two seconds while the dashboard is open. Rates and latencies are measured between
// two readings.
import { signal } from '@preact/signals'
import { metrics } from '../../api/server.ts'
import { readMetrics, type Sample } from './metrics-text.ts'
import { quantile } from './quantile.ts'

export interface Moment {
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly requestsPerS: number
  readonly errorsPerS: number
  /** Seconds; undefined when there were no requests. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  readonly appendsPerS: number
  readonly syncsPerS: number
  /** Events that are durable but not yet visible to searches. */
  readonly applyLag: number
  /** Events that a recovery would replay. */
  readonly sinceCheckpoint: number
  readonly logBytes: number
  readonly residentBytes: number
  readonly accountedBytes: number
  /** CPU cores in use. */
  readonly cpu: number
}

const everyMs = 2_000
const watched = new Set(['/metrics', '/api/v2/health', '/api/v2/logs', '/api/v2/info', '/', '/assets/:file'])
const momentsMax = 300

export const moments = signal<readonly Moment[]>([])
export const newest = signal<readonly Sample[]>([])
export const historyError = signal<Error | undefined>(undefined)

let before: { readonly timeMs: number; readonly totals: Totals } | undefined

interface Totals {
  readonly requests: number
  readonly errors: number
  /** Cumulative counts by upper bound. */
  readonly buckets: ReadonlyMap<number, number>
  readonly appends: number
  readonly syncs: number
  readonly cpuS: number
}

/** Runs until the returned function is called. */
export function record(): () => void {
  let timer: ReturnType<typeof setTimeout>
  let ended = false
  const tick = async (): Promise<void> => {
    if (!document.hidden) await readServer()
    if (!ended) timer = setTimeout(() => void tick(), everyMs)
  }
  void tick()
  return () => {
    ended = true
    clearTimeout(timer)
    before = undefined
  }
}

async function readServer(): Promise<void> {
  try {
    const samples = readMetrics(await metrics())
    const timeMs = Date.now()
    const totals = totalsOf(samples)
    if (before !== undefined) {
      const moment = momentOf(samples, totals, before.totals, (timeMs - before.timeMs) / 1_000, timeMs)
      moments.value = [...moments.value.slice(1 - momentsMax), moment]
    }
    before = { timeMs, totals }
    newest.value = samples
    historyError.value = undefined
  } catch (error) {
    historyError.value = error instanceof Error ? error : new Error(String(error))
  }
}

function totalsOf(samples: readonly Sample[]): Totals {
  let requests = 0
  let errors = 0
  const buckets = new Map<number, number>()
  for (const { name, labels, value } of samples) {
    if (name === 'annal_http_requests_total' && isWork(labels.route)) {
      requests += value
      if (Number(labels.status) >= 500) errors += value
    } else if (name === 'annal_http_request_seconds_bucket' && isWork(labels.route)) {
      const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
      buckets.set(bound, (buckets.get(bound) ?? 0) + value)
    }
  }
  return {
    requests,
    errors,
    buckets,
    appends: metric(samples, 'annal_log_appends_total'),
    syncs: metric(samples, 'annal_log_syncs_total'),
    cpuS: metric(samples, 'process_cpu_seconds_total'),
  }
}

/** Excludes the requests that the dashboard itself sends regularly. */
function isWork(route: string | undefined): boolean {
  return route !== undefined && !watched.has(route)
}

function momentOf(samples: readonly Sample[], now: Totals, last: Totals, seconds: number, timeMs: number): Moment {
  const rate = (to: number, from: number) => Math.max(0, to - from) / seconds
  const grown = [...now.buckets].map(([bound, n]) => [bound, n - (last.buckets.get(bound) ?? 0)] as const)
  const sum = (name: string) => samples.reduce((total, sample) => total + (sample.name === name ? sample.value : 0), 0)
  const durable = metric(samples, 'annal_lsn_durable')
  const applied = metric(samples, 'annal_lsn_applied')
  return {
    timeMs,
    requestsPerS: rate(now.requests, last.requests),
    errorsPerS: rate(now.errors, last.errors),
    p50: quantile(grown, 0.5),
    p99: quantile(grown, 0.99),
    appendsPerS: rate(now.appends, last.appends),
    syncsPerS: rate(now.syncs, last.syncs),
    applyLag: lagOf(durable, applied),
    sinceCheckpoint: Math.max(0, applied - metric(samples, 'annal_lsn_checkpoint')),
    logBytes: metric(samples, 'annal_log_bytes'),
    residentBytes: metric(samples, 'process_resident_memory_bytes'),
    accountedBytes: sum('annal_memory_bytes'),
    cpu: rate(now.cpuS, last.cpuS),
  }
}

/** Opening and closing write log records that searches never see; the smallest difference seen is their number. */
let markers = Number.POSITIVE_INFINITY

function lagOf(durable: number, applied: number): number {
  markers = Math.min(markers, Math.max(0, durable - applied))
  return Math.max(0, durable - applied - markers)
}

export function metric(samples: readonly Sample[], name: string): number {
  return samples.find((sample) => sample.name === name)?.value ?? 0
}
