// Calls a provider of vectors: decides which texts go into one call, when it is made and repeated, and which error a text without a vector
// gets. This happens before a write passes its gate, so it delays no other write.
import { setTimeout as sleep } from 'node:timers/promises'
import { type EmbedFunction, type EmbedPurpose, EngineError } from '@annal/engine'
import { embedsInFlightMax } from '../limits.ts'
import { CallFailure, callProvider } from './call-provider.ts'
import type { ProviderConfig } from './provider-config.ts'
import { CallRate } from './rate.ts'
import { cacheKey, VectorCache } from './vector-cache.ts'

/** Calls with the same texts, with the first. */
const attemptsMax = 6
const backoffMsMin = 250
const backoffMsMax = 10_000
/** Calls that look for the text which a provider refuses, for each batch. */
const divisionsMax = 24
/** UTF-8 bytes of the texts of a call with more than one: about 130,000 tokens. */
const callBytesMax = 524_288
/** Characters of the texts that wait. Each is in memory anyway, in the request that waits for it. */
const waitingLengthMax = 67_108_864
/** Failed calls without a success between them, from which on health says so. */
const failuresShown = 3

/** Upper bounds of the buckets of the histogram of calls, in seconds. */
export const callBounds: readonly number[] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** What a provider did since the start. */
export interface ProviderFigures {
  readonly name: string
  readonly calls: { readonly ok: number; readonly failed: number }
  readonly repeated: number
  /** Calls by duration: one more bucket than `callBounds`. */
  readonly buckets: readonly number[]
  readonly seconds: number
  readonly texts: number
  readonly cacheHits: number
  readonly cacheBytes: number
  readonly waiting: number
}

/** Requests that wait for any provider, by what they are for. */
export type WaitingRequests = { [P in EmbedPurpose]: number }

/** A text that waits for its vector. */
interface Item {
  readonly text: string
  readonly key: string
  readonly deadlineMs: number
  isSettled: boolean
  /** What the last call said that was answered at all. It says more than that the time is over. */
  answer: CallFailure | undefined
  settle(made: Float32Array | Error): void
}

const late = new CallFailure('late', 'the provider did not reply in time')

export class Provider {
  readonly config: ProviderConfig
  readonly #cache: VectorCache
  readonly #rate: CallRate
  readonly #closing = new AbortController()
  /** Queries go first: a search waits behind one call of an import, not behind all of them. */
  readonly #waiting: { readonly [P in EmbedPurpose]: Item[] } = { query: [], store: [] }
  readonly #counts = { ok: 0, failed: 0, repeated: 0, texts: 0, cacheHits: 0, seconds: 0 }
  readonly #buckets: number[] = new Array(callBounds.length + 1).fill(0)
  readonly #requests: WaitingRequests
  #waitingLength = 0
  #running = 0
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #lastFailure = ''

  /** `requests` is shared with other providers. */
  constructor(config: ProviderConfig, requests: WaitingRequests) {
    this.config = config
    this.#requests = requests
    this.#cache = new VectorCache(config.cacheBytes)
    this.#rate = new CallRate(config.requestsPerMinute)
  }

  /** Vectors or errors, in the order of the texts. Settles by the deadline of the provider. */
  readonly embed: EmbedFunction = async (texts, { purpose }) => {
    const made: (Float32Array | Error)[] = new Array(texts.length)
    const places = new Map<string, number[]>()
    for (const [place, text] of texts.entries()) {
      const key = cacheKey(this.config, purpose, text)
      const vector = this.#cache.get(key)
      const others = places.get(key)
      if (vector !== undefined) made[place] = vector
      else if (others === undefined) places.set(key, [place])
      else others.push(place)
    }
    const sent = [...places.values()].reduce((sum, { length }) => sum + length, 0)
    this.#counts.cacheHits += texts.length - sent
    if (places.size === 0) return made
    this.#checkRoom(
      purpose,
      [...places.values()].reduce((sum, [at = 0]) => sum + (texts[at] as string).length, 0),
    )
    this.#requests[purpose]++
    try {
      await this.#vectorsFor([...places], texts, purpose, (at, one) => {
        for (const place of at) made[place] = one
      })
    } finally {
      this.#requests[purpose]--
    }
    return made
  }

  figures(): ProviderFigures {
    const { ok, failed, ...counts } = this.#counts
    const { query, store } = this.#waiting
    return {
      name: this.config.name,
      calls: { ok, failed },
      ...counts,
      buckets: [...this.#buckets],
      cacheBytes: this.#cache.bytes,
      waiting: query.length + store.length,
    }
  }

  /** Why health is degraded; undefined if it is not. */
  reason(): string | undefined {
    if (this.#failures < failuresShown) return undefined
    return `provider ${this.config.name} makes no vectors: ${this.#failures} calls failed, the last one because ${this.#lastFailure}`
  }

  /** Every text that waits gets an error. */
  close(): void {
    this.#closing.abort()
    clearTimeout(this.#timer)
    for (const item of [...this.#waiting.query.splice(0), ...this.#waiting.store.splice(0)])
      item.settle(new EngineError('embedding_failed', 'the server is stopping'))
  }

  /** Requests that wait take the room of others, which need no provider. */
  #checkRoom(purpose: EmbedPurpose, length: number): void {
    if (this.#requests[purpose] >= embedsInFlightMax) {
      const message = 'too many requests wait for providers of vectors'
      throw new EngineError('overloaded', message, { value: this.#requests[purpose], limit: embedsInFlightMax })
    }
    if (this.#waitingLength === 0 || this.#waitingLength + length <= waitingLengthMax) return
    const message = `too many texts wait for provider ${this.config.name}`
    throw new EngineError('overloaded', message, { value: this.#waitingLength, limit: waitingLengthMax })
  }

  #vectorsFor(
    wanted: readonly (readonly [key: string, places: readonly number[]])[],
    texts: readonly string[],
    purpose: EmbedPurpose,
    give: (places: readonly number[], made: Float32Array | Error) => void,
  ): Promise<void> {
    const deadlineMs = performance.now() + this.config.deadlineMs
    return new Promise<void>((resolve) => {
      let left = wanted.length
      const items = wanted.map(([key, places]): Item => {
        const text = texts[places[0] as number] as string
        this.#waitingLength += text.length
        return {
          ...{ text, key, deadlineMs, isSettled: false, answer: undefined },
          settle(made) {
            if (this.isSettled) return
            this.isSettled = true
            give(places, made)
            if (--left > 0) return
            clearTimeout(timer)
            resolve()
          },
        }
      })
      const timer = setTimeout(() => {
        for (const item of items) item.settle(this.#errorOf(item.answer ?? late))
      }, this.config.deadlineMs)
      this.#waiting[purpose].push(...items)
      this.#pump()
    }).then(() => {
      this.#waitingLength -= wanted.reduce((sum, [, [at = 0]]) => sum + (texts[at] as string).length, 0)
    })
  }

  /** Begins as many calls as may run at once. */
  #pump(): void {
    clearTimeout(this.#timer)
    while (this.#running < this.config.concurrency && !this.#closing.signal.aborted) {
      const purpose = (['query', 'store'] as const).find((one) => this.#hasWaiting(one))
      if (purpose === undefined) return
      const waitMs = this.#rate.take(performance.now())
      if (waitMs > 0) {
        this.#refuseUntil(performance.now() + waitMs)
        this.#timer = setTimeout(() => this.#pump(), waitMs)
        return
      }
      this.#running++
      const done = this.#run(this.#nextBatch(purpose), purpose, { isFirst: true, divisions: { left: divisionsMax } })
      void done.finally(() => {
        this.#running--
        this.#pump()
      })
    }
  }

  /** No call is made before this time: texts whose deadline is earlier need not wait for it. */
  #refuseUntil(timeMs: number): void {
    const error = this.#errorOf(new CallFailure('limited', 'the provider takes no more calls now'))
    for (const items of Object.values(this.#waiting))
      for (const item of items) if (item.deadlineMs <= timeMs) item.settle(error)
  }

  #hasWaiting(purpose: EmbedPurpose): boolean {
    const items = this.#waiting[purpose]
    const first = items.findIndex(({ isSettled }) => !isSettled)
    items.splice(0, first < 0 ? items.length : first)
    return items.length > 0
  }

  #nextBatch(purpose: EmbedPurpose): Item[] {
    const items = this.#waiting[purpose]
    let [count, bytes] = [0, 0]
    while (count < Math.min(items.length, this.config.batchSize)) {
      bytes += Buffer.byteLength((items[count] as Item).text)
      if (count > 0 && bytes > callBytesMax) break
      count++
    }
    return items.splice(0, count)
  }

  /** Never rejects: every item is settled at the end. */
  async #run(
    batch: readonly Item[],
    purpose: EmbedPurpose,
    { isFirst, divisions }: { readonly isFirst: boolean; readonly divisions: { left: number } },
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const items = batch.filter(({ isSettled }) => !isSettled)
      if (items.length === 0) return
      if (attempt > 1 || !isFirst) await this.#turn(items)
      const failure = await this.#call(items, purpose)
      if (failure === undefined) return
      if (failure.kind === 'divide' && items.length > 1 && divisions.left >= 2) {
        divisions.left -= 2
        const middle = Math.ceil(items.length / 2)
        for (const half of [items.slice(0, middle), items.slice(middle)])
          await this.#run(half, purpose, { isFirst: false, divisions })
        return
      }
      const isRepeated = attempt < attemptsMax && (await this.#waitAfter(failure, attempt, items))
      if (!isRepeated) {
        for (const item of items) item.settle(this.#errorOf(item.answer ?? failure))
        return
      }
      this.#counts.repeated++
    }
  }

  /** Resolves to undefined when the items have their vectors. */
  async #call(items: readonly Item[], purpose: EmbedPurpose): Promise<CallFailure | undefined> {
    const begun = performance.now()
    const leftMs = Math.max(...items.map(({ deadlineMs }) => deadlineMs)) - begun
    const timeout = AbortSignal.timeout(Math.ceil(Math.max(1, Math.min(this.config.timeoutMs, leftMs))))
    const signal = AbortSignal.any([this.#closing.signal, timeout])
    this.#counts.texts += items.length
    try {
      const texts = items.map(({ text }) => text)
      const vectors = await callProvider(this.config, texts, purpose, signal)
      this.#count(begun, undefined)
      for (const [i, item] of items.entries()) {
        const vector = vectors[i] as Float32Array
        this.#cache.put(item.key, vector)
        item.settle(vector)
      }
      return undefined
    } catch (error) {
      const failure = error instanceof CallFailure ? error : new CallFailure('final', 'the call of the provider failed')
      this.#count(begun, failure)
      if (failure.kind !== 'late') for (const item of items) item.answer = failure
      return failure
    }
  }

  #count(begunMs: number, failure: CallFailure | undefined): void {
    const seconds = (performance.now() - begunMs) / 1_000
    const bucket = callBounds.findIndex((bound) => seconds <= bound)
    const place = bucket < 0 ? callBounds.length : bucket
    this.#buckets[place] = (this.#buckets[place] ?? 0) + 1
    this.#counts.seconds += seconds
    this.#counts[failure ? 'failed' : 'ok']++
    // A text that the provider refuses says nothing about the provider.
    if (failure?.kind === 'divide') return
    this.#failures = failure ? this.#failures + 1 : 0
    this.#lastFailure = failure?.message ?? ''
  }

  /** Waits for the turn of a repeated call. */
  async #turn(items: readonly Item[]): Promise<void> {
    for (;;) {
      const waitMs = this.#rate.take(performance.now())
      if (waitMs === 0 || items.every(({ isSettled }) => isSettled) || this.#closing.signal.aborted) return
      await this.#sleep(waitMs)
    }
  }

  /** Resolves to false if a repetition makes no sense, or would come too late. */
  async #waitAfter(failure: CallFailure, attempt: number, items: readonly Item[]): Promise<boolean> {
    const { kind, retryAfterMs } = failure
    if (kind === 'divide' || kind === 'final' || this.#closing.signal.aborted) return false
    const backoffMs = Math.min(backoffMsMax, backoffMsMin * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
    const waitMs = retryAfterMs ?? backoffMs
    const nowMs = performance.now()
    if (kind === 'limited') this.#rate.pause(nowMs + waitMs)
    if (items.every(({ deadlineMs }) => deadlineMs <= nowMs + waitMs)) return false
    await this.#sleep(waitMs)
    return !this.#closing.signal.aborted
  }

  async #sleep(ms: number): Promise<void> {
    // Rejects when the server stops, and then nobody waits any more.
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined)
  }

  #errorOf({ kind, message }: CallFailure): EngineError {
    const code = kind === 'late' ? 'embedding_timeout' : kind === 'limited' ? 'overloaded' : 'embedding_failed'
    return new EngineError(code, this.#message(message))
  }

  #message(reason: string): string {
    return `${reason} (provider ${this.config.name})`
  }
}
