// Replays a trace against a target and measures it, interval by interval. While changes are pending, nothing else runs; each interval
// ends by waiting for them, and then its searches run and are compared with exact results.
import { cpus } from 'node:os'
import type { SearchRequest } from '@annal/engine'
import type { Event, ObjectsUpserted } from '@annal/engine/events'
import { mean, percentiles, type Stretch } from './measure.ts'
import { mustBeAlone, type ReplayTarget } from './target.ts'
import type { TraceHead, TraceQuery, TraceSummary } from './trace.ts'
import type { OpenTrace } from './trace-file.ts'

/** How a trace is replayed. `onProgress` gets the numbers of entries that are done and of all. */
export interface ReplayOptions {
  /** As fast as possible, or a multiple of the recorded speed. */
  readonly speed?: 'max' | number
  /** The last record to replay; only for recorded traces. */
  readonly until?: number
  /** Number of intervals to measure. */
  readonly stretches?: number
  /** Maximum number of pending changes. */
  readonly inFlight?: number
  /** Searches per interval that are compared with exact results; the others are only timed. */
  readonly compared?: number
  readonly onProgress?: (done: number, total: number) => void
}

/** The measurements of a replay, with the trace, the target, and the machine. */
export interface ReplayResult {
  readonly target: string
  readonly trace: TraceHead & TraceSummary
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string }
  readonly speed: 'max' | number
  readonly objects: number
  readonly objectsPerSecond: number
  /** Recall over all compared searches. */
  readonly recall: number | undefined
  readonly restartMs: number | undefined
  readonly digests: Readonly<Record<string, string>>
  readonly stretches: readonly Stretch[]
}

/** Replays a trace and measures it. Times in the result are in milliseconds. Throws `ReplayError` if the trace is damaged or the target refuses a change. */
export async function replayTrace(
  trace: OpenTrace,
  target: ReplayTarget,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const run = new Run(trace, target, options)
  return run.result()
}

class Run {
  readonly #trace: OpenTrace
  readonly #target: ReplayTarget
  readonly #options: Required<Omit<ReplayOptions, 'until' | 'onProgress'>>
  readonly #given: ReplayOptions
  readonly #stretches: Stretch[] = []
  readonly #recalls: number[] = []
  /** Recently written vectors, as queries when the trace has no searches. */
  readonly #recent: { readonly collectionId: number; readonly field: string; readonly vector: Float32Array }[] = []
  readonly #fieldNames = new Map<number, readonly string[]>()
  readonly #inFlight = new Set<Promise<void>>()
  #acknowledged: number[] = []
  #queries: TraceQuery[] = []
  #events = 0
  #objects = 0
  #objectsBefore = 0
  #busyMs = 0
  #busySince = 0
  #logTimeMs = 0
  #startedAt = 0
  #failure: unknown

  constructor(trace: OpenTrace, target: ReplayTarget, options: ReplayOptions) {
    this.#trace = trace
    this.#target = target
    this.#given = options
    const { speed = 'max', stretches = 50, inFlight = 64, compared = 20 } = options
    this.#options = { speed, stretches, inFlight, compared }
  }

  async result(): Promise<ReplayResult> {
    const { head, summary } = this.#trace
    const each = Math.max(1, Math.ceil(summary.events / this.#options.stretches))
    this.#startedAt = performance.now()
    for await (const entry of this.#trace.entries()) {
      if (entry.kind === 'query') {
        this.#queries.push(entry)
        continue
      }
      if (this.#given.until !== undefined && entry.lsn > this.#given.until) break
      if (this.#events > 0 && this.#events % each === 0) await this.#endStretch()
      await this.#apply(entry.event)
      this.#given.onProgress?.(this.#events, summary.events)
    }
    await this.#endStretch()
    const digests = this.#target.digests()
    const restartMs = await this.#target.restart()
    const seconds = this.#stretches.reduce((sum, { busySeconds }) => sum + busySeconds, 0)
    return {
      target: this.#target.name,
      trace: { ...head, ...summary },
      machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version },
      speed: this.#options.speed,
      objects: this.#objects,
      objectsPerSecond: this.#objects / seconds,
      recall: mean(this.#recalls),
      restartMs,
      digests,
      stretches: this.#stretches,
    }
  }

  async #apply(event: Event): Promise<void> {
    await this.#untilDue(event.timeMs)
    const isAlone = mustBeAlone(event)
    if (isAlone || this.#inFlight.size >= this.#options.inFlight)
      await this.#settle(isAlone ? 0 : this.#options.inFlight - 1)
    if (this.#inFlight.size === 0) this.#busySince = performance.now()
    const from = performance.now()
    const applied: Promise<void> = this.#target
      .apply(event)
      .then(() => void this.#acknowledged.push(performance.now() - from))
      .catch((error: unknown) => {
        this.#failure ??= error
      })
      .finally(() => {
        this.#inFlight.delete(applied)
        if (this.#inFlight.size === 0) this.#busyMs += performance.now() - this.#busySince
      })
    this.#inFlight.add(applied)
    this.#events++
    this.#logTimeMs = event.timeMs
    if ('ids' in event) this.#objects += event.ids.length
    this.#remember(event)
    if (isAlone) await this.#settle(0)
  }

  /** Waits until at most `left` changes are pending. */
  async #settle(left: number): Promise<void> {
    while (this.#inFlight.size > left) await Promise.race(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #untilDue(timeMs: number): Promise<void> {
    const { speed } = this.#options
    if (speed === 'max' || this.#trace.summary.timeFirst === 0) return
    const due = this.#startedAt + (timeMs - this.#trace.summary.timeFirst) / speed
    const wait = due - performance.now()
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
  }

  async #endStretch(): Promise<void> {
    await this.#settle(0)
    const busySeconds = this.#busyMs / 1_000
    const objects = this.#objects - this.#objectsBefore
    const { searched, recalls } = await this.#ask()
    this.#recalls.push(...recalls)
    this.#stretches.push({
      events: this.#events,
      objects,
      logTimeMs: this.#logTimeMs,
      busySeconds,
      objectsPerSecond: busySeconds > 0 ? objects / busySeconds : 0,
      acknowledged: percentiles(this.#acknowledged),
      searched: percentiles(searched),
      recall: mean(recalls),
      memoryBytes: await this.#target.memory(),
      checkpointMs: this.#target.takeCheckpointMs(),
    })
    this.#objectsBefore = this.#objects
    this.#busyMs = 0
    this.#acknowledged = []
    this.#queries = []
  }

  async #ask(): Promise<{ readonly searched: number[]; readonly recalls: number[] }> {
    const queries = this.#queries.length > 0 ? this.#queries : this.#madeQueries()
    const step = Math.max(1, Math.floor(queries.length / this.#options.compared))
    const searched: number[] = []
    const recalls: number[] = []
    for (const [index, { collectionId, request }] of queries.entries()) {
      const from = performance.now()
      const found = await this.#target.search(collectionId, request)
      if (found === undefined) continue
      searched.push(performance.now() - from)
      if (index % step !== 0 || recalls.length >= this.#options.compared) continue
      const exact = await this.#target.search(collectionId, { ...request, exact: true })
      if (exact !== undefined) recalls.push(...recallsOf(found, exact))
    }
    return { searched, recalls }
  }

  #madeQueries(): { readonly collectionId: number; readonly request: SearchRequest }[] {
    return this.#recent.map(({ collectionId, field, vector }) => ({
      collectionId,
      request: { fields: { [field]: { query: vector, limit: 10 } } },
    }))
  }

  #remember(event: Event): void {
    if (event.kind === 'collection-created')
      this.#fieldNames.set(
        event.collectionId,
        event.fields.map(({ name }) => name),
      )
    if (event.kind === 'objects-upserted') this.#rememberVector(event)
  }

  #rememberVector({ collectionId, dense: [column] }: ObjectsUpserted): void {
    const field = column && this.#fieldNames.get(collectionId)?.[column.field]
    if (column === undefined || field === undefined) return
    const dimension = column.vectors.length / column.objects.length
    this.#recent.push({ collectionId, field, vector: column.vectors.slice(0, dimension) })
    if (this.#recent.length > this.#options.compared) this.#recent.shift()
  }
}

function recallsOf(
  found: ReadonlyMap<string, readonly string[]>,
  exact: ReadonlyMap<string, readonly string[]>,
): number[] {
  return [...exact].flatMap(([field, wanted]) => {
    if (wanted.length === 0) return []
    const ids = new Set(found.get(field))
    return [wanted.filter((id) => ids.has(id)).length / wanted.length]
  })
}
