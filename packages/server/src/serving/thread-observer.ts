// Counts and records the requests that a serving thread answers. Counts and the newest requests are in shared memory of the thread, which
// the main thread reads when they are requested. Only what is turned on by a setting (traces, debug lines, the sample of searches) is
// sent to the main thread, in batches.
import type { MessagePort } from 'node:worker_threads'
import type { RequestHead, ThreadObserver } from '../hot/contract.ts'
import { SharedCounters } from '../observe/counters.ts'
import { queryLine } from '../observe/query-log.ts'
import { otherRow, RequestCounts } from '../observe/request-counts.ts'
import { RequestRing } from '../observe/request-ring.ts'
import type { AnsweredRequest } from '../observe/tracing.ts'

/** A request that the main thread traces or writes to its log. */
export interface ReportedRequest extends AnsweredRequest {
  /** The path as received. */
  readonly url: string
  readonly endMs: number
}

/** From a serving thread to the main thread. */
export interface ThreadReport {
  readonly requests: readonly ReportedRequest[]
  /** Lines of the query log. */
  readonly searches: readonly string[]
}

/** What a thread observes, and the memory that it shares with the main thread. */
export interface ObserverShare {
  readonly counts: SharedArrayBuffer
  /** The row of each hot route in the counts, by its pattern. */
  readonly rows: ReadonlyMap<string, number>
  readonly ring: SharedArrayBuffer
  /** Whether traces or debug lines are on. */
  readonly reportsRequests: boolean
  /** Percentage of searches that are recorded. */
  readonly queryLogPercent: number
}

const reportEveryMs = 20
const reportLengthMax = 256

export class SharedObserver implements ThreadObserver {
  readonly #counts: RequestCounts
  readonly #ring: RequestRing
  readonly #share: ObserverShare
  readonly #port: MessagePort
  #requests: ReportedRequest[] = []
  #searches: string[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(share: ObserverShare, port: MessagePort) {
    this.#share = share
    this.#port = port
    this.#counts = new RequestCounts(new SharedCounters(share.counts))
    this.#ring = new RequestRing(share.ring)
  }

  started(): ReturnType<ThreadObserver['started']> {
    this.#counts.admitted()
    return this.#ended
  }

  answered(
    { method, url, headers }: RequestHead,
    { route, database, requestId, status, seconds }: Parameters<ThreadObserver['answered']>[1],
  ): void {
    this.#counts.finished(this.#share.rows.get(route.pattern) ?? otherRow, status, seconds)
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const timeMs = Date.now()
    const { collection } = route
    this.#ring.add({ timeMs, method, path, database, collection, status, seconds })
    if (!this.#share.reportsRequests) return
    const parent = headers.traceparent as string | undefined
    const facts = { method, route: route.pattern, url: path, status, seconds }
    this.#requests.push({ ...facts, requestId: requestId(), parent, endMs: timeMs })
    this.#reportSoon()
  }

  searched(facts: Parameters<ThreadObserver['searched']>[0]): void {
    if (Math.random() >= this.#share.queryLogPercent / 100) return
    // Written now, because the query may be in memory that the next request uses.
    this.#searches.push(queryLine(facts()))
    this.#reportSoon()
  }

  /** Sends what was not sent yet. */
  report(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#requests.length + this.#searches.length === 0) return
    const report: ThreadReport = { requests: this.#requests, searches: this.#searches }
    this.#requests = []
    this.#searches = []
    this.#port.postMessage(report)
  }

  readonly #ended = (end: 'answered' | 'closed' | 'forwarded'): void => {
    this.#counts.closed()
    if (end !== 'forwarded') this.#counts.counted()
  }

  #reportSoon(): void {
    if (this.#requests.length + this.#searches.length >= reportLengthMax) this.report()
    else this.#timer ??= setTimeout(() => this.report(), reportEveryMs).unref()
  }
}
