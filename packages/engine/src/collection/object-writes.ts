// The writes of objects: upserts, deletes, and updates of filters. Each checks its input and finds which objects it changes. While the
// collection serves and memory is free, a list is read in the turn of the call: the caller may change it afterwards.
import { collectInSlices, freeBuffer, TimeSlice } from '@annal/wal'
import type { MemoryWork } from '../admission/memory-queue.ts'
import { type Embedder, embedError } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { columnBytes, upsertPieces, upsertPiecesFrom } from '../events/upsert-pieces.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { parseFilterValues } from '../filter/values.ts'
import { withExpiries } from '../input/expiry.ts'
import { type FilterTexts, type FilterUpdatesInput, parseFilterUpdates } from '../input/filter-updates.ts'
import { type ObjectColumns, type ObjectsInput, type ParsedObjects, parseObjects } from '../input/objects.ts'
import { type PatchesInput, parsePatches } from '../input/patches.ts'
import type { Limits } from '../limits.ts'
import type { Filter } from '../model/filter.ts'
import { parseIds, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { Acknowledgement, ConditionalReply, WriteResult } from '../model/object.ts'
import type { ConditionalOptions, DeleteOptions, RequestFacts, WriteOptions } from '../model/requests.ts'
import { hasExpiry } from '../model/stored-text.ts'
import { choiceOf, chosen } from '../requests/choice.ts'
import { Claim } from '../requests/request-keys.ts'
import { ConditionalWrites, type Outcome, type ShortResult } from './conditional-writes.ts'
import type { CollectionLife } from './life.ts'
import { noRoom, roomFor, roomForFilters } from './write-memory.ts'
import { type CollectionWriter, type Draft, noFilters } from './writer.ts'

export class ObjectWrites {
  readonly #collection: CollectionLife
  readonly #writer: CollectionWriter
  readonly #limits: Limits
  readonly #embedder: Embedder
  readonly #conditional: ConditionalWrites

  constructor(
    collection: CollectionLife,
    writer: CollectionWriter,
    { limits, embedder }: { readonly limits: Limits; readonly embedder: Embedder },
  ) {
    this.#collection = collection
    this.#writer = writer
    this.#limits = limits
    this.#embedder = embedder
    this.#conditional = new ConditionalWrites(collection, writer)
  }

  async upsert(
    objects: ObjectsInput,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly upserted: number }> {
    if (!this.#collection.isReady) await this.#collection.loaded()
    this.#writer.committer.checkWritable()
    const entered = this.#writer.enter(options?.expectedBytes)
    const work = entered instanceof Promise ? await entered : entered
    try {
      return await this.#upsert(objects, options, work)
    } finally {
      work.release()
    }
  }

  async #upsert(
    objects: ObjectsInput,
    options: ConditionalOptions | undefined,
    work: MemoryWork,
  ): Promise<Acknowledgement & ConditionalReply & { readonly upserted: number }> {
    const { definition } = this.#collection
    const { columns: given, filters, conditions, expiries } = await parseObjects(objects, definition, this.#limits)
    // After the objects, because a body that is read with them may say it at its end.
    const isAtomic = parseAtomic(options)
    const columns = this.#withExpiries(given, expiries, filters)
    // A repetition says the same, but later, so what a request key stands for has no times in it.
    const said = columns === given ? [] : ['expiry', JSON.stringify(expiries ?? null)]
    const isLarge = columnBytes(columns) >= upsertPiecesFrom || typeof options?.requestKey === 'string'
    const pieces = isLarge ? await collectInSlices(upsertPieces(columns)) : undefined
    const isKeyed = typeof options?.requestKey === 'string'
    const digested = columns === given || !isKeyed ? pieces : await collectInSlices(upsertPieces(given))
    if (conditions !== undefined || isAtomic) {
      const rules = JSON.stringify({ isAtomic, conditions })
      const { changed, ...done } = await this.#decided(
        options,
        ['upsert', ...(digested ?? []), ...said, rules],
        'upserted',
        async (claim, facts) => {
          // Outside of the gate, so that a slow provider delays no other write.
          const { columns: whole, faults } = await this.#embedder.embedObjects(
            columns,
            definition,
            options?.beforeEmbedding,
          )
          if (isAtomic && faults.size > 0) throw embedError(whole.ids, faults)
          return this.#conditional.upsert(
            whole,
            { conditions: conditions ?? [], faults },
            { isAtomic, claim, facts, work },
          )
        },
      )
      return { ...done, upserted: changed }
    }
    return this.#writer.once(
      options,
      () => ['upsert', ...(digested ?? []), ...said],
      async (claim) => {
        if (columns.ids.length === 0) return { ...this.#writer.nothingToDo(), upserted: 0 }
        const facts = { upserted: columns.ids.length }
        const { columns: whole, faults } = await this.#embedder.embedObjects(
          columns,
          definition,
          options?.beforeEmbedding,
        )
        if (faults.size > 0) throw embedError(whole.ids, faults)
        const { lsn, durable, result } = await this.#writer.write(
          { kind: 'objects-upserted', collectionId: this.#collection.entry.id, ...whole },
          roomFor(whole, definition),
          filters,
          { pieces: whole === columns ? pieces : await piecesOf(whole), claim, facts, work },
        )
        // Written and applied. Only this call knows these columns.
        for (const { vectors } of [...whole.dense, ...whole.multi]) freeBuffer(vectors.buffer)
        return { lsn, durable, upserted: result.touched.length }
      },
    )
  }

  /** The same columns, with expiries in their filters, if objects expire. */
  #withExpiries(columns: ObjectColumns, expiries: ParsedObjects['expiries'], needs: FilterNeeds): ObjectColumns {
    const { ttlSeconds } = this.#collection.definition
    if (expiries === undefined && ttlSeconds === undefined) return columns
    const { nowMs } = this.#writer.committer
    const filters = withExpiries(columns.filters, expiries ?? [], { nowMs, ttlSeconds })
    needs.addExpiries(filters.filter(hasExpiry).length)
    return { ...columns, filters }
  }

  /** Runs a write that depends on what is stored. `name` is what its reply calls the number of changed objects. */
  async #decided(
    options: WriteOptions | undefined,
    parts: readonly (string | Uint8Array)[],
    name: 'upserted' | 'updated' | 'deleted',
    write: (claim: Claim | undefined, facts: (outcome: Outcome) => RequestFacts) => Promise<Acknowledgement & Outcome>,
  ): Promise<Acknowledgement & ConditionalReply & { readonly changed: number }> {
    const facts = ({ changed, results, isRefused }: Outcome) => ({
      [name]: changed,
      results,
      ...(isRefused && { isRefused }),
    })
    // A repetition gets the same members from its facts.
    const answer: KeptAnswer = await this.#writer.once(
      options,
      () => parts,
      async (claim) => {
        const { lsn, durable, ...outcome } = await write(claim, facts)
        return { lsn, durable, ...facts(outcome) }
      },
    )
    const { lsn, durable, results, isRefused } = answer
    const whole = results.map(({ id, status, lsn: own, error }): WriteResult => {
      return { id, status, lsn: own ?? lsn, ...(error && { error }) }
    })
    // With a claim the caller throws, when the claim has kept the answer.
    if (isRefused && !(options?.requestKey instanceof Claim)) throw conflictError(whole)
    return { lsn, durable, changed: Number(answer[name]), results: whole, ...(isRefused && { isRefused }) }
  }

  async patch(
    patches: PatchesInput,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly updated: number }> {
    if (!this.#collection.isReady) await this.#collection.loaded()
    this.#writer.committer.checkWritable()
    const entered = this.#writer.enter()
    const work = entered instanceof Promise ? await entered : entered
    try {
      const isAtomic = parseAtomic(options)
      const checked = await parsePatches(patches, this.#limits)
      await this.#collection.published()
      const parts = ['patch', JSON.stringify({ isAtomic, checked })]
      const { changed, ...done } = await this.#decided(options, parts, 'updated', (claim, facts) =>
        this.#conditional.patch(checked, { isAtomic, claim, facts, work }),
      )
      return { ...done, updated: changed }
    } finally {
      work.release()
    }
  }

  async #deleteIf(
    wanted: readonly string[],
    ifLsn: number,
    options: WriteOptions | undefined,
  ): Promise<Acknowledgement & ConditionalReply & { readonly deleted: readonly string[] }> {
    const [id, ...others] = wanted
    if (id === undefined || others.length > 0) {
      const message = `ifLsn needs exactly one id, got ${wanted.length}`
      throw new EngineError('invalid_argument', message, { field: 'ids', value: wanted.length, limit: 1 })
    }
    const lsn = wholeNumber(ifLsn, 'ifLsn', 1, Number.MAX_SAFE_INTEGER)
    const { changed, results, ...done } = await this.#decided(
      options,
      ['deleteIf', id, String(lsn)],
      'deleted',
      (claim, facts) => this.#conditional.delete(id, lsn, { isAtomic: true, claim, facts, work: this.#writer.open() }),
    )
    // A caller with a request key makes the error of a conflict itself, from these results.
    return { ...done, ...(done.isRefused && { results }), deleted: changed === 0 ? [] : [id] }
  }

  async delete(
    ids: readonly string[],
    options?: DeleteOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly deleted: readonly string[] }> {
    this.#collection.checkOpen()
    const wanted = [...new Set(parseIds(ids))]
    const ifLsn = options?.ifLsn
    await this.#collection.served()
    this.#writer.committer.checkWritable()
    if (ifLsn !== undefined) return this.#deleteIf(wanted, ifLsn, options)
    return this.#writer.once(
      options,
      () => ['delete', ...wanted],
      (claim) => (claim ? this.#deleteKeyed(wanted, claim) : this.#delete(wanted)),
      ({ lsn, durable, facts }) => ({ lsn, durable, deleted: chosen(wanted, facts.deleted) }),
    )
  }

  async #delete(wanted: readonly string[]): Promise<Acknowledgement & { readonly deleted: readonly string[] }> {
    // When no write is pending, unknown ids need no record.
    const found =
      this.#collection.gate.pending.events > 0 ? wanted : wanted.filter((id) => this.#collection.replica.find(id) >= 0)
    if (found.length === 0) return { ...this.#writer.nothingToDo(), deleted: [] }
    const { lsn, durable, result } = await this.#writer.write(
      { kind: 'objects-deleted', collectionId: this.#collection.entry.id, ids: found },
      noRoom,
      noFilters,
    )
    return { lsn, durable, deleted: result.touched }
  }

  /** The record states which ids existed, so they are determined between two writes. */
  async #deleteKeyed(
    wanted: readonly string[],
    claim: Claim,
  ): Promise<Acknowledgement & { readonly deleted: readonly string[] }> {
    const { written } = await this.#collection.gate.hold(async () => {
      this.#collection.checkOpen()
      const found = wanted.filter((id) => this.#collection.replica.find(id) >= 0)
      const facts = { deleted: choiceOf(wanted, found) }
      const draft = { kind: 'objects-deleted', collectionId: this.#collection.entry.id, ids: found } as const
      return {
        written: found.length === 0 ? undefined : this.#writer.commit(draft, noRoom, noFilters, { claim, facts }),
      }
    })
    if (!written) return { ...this.#writer.nothingToDo(), deleted: [] }
    const { lsn, durable, result } = await written
    return { lsn, durable, deleted: result.touched }
  }

  async deleteWhere(filter: Filter, options?: WriteOptions): Promise<Acknowledgement & { readonly deleted: number }> {
    this.#collection.checkOpen()
    const conditions = parseFilter(filter)
    const isEmpty = filter.length === 0
    const said = typeof options?.requestKey === 'string' ? JSON.stringify(filter) : ''
    await this.#collection.served()
    this.#writer.committer.checkWritable()
    return this.#writer.once(
      options,
      () => ['deleteWhere', said],
      async (claim) => (isEmpty ? { ...this.#writer.nothingToDo(), deleted: 0 } : this.#deleteWhere(conditions, claim)),
    )
  }

  async #deleteWhere(
    conditions: ReturnType<typeof parseFilter>,
    claim: Claim | undefined,
  ): Promise<Acknowledgement & { readonly deleted: number }> {
    // The matching ids are determined after every earlier write is applied and before any later one is appended; the
    // log stores the ids.
    const { written } = await this.#collection.gate.hold(async () => {
      this.#collection.checkOpen()
      const ids = Array.from(this.#collection.replica.filters.evaluate(conditions).bitmap.toOrdinals(), (ordinal) =>
        this.#collection.replica.objects.idAt(ordinal),
      )
      const draft = { kind: 'objects-deleted', collectionId: this.#collection.entry.id, ids } as const
      const facts = { deleted: ids.length }
      return { written: ids.length === 0 ? undefined : this.#writer.commit(draft, noRoom, noFilters, { claim, facts }) }
    })
    if (!written) return { ...this.#writer.nothingToDo(), deleted: 0 }
    const { lsn, durable, result } = await written
    return { lsn, durable, deleted: result.touched.length }
  }

  async updateFilters(
    updates: FilterUpdatesInput,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    if (!this.#collection.isReady) await this.#collection.loaded()
    this.#writer.committer.checkWritable()
    const entered = this.#writer.enter()
    const work = entered instanceof Promise ? await entered : entered
    try {
      const filters = await parseFilterUpdates(updates, this.#limits)
      await this.#collection.published()
      return await this.#writer.once(
        options,
        () => ['updateFilters', ...[...filters].flat()],
        (claim) => (claim ? this.#updateFiltersKeyed(filters, work, claim) : this.#updateFilters(filters, work)),
      )
    } finally {
      work.release()
    }
  }

  async #updateFilters(
    filters: FilterTexts,
    work: MemoryWork,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    const found: [string, string][] = []
    const needs = new FilterNeeds()
    const slice = new TimeSlice()
    for (const [id, text] of filters) {
      if (this.#collection.gate.pending.events === 0 && this.#collection.replica.find(id) < 0) continue
      found.push([id, text])
      if (text !== '') needs.add(parseFilterValues(text).values)
      if (slice.isOver) await slice.renew()
    }
    if (found.length === 0) return { ...this.#writer.nothingToDo(), updated: 0 }
    const ids = found.map(([id]) => id)
    const texts = found.map(([, text]) => text)
    const draft: Draft = { kind: 'filters-replaced', collectionId: this.#collection.entry.id, ids, filters: texts }
    const { lsn, durable, result } = await this.#writer.write(
      draft,
      roomForFilters(this.#collection.replica, ids, texts),
      needs,
      { work },
    )
    return { lsn, durable, updated: result.touched.length }
  }

  /** The record states how many ids existed, so they are determined between two writes. Space is reserved for all of them before. */
  async #updateFiltersKeyed(
    filters: FilterTexts,
    work: MemoryWork,
    claim: Claim,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    const needs = FilterNeeds.from(
      [...filters.values()].map((text) => (text === '' ? {} : parseFilterValues(text).values)),
    )
    for (;;) {
      const room = roomForFilters(this.#collection.replica, [...filters.keys()], [...filters.values()])
      await this.#writer.prepare(work, room)
      const begun = await this.#collection.gate.hold(async () => {
        this.#collection.checkOpen()
        const found = [...filters].filter(([id]) => this.#collection.replica.find(id) >= 0)
        if (found.length === 0) return { written: undefined }
        const [ids, texts] = [found.map(([id]) => id), found.map(([, text]) => text)]
        const needed = roomForFilters(this.#collection.replica, ids, texts)
        // What an earlier write stored may need more space than was prepared.
        if (!this.#writer.isPrepared(work, needed)) return undefined
        const draft: Draft = { kind: 'filters-replaced', collectionId: this.#collection.entry.id, ids, filters: texts }
        return { written: this.#writer.commit(draft, needed, needs, { claim, facts: { updated: ids.length }, work }) }
      })
      if (begun === undefined) continue
      if (begun.written === undefined) return { ...this.#writer.nothingToDo(), updated: 0 }
      const { lsn, durable, result } = await begun.written
      return { lsn, durable, updated: result.touched.length }
    }
  }
}

/** An answer whose members are those of a request record. */
interface KeptAnswer extends Acknowledgement {
  readonly results: readonly ShortResult[]
  readonly isRefused?: true
  readonly [name: string]: unknown
}

/** The refusal of an atomic write. */
function conflictError(results: readonly WriteResult[]): EngineError {
  const failed = results.filter(({ status }) => status !== 'ok')
  const message = `${failed.length} of ${results.length} objects could not be written, so none was`
  return new EngineError('conflict', message, { field: 'objects', value: failed[0]?.id, results })
}

function parseAtomic(options: ConditionalOptions | undefined): boolean {
  const atomic: unknown = options?.atomic ?? false
  if (typeof atomic === 'boolean') return atomic
  const message = `atomic must be true or false, got ${printed(atomic)}`
  throw new EngineError('invalid_argument', message, { field: 'atomic', value: shownValue(atomic) })
}

/** The encoded columns of a large upsert. */
function piecesOf(columns: ObjectColumns): Promise<Uint8Array[]> | undefined {
  return columnBytes(columns) >= upsertPiecesFrom ? collectInSlices(upsertPieces(columns)) : undefined
}
