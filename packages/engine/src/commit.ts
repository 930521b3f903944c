// The one way to change state: append an event, wait until it is durable, apply it, acknowledge. Everything that can be
// refused was refused before; from the append on nothing may fail, and when something does the engine stops.
import type { Log, NewRecord } from '@annal/wal'
import { encodeEvent, upsertRecord } from './events/codec.ts'
import type { Event } from './events/event.ts'
import type { Clock } from './model/api.ts'
import type { Acknowledgement } from './model/object.ts'
import type { WriteGate } from './replica/write-gate.ts'

/** An event whose time is not known yet. */
export type EventDraft = Event extends infer E ? (E extends Event ? Omit<E, 'timeMs'> : never) : never

/** What frees memory and disk, or takes a right away, goes on when the disk is full. */
const freeing: ReadonlySet<Event['kind']> = new Set([
  'objects-deleted',
  'collection-dropped',
  'database-dropped',
  'database-changed',
  'token-dropped',
])

export class Committer {
  readonly #log: Log
  readonly #clock: Clock
  readonly #onBroken: (error: Error) => void
  readonly #onApplied: (event: Event, bytes: number) => void
  #timeMs = 0
  /** Records whose append settled, oldest first, until they and all before them are applied. */
  readonly #settled: { readonly lsn: number; applied: boolean }[] = []
  #lsnApplied = 0

  constructor(options: {
    log: Log
    clock: Clock
    onBroken: (error: Error) => void
    onApplied: (event: Event, bytes: number) => void
  }) {
    this.#log = options.log
    this.#clock = options.clock
    this.#onBroken = options.onBroken
    this.#onApplied = options.onApplied
  }

  /** Says where recovery ended; commits go on from there. */
  startAfter(recovered: { readonly lsn: number; readonly timeMs: number }): void {
    this.#lsnApplied = recovered.lsn
    this.#timeMs = recovered.timeMs
  }

  /** Every record up to this one is applied. */
  get lsnApplied(): number {
    return this.#lsnApplied
  }

  /** Time of the newest record: what "now" means to the fold. */
  get timeMs(): number {
    return this.#timeMs
  }

  /**
   * Appends in the caller's turn (call it inside gate.write): events get their LSNs in the order of the calls. Rejects, with nothing
   * changed, when the log refuses the record. `pieces` are the columns of an upsert, encoded already.
   */
  async commit<T>(
    draft: EventDraft,
    gate: WriteGate,
    apply: (lsn: number, event: Event) => Promise<T> | T,
    pieces?: readonly Uint8Array[],
  ): Promise<Acknowledgement & { readonly result: T }> {
    // Time comes in through the event and never runs backwards, whatever the clock does.
    this.#timeMs = Math.max(this.#timeMs, this.#clock.now())
    const event = { ...draft, timeMs: this.#timeMs } as Event
    const encoded = pieces && event.kind === 'objects-upserted' ? upsertRecord(event, pieces) : encodeEvent(event)
    const record = { ...encoded, usesReserve: freeing.has(event.kind) }
    const appended = this.#log.append(record).then((done) => {
      const entry = { lsn: done.lsn as number, applied: false }
      this.#settled.push(entry)
      return { ...done, entry }
    })
    // Whoever waits in the queue below hears of a refusal; until then it must not count as unhandled.
    appended.catch(() => undefined)
    const length = payloadBytes(record)
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
    while (this.#settled[0]?.applied) this.#lsnApplied = this.#settled.shift()?.lsn ?? this.#lsnApplied
  }
}

function payloadBytes({ payload }: NewRecord): number {
  if (payload instanceof Uint8Array) return payload.length
  return payload.reduce((sum, piece) => sum + piece.length, 0)
}
