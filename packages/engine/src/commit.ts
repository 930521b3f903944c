// The only way to change state: append an event, wait until it is durable, apply it, acknowledge it. All refusals
// happen before the append. After it nothing may fail, and when something does the engine stops.
import type { Log, NewRecord } from '@annal/wal'
import { currentAuthor } from './events/author.ts'
import { encodeEvent, upsertRecord, withAuthor, withRequest } from './events/codec.ts'
import type { RequestRecord } from './events/request-record.ts'
import type { Clock } from './model/engine.ts'
import type { CatalogEvent, Event } from './model/event.ts'
import type { Acknowledgement } from './model/object.ts'
import type { RequestFacts } from './model/requests.ts'
import type { WriteGate } from './replica/write-gate.ts'
import type { KeyTable } from './requests/key-table.ts'
import type { Claim } from './requests/request-keys.ts'

/** An event without its time. */
export type EventDraft = Event extends infer E ? (E extends Event ? Omit<E, 'timeMs'> : never) : never

/** A change of the catalog, before it has a time. */
export type CatalogDraft = Extract<EventDraft, { kind: CatalogEvent['kind'] }>

/** Writes that free memory and disk, or revoke access, continue when the disk is full. */
const freeing: ReadonlySet<Event['kind']> = new Set([
  'objects-deleted',
  'objects-expired',
  'collection-dropped',
  'database-dropped',
  'database-changed',
  'token-dropped',
  'alias-dropped',
])

/** What a commit needs besides the event. */
export interface CommitOptions {
  /** The encoded columns of an upsert. */
  readonly pieces?: readonly Uint8Array[] | undefined
  /** The request key of the write. */
  readonly claim?: Claim | undefined
  /** What a repetition with this key returns besides the LSN. */
  readonly facts?: RequestFacts | undefined
}

/** Appends events to the log and applies them in order. */
export class Committer {
  readonly #log: Log
  readonly #clock: Clock
  readonly #onBroken: (error: Error) => void
  readonly #onApplied: (event: Event, bytes: number) => void
  readonly #onAdvanced: (lsn: number) => void
  readonly #onAppended: ((lsn: number, event: Event) => void) | undefined
  readonly #onRecord: ((lsn: number, event: Event, bytes: number) => void) | undefined
  readonly #refusal: (() => Error | undefined) | undefined
  readonly #keys: KeyTable | undefined
  #timeMs = 0
  /** Records whose append settled, oldest first, until they and all earlier ones are applied. */
  readonly #settled: { readonly lsn: number; applied: boolean }[] = []
  #lsnApplied = 0
  /** Calls of `whenApplied` that wait. */
  readonly #waiting = new Set<{ readonly lsn: number; readonly reached: () => void }>()

  constructor(options: {
    log: Log
    clock: Clock
    onBroken: (error: Error) => void
    onApplied: (event: Event, bytes: number) => void
    /** Called with `lsnApplied` when it grows, before anything is acknowledged. */
    onAdvanced: (lsn: number) => void
    /** Called in the order of the log, before the record or a later one is applied. */
    onAppended?: ((lsn: number, event: Event) => void) | undefined
    /** The same, also for records of other nodes, with the bytes of the payload. */
    onRecord?: ((lsn: number, event: Event, bytes: number) => void) | undefined
    /** Why this engine appends nothing at the moment. Absent where it always may. */
    refusal?: (() => Error | undefined) | undefined
    /** Gets the request keys of the records. */
    keys?: KeyTable
  }) {
    this.#log = options.log
    this.#clock = options.clock
    this.#onBroken = options.onBroken
    this.#onApplied = options.onApplied
    this.#onAdvanced = options.onAdvanced
    this.#onAppended = options.onAppended
    this.#onRecord = options.onRecord
    this.#refusal = options.refusal
    this.#keys = options.keys
  }

  /** Sets the LSN where recovery ended; commits continue from there. */
  startAfter(recovered: { readonly lsn: number; readonly timeMs: number }): void {
    this.#lsnApplied = recovered.lsn
    this.#timeMs = recovered.timeMs
    this.#onAdvanced(recovered.lsn)
  }

  /** Throws `not_leader` while another node appends to the log. */
  checkWritable(): void {
    const refused = this.#refusal?.()
    if (refused !== undefined) throw refused
  }

  /** Whether this engine may append. */
  get isWritable(): boolean {
    return this.#refusal?.() === undefined
  }

  /**
   * Counts a record that another node appended, and keeps its request key. Call it in the order of the log, and the returned
   * function when the record is applied.
   */
  follow(lsn: number, event: Event, bytes: number, request: RequestRecord | undefined): () => void {
    const { timeMs } = event
    this.#onRecord?.(lsn, event, bytes)
    if (request !== undefined) this.#keys?.add({ ...request, lsn, timeMs })
    this.#timeMs = Math.max(this.#timeMs, timeMs)
    const entry = { lsn, applied: false }
    this.#settled.push(entry)
    return () => {
      entry.applied = true
      this.#advance()
    }
  }

  /** Every record up to this LSN is applied. */
  get lsnApplied(): number {
    return this.#lsnApplied
  }

  /** Resolves to true when every record up to this LSN is applied, and to false after `timeoutMs`. */
  whenApplied(lsn: number, timeoutMs: number): Promise<boolean> {
    if (this.#lsnApplied >= lsn) return Promise.resolve(true)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const end = (isReached: boolean) => {
      clearTimeout(timer)
      this.#waiting.delete(entry)
      resolve(isReached)
    }
    const entry = { lsn, reached: () => end(true) }
    const timer = setTimeout(() => end(false), timeoutMs)
    this.#waiting.add(entry)
    return promise
  }

  /** Time of the newest record: the meaning of "now" in the fold. */
  get timeMs(): number {
    return this.#timeMs
  }

  /** The time of reads and writes: the later of the clock and of the newest record, in milliseconds since 1970. */
  get nowMs(): number {
    return Math.max(this.#timeMs, this.#clock.now())
  }

  /**
   * Appends in the caller's turn (call it inside gate.write): events get their LSNs in the order of the calls. Rejects,
   * with nothing changed, when the log refuses the record.
   */
  async commit<T>(
    draft: EventDraft,
    gate: WriteGate,
    apply: (lsn: number, event: Event) => Promise<T> | T,
    { pieces, claim, facts = {} }: CommitOptions = {},
  ): Promise<Acknowledgement & { readonly result: T }> {
    this.checkWritable()
    // Refuses facts that are too long.
    const request = claim?.record(facts)
    // Time enters through the event and never runs backward, whatever the clock does.
    this.#timeMs = Math.max(this.#timeMs, this.#clock.now())
    const event = { ...draft, timeMs: this.#timeMs } as Event
    const encoded = pieces && event.kind === 'objects-upserted' ? upsertRecord(event, pieces) : encodeEvent(event)
    const author = currentAuthor()
    const authored = author === undefined ? encoded : withAuthor(encoded, author)
    const keyed = request === undefined ? authored : withRequest(authored, request)
    const record = { ...keyed, usesReserve: freeing.has(event.kind) }
    const length = payloadBytes(record)
    const appended = this.#log.append(record).then((done) => {
      const entry = { lsn: done.lsn as number, applied: false }
      this.#settled.push(entry)
      this.#onAppended?.(entry.lsn, event)
      this.#onRecord?.(entry.lsn, event, length)
      // Appends settle in the order of their LSNs.
      if (claim !== undefined && request !== undefined) {
        const { timeMs } = event
        claim.recorded = { lsn: done.lsn, timeMs }
        this.#keys?.add({ ...request, lsn: done.lsn, timeMs })
      }
      return { ...done, entry }
    })
    // The queue below reports a refusal to its caller; until then it must not count as unhandled.
    appended.catch(() => undefined)
    return gate.queue(length, async () => {
      const { lsn, durable, entry } = await appended
      try {
        const result = await apply(lsn, event)
        entry.applied = true
        this.#advance()
        this.#onApplied(event, length)
        return { lsn, durable, result }
      } catch (error) {
        this.#onBroken(error as Error)
        throw error
      }
    })
  }

  #advance(): void {
    if (!this.#settled[0]?.applied) return
    while (this.#settled[0]?.applied) this.#lsnApplied = this.#settled.shift()?.lsn ?? this.#lsnApplied
    this.#onAdvanced(this.#lsnApplied)
    for (const { lsn, reached } of this.#waiting) if (lsn <= this.#lsnApplied) reached()
  }
}

function payloadBytes({ payload }: NewRecord): number {
  if (payload instanceof Uint8Array) return payload.length
  return payload.reduce((sum, piece) => sum + piece.length, 0)
}
