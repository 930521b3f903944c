// The metrics of the server and the engine in the text form that Prometheus reads. prom-client writes the text; it is loaded at the
// first request for it, and never counts: requests are counted in shared memory (observe/request-counts.ts), which it only reads.
import type { EngineStats } from '@annal/engine'
import type { ArchiveFigures } from '../archive/bucket-archive.ts'
import type { FollowStatus } from '../archive/follower.ts'
import type { ClusterStatus } from '../cluster/cluster-view.ts'
import type { ProviderFigures } from '../embed/provider.ts'
import { SharedCounters } from '../observe/counters.ts'
import { RequestCounts, requestCountsLength } from '../observe/request-counts.ts'
import type { ServingFigures } from '../serving/serving-figures.ts'
import { archiveFamilies, clusterFamilies, followFamilies } from './cluster-families.ts'
import { engineFamilies } from './engine-families.ts'
import { counter, type Family, gauge } from './family.ts'
import { type HostFacts, hostFamilies } from './host-facts.ts'
import { providerFamilies } from './provider-families.ts'
import { requestFamilies, servingFamilies } from './request-families.ts'

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
  /** Undefined if the server is not a node of a cluster. */
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

/** Unix time, in seconds. It is read once, because the clock of the machine may be set, and a change means a start. */
const processStart = Math.round(Date.now() - process.uptime() * 1_000) / 1_000

function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage()
  return [
    gauge('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
    counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6),
    gauge('process_start_time_seconds', 'Unix time of the start of the process.', processStart),
  ]
}
