// Writes that depend on what is stored: upserts and deletes with conditions, and patches. The log has only their outcomes.
import { TimeSlice } from '@annal/wal'
import type { MemoryWork } from '../admission/memory-queue.ts'
import type { EmbeddedColumns } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { indexedValues } from '../filter/indexed-values.ts'
import { chooseObjects } from '../input/choose-objects.ts'
import { conditionsHold, type ObjectConditions, type StoredState } from '../input/conditions.ts'
import type { ObjectColumns } from '../input/objects.ts'
import { applyPatch, type CheckedPatch } from '../input/patches.ts'
import type { Acknowledgement, WriteResult } from '../model/object.ts'
import type { RequestFacts } from '../model/requests.ts'
import type { Claim } from '../requests/request-keys.ts'
import type { CollectionLife } from './life.ts'
import { SerialWrites } from './serial-writes.ts'
import { noRoom, type Room, roomFor, roomForPatches } from './write-memory.ts'
import type { CollectionWriter, Draft } from './writer.ts'

/** What became of a write, as its request key keeps it. Results without an LSN have that of the record. */
export interface Outcome {
  /** Number of objects that the write changed. */
  readonly changed: number
  readonly results: readonly ShortResult[]
  /** An atomic write changed nothing, because it could not change everything. */
  readonly isRefused?: true
}

/** A result whose LSN is not known before the record is appended. */
export type ShortResult = Omit<WriteResult, 'lsn'> & { readonly lsn?: number }

export interface DecideOptions {
  readonly isAtomic: boolean
  readonly claim: Claim | undefined
  /** What a repetition returns besides the LSN. */
  readonly facts: (outcome: Outcome) => RequestFacts
  /** Counts the memory of the write. */
  readonly work: MemoryWork
}

/** What decides about each object of an upsert, by its position. */
export interface UpsertRules {
  readonly conditions: readonly (ObjectConditions | undefined)[]
  /** Objects whose text has no vector. */
  readonly faults: EmbeddedColumns['faults']
}

/** A record that a write has decided to append. */
interface Planned {
  readonly outcome: Outcome
  /** Undefined: nothing changes. */
  readonly draft: Draft | undefined
  readonly room: Room
  readonly needs: FilterNeeds
}

const nothing: Omit<Planned, 'outcome'> = { draft: undefined, room: noRoom, needs: new FilterNeeds() }

export class ConditionalWrites {
  readonly #collection: CollectionLife
  readonly #writer: CollectionWriter
  readonly #serial: SerialWrites

  constructor(collection: CollectionLife, writer: CollectionWriter) {
    this.#collection = collection
    this.#writer = writer
    this.#serial = new SerialWrites(collection)
  }

  upsert(
    columns: ObjectColumns,
    { conditions, faults }: UpsertRules,
    options: DecideOptions,
  ): Promise<Acknowledgement & Outcome> {
    return this.#write(columns.ids, roomFor(columns, this.#collection.definition), options, async () => {
      const results: ShortResult[] = []
      const slice = new TimeSlice()
      for (const [i, id] of columns.ids.entries()) {
        const stored = this.#stored(id)
        const error = faults.get(i)
        results.push(error ? { id, status: 'error', lsn: stored.lsn, error } : verdict(id, conditions[i], stored))
        if (slice.isOver) await slice.renew()
      }
      const positions = [...results.keys()].filter((i) => results[i]?.status === 'ok')
      const isWhole = positions.length === results.length
      if (positions.length === 0 || (options.isAtomic && !isWhole)) return this.#refused(results, options)
      const chosen = isWhole ? columns : chooseObjects(columns, positions)
      const needs = FilterNeeds.from(chosen.filters.map(indexedValues))
      const draft: Draft = { kind: 'objects-upserted', collectionId: this.#collection.entry.id, ...chosen }
      return {
        outcome: { changed: positions.length, results },
        draft,
        room: roomFor(chosen, this.#collection.definition),
        needs,
      }
    })
  }

  patch(patches: readonly CheckedPatch[], options: DecideOptions): Promise<Acknowledgement & Outcome> {
    const ids = patches.map(({ id }) => id)
    return this.#write(ids, noRoom, options, async () => {
      const results: ShortResult[] = []
      const changed: { id: string; meta: Uint8Array; filter: string }[] = []
      const slice = new TimeSlice()
      for (const patch of patches) {
        const { result, after } = this.#patched(patch)
        results.push(result)
        if (after) changed.push({ id: patch.id, ...after })
        if (slice.isOver) await slice.renew()
      }
      if (changed.length === 0 || (options.isAtomic && changed.length < patches.length))
        return this.#refused(results, options)
      const draft: Draft = {
        kind: 'objects-patched',
        collectionId: this.#collection.entry.id,
        ids: changed.map(({ id }) => id),
        metas: changed.map(({ meta }) => meta),
        filters: changed.map(({ filter }) => filter),
      }
      const room = roomForPatches(this.#collection.replica, draft)
      const needs = FilterNeeds.from(changed.map(({ filter }) => indexedValues(filter)))
      return { outcome: { changed: changed.length, results }, draft, room, needs }
    })
  }

  /** Deletes one object if it has the LSN. An unknown id is not a conflict: it changes nothing. */
  delete(id: string, ifLsn: number, options: DecideOptions): Promise<Acknowledgement & Outcome> {
    return this.#write([id], noRoom, options, async () => {
      const stored = this.#stored(id)
      if (stored.filterText === undefined) return { ...nothing, outcome: { changed: 0, results: [] } }
      const result = verdict(id, { ifAbsent: false, ifLsn, ifMatch: undefined }, stored)
      if (result.status !== 'ok') return this.#refused([result], options)
      const draft: Draft = { kind: 'objects-deleted', collectionId: this.#collection.entry.id, ids: [id] }
      return { ...nothing, outcome: { changed: 1, results: [result] }, draft }
    })
  }

  async #write(
    ids: readonly string[],
    room: Room,
    options: DecideOptions,
    plan: () => Promise<Planned>,
  ): Promise<Acknowledgement & Outcome> {
    const { work } = options
    let wanted = room
    for (;;) {
      await this.#writer.prepare(work, wanted)
      const { done } = await this.#serial.run({
        ids,
        decide: async () => {
          const planned = await plan()
          wanted = planned.room
          // What an earlier write stored may need more space than was prepared.
          const isPrepared = this.#writer.isPrepared(work, wanted)
          return { done: isPrepared ? this.#commit(planned, options) : Promise.resolve(undefined) }
        },
      })
      const written = await done
      if (written !== undefined) return written
    }
  }

  async #commit(
    { outcome, draft, room, needs }: Planned,
    { claim, facts, work }: DecideOptions,
  ): Promise<Acknowledgement & Outcome> {
    if (draft === undefined) return { ...this.#writer.nothingToDo(), ...outcome }
    const { lsn, durable } = await this.#writer.commit(draft, room, needs, { claim, facts: facts(outcome), work })
    return { lsn, durable, ...outcome }
  }

  #refused(results: readonly ShortResult[], { isAtomic }: DecideOptions): Planned {
    // Those that could have been written were not, and have the LSN that they had.
    const unchanged = results.map((one) => (one.status === 'ok' ? { ...one, lsn: this.#stored(one.id).lsn } : one))
    return { ...nothing, outcome: { changed: 0, results: unchanged, ...(isAtomic && { isRefused: true }) } }
  }

  #patched(patch: CheckedPatch): {
    readonly result: ShortResult
    readonly after?: ReturnType<typeof applyPatch>
  } {
    const { id, conditions, path } = patch
    const stored = this.#stored(id)
    const { replica } = this.#collection
    const result = verdict(id, conditions, stored)
    if (result.status !== 'ok') return { result }
    if (stored.filterText === undefined) {
      const error = { code: 'object_not_found', message: `${path}.id names no object`, field: `${path}.id` } as const
      return { result: { id, status: 'error', lsn: 0, error } }
    }
    try {
      const parts = { meta: replica.objects.metaCopy(replica.findStored(id)), filter: stored.filterText }
      return { result, after: applyPatch(patch, parts, this.#writer.committer.nowMs) }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      const { code, message, details } = error
      const field = details.field === undefined ? {} : { field: details.field }
      return { result: { id, status: 'error', lsn: stored.lsn, error: { code, message, ...field } } }
    }
  }

  /** The object as of every write before this one; none if it has expired. */
  #stored(id: string): StoredState {
    const { replica } = this.#collection
    const ordinal = replica.find(id)
    if (ordinal < 0) return { lsn: 0, filterText: undefined }
    return { lsn: replica.lsnAt(ordinal, replica.version), filterText: replica.objects.filterText(ordinal) }
  }
}

function verdict(id: string, conditions: ObjectConditions | undefined, stored: StoredState): ShortResult {
  if (conditionsHold(conditions, stored)) return { id, status: 'ok' }
  return { id, status: 'conflict', lsn: stored.lsn }
}
