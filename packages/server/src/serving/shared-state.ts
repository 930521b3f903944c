// What the main thread and the serving threads share to decide about requests and to count them, and how a thread gets its part of it. The
// same state serves a server without serving threads, which shares it with nobody.
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { ControlChange } from '@annal/engine'
import { tokenModeOf } from '../access/auth.ts'
import type { BodyBudgets } from '../access/body-room.ts'
import { type Budget, createBudget } from '../access/budget.ts'
import { monotonicMs, RateBuckets } from '../access/rate-buckets.ts'
import { createRateLimit, type RateLimit } from '../access/rate-limit.ts'
import { amounts, SharedAmounts } from '../access/shared-amounts.ts'
import type { Config } from '../config.ts'
import type { Gate, ThreadObserver } from '../hot/contract.ts'
import { SharedHealth } from '../hot/shared-health.ts'
import { memorySharesOf } from '../http/memory-shares.ts'
import * as limits from '../limits.ts'
import { SharedCounters } from '../observe/counters.ts'
import { RequestCounts, requestCountsLength } from '../observe/request-counts.ts'
import type { LoggedRequest } from '../observe/request-log.ts'
import { RequestRing } from '../observe/request-ring.ts'
import { withdrawChanged } from './granting.ts'
import { type GrantsMessage, GrantsOwner, GrantsView } from './grants.ts'
import { SharedFreshness } from './shared-freshness.ts'
import { createThreadGate, type GateRules } from './thread-gate.ts'
import { type ObserverShare, SharedObserver, type ThreadReport } from './thread-observer.ts'

/** What a serving thread gets when it starts: structured data, with one port to transfer. */
export interface ThreadShare {
  /** From 0. */
  readonly thread: number
  readonly rules: GateRules
  /** What the process may use. */
  readonly memoryBytes: number
  readonly amounts: SharedArrayBuffer
  readonly grants: SharedArrayBuffer
  readonly firstGrants: GrantsMessage
  readonly buckets: { readonly memory: SharedArrayBuffer; readonly perSecond: number } | undefined
  readonly observer: ObserverShare
  readonly health: SharedArrayBuffer
  /** Undefined on a single server. */
  readonly freshness: { readonly memory: SharedArrayBuffer; readonly stalenessMsMax: number } | undefined
  /** Transfer it. */
  readonly port: MessagePort
}

/** The budgets of a process, as one thread takes from them. */
export interface Budgets {
  readonly reads: Budget
  readonly writes: Budget
  readonly bodies: BodyBudgets
  readonly largeReplies: Budget
  /** Of one reply, and of one page. */
  readonly replyBytesMax: number
  readonly pageBytesMax: number
}

/** The routes that serving threads may answer, as metrics name them. Others are counted under `other`. */
const hotPatterns = [
  ['POST', '/api/v1/index/:name/search'],
  ['POST', '/api/v1/index/:name/vector/get'],
  ['POST', '/api/v2/collection/:name/search'],
  ['POST', '/api/v2/collection/:name/search/batch'],
  ['POST', '/api/v2/collection/:name/objects/query'],
  ['GET', '/api/v1/health'],
  ['GET', '/api/v2/health'],
] as const

/** The routes that count as searches of a thread. A batch counts once. */
const searchPatterns: readonly string[] = [
  '/api/v1/index/:name/search',
  '/api/v2/collection/:name/search',
  '/api/v2/collection/:name/search/batch',
]

/** What one thread has answered since the server started. */
export interface ThreadReplies {
  readonly thread: number | 'main'
  readonly requests: number
  readonly searches: number
}

/** Row of the main thread in what threads share. Serving thread n has row n + 1. */
const mainRow = 0

export interface SharedStateOptions {
  /** The most serving threads that there will be. */
  readonly threads: number
  /** What the process may use. */
  readonly memoryBytes: number
  readonly now?: () => number
}

export class SharedState {
  readonly grants: GrantsOwner
  readonly rates: RateLimit
  readonly budgets: Budgets
  /** Requests that this thread and the serving threads answered. */
  readonly counts: RequestCounts
  readonly #ownCounters = new SharedCounters({ length: requestCountsLength })
  readonly health: SharedHealth
  /** Undefined on a single server. */
  readonly freshness: SharedFreshness | undefined
  readonly #config: Config
  readonly #amounts: SharedAmounts
  /** By the number of the thread. They outlive the thread: the next one with its number adds to them. */
  readonly #observed = new Map<number, { readonly counters: SharedCounters; readonly ring: RequestRing }>()
  readonly #ports = new Map<number, MessagePort>()
  readonly #listeners: ((report: ThreadReport) => void)[] = []

  /** The clock of grants and rates. */
  readonly now: () => number

  readonly #memoryBytes: number

  constructor(config: Config, { threads, memoryBytes, now = monotonicMs }: SharedStateOptions) {
    this.now = now
    this.health = new SharedHealth(now)
    this.freshness = config.cluster && new SharedFreshness(now)
    this.#config = config
    this.#amounts = new SharedAmounts({ threads: threads + 1 }, mainRow)
    this.#memoryBytes = memoryBytes
    this.budgets = budgetsOf(this.#amounts, this.#memoryBytes)
    this.rates = createRateLimit(config.rateLimit, now)
    this.counts = new RequestCounts(this.#ownCounters)
    this.grants = new GrantsOwner({ threads, max: limits.authAddressesMax })
  }

  /** What a new thread needs. Call `ended` when it has ended, before another thread gets its number. */
  share(thread: number): ThreadShare {
    const { host, allowedHosts, corsOrigins, trustedProxies, rateLimit } = this.#config
    const { port1, port2 } = new MessageChannel()
    this.#ports.set(thread, port1)
    port1.on('message', (report: ThreadReport) => this.#receive(report))
    // The listener must not keep the process running.
    port1.unref()
    const { buckets } = this.rates
    return {
      thread,
      memoryBytes: this.#memoryBytes,
      rules: { mode: tokenModeOf(this.#config), host, allowedHosts, corsOrigins, trustedProxies },
      amounts: this.#amounts.memory,
      grants: this.grants.memory,
      firstGrants: this.grants.attach(thread, port1),
      buckets: buckets && rateLimit !== undefined ? { memory: buckets.memory, perSecond: rateLimit } : undefined,
      observer: this.#observerShare(thread),
      health: this.health.memory,
      freshness: this.freshness && {
        memory: this.freshness.memory,
        stalenessMsMax: this.#config.cluster?.stalenessMs ?? 0,
      },
      port: port2,
    }
  }

  /** Calls `listener` with what threads report. */
  onReport(listener: (report: ThreadReport) => void): void {
    this.#listeners.push(listener)
  }

  /** The newest requests that serving threads answered. */
  newestRequests(): LoggedRequest[] {
    return [...this.#observed.values()].flatMap(({ ring }) => ring.requests())
  }

  /** Replies of the main thread and of each serving thread. Their sums are those of `counts`. */
  repliesByThread(): ThreadReplies[] {
    const all = this.counts.rows()
    const searches = this.counts.rows((route) => searchPatterns.includes(route))
    const repliesOf = (thread: ThreadReplies['thread'], counters: SharedCounters): ThreadReplies => ({
      thread,
      requests: RequestCounts.replies(counters, all),
      searches: RequestCounts.replies(counters, searches),
    })
    return [
      repliesOf('main', this.#ownCounters),
      ...[...this.#observed].map(([thread, { counters }]) => repliesOf(thread, counters)),
    ]
  }

  /** Gives back everything that the thread held. */
  ended(thread: number): void {
    this.grants.detach(thread)
    this.#amounts.clear(thread + 1)
    const observed = this.#observed.get(thread)
    if (observed !== undefined) RequestCounts.ended(observed.counters)
    const port = this.#ports.get(thread)
    this.#ports.delete(thread)
    if (port === undefined) return
    // What the thread sent before it ended.
    for (let left = receiveMessageOnPort(port); left !== undefined; left = receiveMessageOnPort(port)) {
      this.#receive(left.message as ThreadReport)
    }
    port.close()
  }

  #receive(report: ThreadReport): void {
    for (const listener of this.#listeners) listener(report)
  }

  #observerShare(thread: number): ObserverShare {
    let observed = this.#observed.get(thread)
    if (observed === undefined) {
      const counters = new SharedCounters({ length: requestCountsLength })
      observed = { counters, ring: new RequestRing({ slots: limits.requestLogMax }) }
      this.#observed.set(thread, observed)
      this.counts.include(counters)
    }
    const { logLevel, tracesUrl, queryLogPercent } = this.#config
    return {
      counts: observed.counters.memory,
      rows: new Map(hotPatterns.map(([method, pattern]) => [pattern, this.counts.row(method, pattern)])),
      ring: observed.ring.memory,
      reportsRequests: tracesUrl !== undefined || logLevel === 'debug' || logLevel === 'trace',
      queryLogPercent,
    }
  }

  /** Call it after a change was applied and before it is acknowledged. Resolves when no thread decides by the state before it. */
  controlChanged(change: ControlChange): Promise<void> {
    return withdrawChanged(this.grants, change)
  }
}

/** The parts of a serving thread. */
export interface ThreadState {
  readonly gate: Gate
  readonly observer: ThreadObserver
  readonly budgets: Budgets
  readonly health: SharedHealth
  /** Sends what the observer has not sent yet. Call it before the thread ends. */
  finish(): void
}

/** On the serving thread: makes the parts of what the main thread shares. Tests pass the clock of the main thread. */
export async function openThreadState(share: ThreadShare, now: () => number = monotonicMs): Promise<ThreadState> {
  const { thread, rules, buckets, port } = share
  const budgets = budgetsOf(new SharedAmounts(share.amounts, thread + 1), share.memoryBytes)
  const grants = new GrantsView({ memory: share.grants, thread, port, first: share.firstGrants })
  const gate = await createThreadGate({
    rules,
    grants,
    freshness: share.freshness && {
      state: new SharedFreshness(now, share.freshness.memory),
      stalenessMsMax: share.freshness.stalenessMsMax,
    },
    buckets: buckets && new RateBuckets(buckets.memory, buckets.perSecond, now),
    now,
    ...{ reads: budgets.reads, writes: budgets.writes, bodies: budgets.bodies },
  })
  const observer = new SharedObserver(share.observer, port)
  const health = new SharedHealth(now, share.health)
  return { gate, observer, budgets, health, finish: () => observer.report() }
}

function budgetsOf(shared: SharedAmounts, memoryBytes: number): Budgets {
  const shares = memorySharesOf(memoryBytes)
  return {
    reads: createBudget(limits.readsInFlightMax, 'reads', shared.amount(amounts.reads)),
    writes: createBudget(limits.writesInFlightMax, 'writes', shared.amount(amounts.writes)),
    bodies: {
      small: createBudget(shares.smallBodies, 'request bodies', shared.amount(amounts.smallBodies)),
      queries: createBudget(shares.queryBodies, 'request bodies', shared.amount(amounts.queryBodies)),
      large: createBudget(shares.largeBodies, 'request bodies', shared.amount(amounts.largeBodies)),
      embedding: createBudget(
        shares.embeddingBodies,
        'request bodies that wait for providers of vectors',
        shared.amount(amounts.embeddingBodies),
      ),
    },
    largeReplies: createBudget(shares.largeReplies, 'large replies', shared.amount(amounts.largeReplies)),
    replyBytesMax: shares.reply,
    pageBytesMax: shares.page,
  }
}
