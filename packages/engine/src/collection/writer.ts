// How changes of one collection are committed: once for each request key, behind the write gate, with memory reserved before the append.

import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { MemoryNeed } from '../admission/memory-need.ts'
import type { MemoryWork } from '../admission/memory-queue.ts'
import type { CommitOptions, Committer, EventDraft } from '../commit.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { indexedValues } from '../filter/indexed-values.ts'
import type { ObjectEvent } from '../model/event.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { RecordedRequest, WriteOptions } from '../model/requests.ts'
import type { Applied, Replica } from '../replica/replica.ts'
import { keyed } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import type { CollectionLife } from './life.ts'
import { added, memoryNeedOf, noRoom, type Room, roomFor, roomForFilters, roomForPatches } from './write-memory.ts'

/** Of changes without filter values. */
export const noFilters = new FilterNeeds()

/** A change of objects, before it has a time. */
export type Draft = Extract<EventDraft, { kind: ObjectEvent['kind'] }>

export interface ChangeOptions extends CommitOptions {
  /** Counts the memory of the change, until its owner releases it. By default the change is counted while it runs. */
  readonly work?: MemoryWork | undefined
}

/** What the input of a write may take, if its caller does not say. */
const inputBytes = 1024 * 1024
/** An input with what most of its changes take, in lengths of the input. */
const inputShares = 3
const noRelease = () => undefined

export interface WriterOptions {
  readonly committer: Committer
  readonly memory: MemoryGuard
  readonly keys: KeptRequests
  /** Called before a record is applied, which waits for what it returns. */
  readonly before: (lsn: number) => Promise<void> | undefined
  /** Called with the number of objects that a change wrote or deleted. */
  readonly onChanged: (objects: number) => void
}

export class CollectionWriter {
  readonly committer: Committer
  readonly #collection: CollectionLife
  readonly #options: WriterOptions
  #reserved: Room = noRoom

  constructor(collection: CollectionLife, options: WriterOptions) {
    this.committer = options.committer
    this.#collection = collection
    this.#options = options
  }

  /** The memory that pending writes need, and one more. */
  roomWith(room: Room): Room {
    return added(this.#reserved, room, 1)
  }

  /**
   * Call it before the input of a write is processed, which may take `bytes` of memory: waits until there is room for it, and counts it until
   * the returned work is released. Returns it in the same turn if there is room, so that the input can be read in the turn of the call.
   * Rejects with EngineError memory_exhausted, or overloaded if it waited too long.
   */
  enter(bytes = inputBytes): MemoryWork | Promise<MemoryWork> {
    const { replica } = this.#collection
    const work = this.open()
    // Objects may take the places of deleted ones; what the write adds is known later.
    const growth = replica.ordinals.freeCount > 0 ? 0 : 1
    // With room for the change as well, so that writes seldom wait for each other when their input is in memory.
    const spacious = { growth, transient: inputShares * bytes }
    return work.takeIfFree(spacious) ? work : work.take({ growth, transient: bytes }, spacious).then(() => work)
  }

  /** A write that nothing is counted for yet. */
  open(): MemoryWork {
    return this.#options.memory.write()
  }

  /** Waits until there is memory for a change, and prepares the collection. `isPrepared` may be false again later. */
  async prepare(work: MemoryWork, room: Room): Promise<void> {
    if (room.objects === 0) return
    const need = this.#needOf(room)
    if (!work.covers(need)) await work.take(need)
    await this.#collection.replica.prepare(this.roomWith(room))
  }

  /** Whether a change can be committed in this turn. Other writers may have taken space, or the places of deleted objects. */
  isPrepared(work: MemoryWork, room: Room): boolean {
    // Writes that need no space are not checked: an event that is being applied counts twice for a short time, and no space would be freed
    // for that.
    if (room.objects === 0) return true
    return work.covers(this.#needOf(room)) && this.#collection.replica.isPrepared(this.roomWith(room))
  }

  #needOf(room: Room): MemoryNeed {
    return memoryNeedOf(room, this.#collection.replica, this.#reserved)
  }

  /** Runs a write once if the call has a request key; `parts` are the input of the call. */
  once<R extends Acknowledgement>(
    options: WriteOptions | undefined,
    parts: () => readonly (string | Uint8Array)[],
    write: (claim: Claim | undefined) => Promise<R>,
    repeated?: (recorded: RecordedRequest) => R,
  ): Promise<R> {
    const { id, databaseId } = this.#collection.entry
    const call = { databaseId, parts: () => [String(id), ...parts()] }
    return keyed(this.#options.keys, options, call, write, repeated)
  }

  /** Resolves when the change is durable and applied. */
  async write(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: ChangeOptions,
  ): Promise<Acknowledgement & { readonly result: Applied }> {
    const { written } = await this.begin(draft, room, filters, options)
    return written
  }

  /** Resolves when the change is appended; `written` resolves when it is durable and applied. */
  async begin(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: ChangeOptions,
  ): Promise<{ readonly written: Promise<Acknowledgement & { readonly result: Applied }> }> {
    const work = options?.work ?? this.open()
    const release = options?.work ? noRelease : () => work.release()
    try {
      for (;;) {
        await this.prepare(work, room)
        const begun = await this.#collection.gate.write(async () => {
          this.#collection.checkOpen()
          if (!this.isPrepared(work, room)) return undefined
          return { written: this.commit(draft, room, filters, { ...options, work }).finally(release) }
        })
        if (begun) return begun
      }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Reserves and appends in one turn, so that the reserved memory covers all pending writes. */
  commit(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: ChangeOptions,
  ): Promise<Acknowledgement & { readonly result: Applied }> {
    const wanted = this.roomWith(room)
    const need = this.#needOf(room)
    const work = options?.work ?? this.open()
    const release = options?.work ? noRelease : () => work.release()
    if (room.objects > 0) work.takeNow(need)
    try {
      this.#collection.replica.reserve(wanted, filters)
    } catch (error) {
      release()
      throw error
    }
    this.#reserved = wanted
    return this.committer
      .commit(
        draft,
        this.#collection.gate,
        (lsn, event) => {
          const apply = () => this.#collection.replica.apply(lsn, event as Parameters<Replica['apply']>[1])
          const before = this.#options.before(lsn)
          return before === undefined ? apply() : before.then(apply)
        },
        options,
      )
      .then((written) => {
        if (draft.kind === 'objects-upserted' || draft.kind === 'objects-deleted' || draft.kind === 'objects-expired')
          this.#options.onChanged(draft.ids.length)
        if (draft.kind === 'objects-restored') this.#options.onChanged(draft.ids.length + draft.deleted.length)
        return written
      })
      .finally(() => {
        this.#reserved = added(this.#reserved, room, -1)
        release()
      })
  }

  /** The acknowledgement of a call that found nothing to change. */
  nothingToDo(): Acknowledgement {
    return { lsn: this.#collection.replica.lsnApplied, durable: true }
  }
}

/** The memory and disk space that a change needs. */
export function roomOf(draft: Draft, replica: Replica): Room {
  if (draft.kind === 'objects-upserted' || draft.kind === 'objects-restored') return roomFor(draft, replica.definition)
  if (draft.kind === 'objects-patched') return roomForPatches(replica, draft)
  return draft.kind === 'filters-replaced' ? roomForFilters(replica, draft.ids, draft.filters) : noRoom
}

/** The space in the filter index that a change needs. */
export function needsOf(draft: Draft): FilterNeeds {
  return 'filters' in draft ? FilterNeeds.from(draft.filters.map(indexedValues)) : noFilters
}
