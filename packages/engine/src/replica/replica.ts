// The in-memory state of one collection, built only by applying events in LSN order. It uses no clock and no randomness, so the same events
// give the same bytes. Only commit, recovery, and restore apply events to it.

import { runEach, runToEnd } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { FilterIndex } from '../filter/filter-index.ts'
import type { FilterNeeds } from '../filter/filter-needs.ts'
import type { Copies } from '../memory/copies.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { DumpOptions, Section } from '../memory/sections.ts'
import { xxh64Stream } from '../memory/xxh64.ts'
import type { FieldsChanged, ObjectEvent } from '../model/event.ts'
import { type CollectionSchema, graphField, ttlOf } from '../model/schema.ts'
import { Originals } from '../originals/originals.ts'
import { keptOf, type OriginalsPlace, type OriginalsRoom, originalsOwner } from '../originals/originals-owner.ts'
import { type NewsHost, type Shareable, SharedReplica } from '../sharing/shared-replica.ts'
import type { VersionFacts } from '../sharing/version-header.ts'
import { openDenseField } from '../vector/dense/field.ts'
import type { DenseField, SparseField } from '../vector/field.ts'
import type { WorkerPool } from '../vector/pool.ts'
import { openSparseField } from '../vector/sparse/field.ts'
import { EarlierRecords } from './earlier-records.ts'
import { type Expired, Expiry, VisibleFilters } from './expiry.ts'
import { ObjectStore } from './object-store.ts'
import { Ordinals } from './ordinals.ts'
import { Pins } from './pins.ts'
import { type ChangedParts, type EventPlace, prepareEvent } from './prepare-event.ts'
import { Publication } from './publication.ts'
import { RecentMatches } from './recent-matches.ts'
import { Renumberings } from './renumbering.ts'
import { shareableOf } from './shareable.ts'
import { TextTerms } from './text-terms.ts'
import { type VersionPlace, VersionWindow, type WindowOptions } from './version-window.ts'

/** Facts that apply found, for the reply. */
export interface Applied {
  /** Number of ids that existed. */
  readonly touched: readonly string[]
}

export interface ReplicaParts extends Omit<ChangedParts, 'earlierRecords' | 'pins' | 'window'> {
  readonly id: number
  /** Number of rebuilds of the collection. */
  readonly generation: number
  readonly version: number
  readonly lsnApplied: number
  /** Of the record that created the collection. */
  readonly lsnCreated: number
  readonly renumberings?: Renumberings | undefined
}

/** The content of objects by ordinal; valid for the ordinals of a pinned version, whatever is applied meanwhile. */
export type StoredRecords = Pick<
  ObjectStore,
  | 'ordinalEnd'
  | 'idAt'
  | 'lsnAt'
  | 'recordBytesAt'
  | 'textBytesAt'
  | 'meta'
  | 'metaCopy'
  | 'filterText'
  | 'sparse'
  | 'keptTokens'
  | 'tokensOf'
>

/** The parts that replicas are created with. */
export interface ReplicaHost {
  readonly seed: HashSeed
  readonly pool: WorkerPool
  readonly originals: OriginalsPlace
}

/** The memory that a write may need besides that of its filter values. */
export interface MemoryRoom {
  readonly objects: number
  readonly idBytes: number
  readonly recordBytes: number
  readonly sparseTerms: number
  /** Distinct terms of texts, and their bytes. */
  readonly textTerms: number
  readonly textTermBytes: number
}

export class Replica {
  readonly id: number
  readonly dense: readonly (DenseField | undefined)[]
  readonly sparse: readonly (SparseField | undefined)[]
  readonly originals: readonly (Originals | undefined)[]
  readonly terms: TextTerms
  readonly ordinals: Ordinals
  readonly generation: number
  /** The rebuilds that led to the generation, as far as they are known. */
  readonly renumberings: Renumberings
  readonly pins = new Pins()
  #definition: CollectionSchema
  readonly #objects: ObjectStore
  readonly #filters: FilterIndex
  readonly #matches: RecentMatches
  readonly #expiry: Expiry
  readonly #visible: VisibleFilters
  readonly #earlierRecords = new EarlierRecords()
  /** The recent past, for reads as of it. It is closed until it is opened. */
  readonly window: VersionWindow
  readonly #changed: ChangedParts
  #shared: SharedReplica | undefined
  #isReplacingFilters = false
  #isChangingIds = false
  #version: number
  #count: number
  #rows: readonly number[]
  #lsnApplied: number
  #lsnCreated: number
  /** The snapshot of everything except the fields since which changes are counted; undefined if there is none. */
  objectsSnapshot: string | undefined
  /** The same of the LSNs of the objects. */
  lsnsSnapshot: string | undefined
  #applying = false
  #publication: Publication | undefined
  #broken: unknown

  constructor(parts: ReplicaParts) {
    this.id = parts.id
    this.#definition = parts.definition
    this.#objects = parts.objects
    this.#filters = parts.filters
    this.#matches = new RecentMatches(parts.filters)
    this.#expiry = new Expiry(parts.filters)
    this.#visible = new VisibleFilters(parts.filters, () => this.expired)
    this.dense = parts.dense
    this.sparse = parts.sparse
    this.terms = parts.terms
    this.originals = parts.originals
    this.ordinals = parts.ordinals
    this.generation = parts.generation
    this.renumberings = parts.renumberings ?? new Renumberings()
    this.#version = parts.version
    this.#count = parts.objects.count
    this.#rows = this.#countRows()
    this.#lsnApplied = parts.lsnApplied
    this.#lsnCreated = parts.lsnCreated
    const derived = { earlierRecords: this.#earlierRecords, pins: this.pins }
    this.window = new VersionWindow({ ...parts, ...derived })
    this.#changed = { ...parts, ...derived, window: this.window }
  }

  static async empty(
    id: number,
    definition: CollectionSchema,
    options: ReplicaHost & {
      readonly lsn: number
      /** Of the record that created the collection; `lsn` by default. */
      readonly lsnCreated?: number
      readonly generation: number
      readonly renumberings?: Renumberings
    },
  ): Promise<Replica> {
    const dense = await Promise.all(
      definition.fields.map((field) => {
        const graph = graphField(field)
        return graph && openDenseField(graph, options.pool)
      }),
    )
    const sparse = await Promise.all(
      definition.fields.map((field) => {
        if (field.kind === 'text') return openSparseField(field, options.pool, 'counts')
        return field.kind === 'sparse' ? openSparseField(field, options.pool) : undefined
      }),
    )
    return new Replica({
      id,
      definition,
      objects: ObjectStore.empty(options.seed),
      filters: new FilterIndex(options.seed),
      terms: await TextTerms.empty(options.seed, definition),
      dense,
      sparse,
      originals: definition.fields.map((_, index) => {
        const owner = originalsOwner(id, definition, index, options.generation)
        return owner && new Originals(options.originals, owner)
      }),
      ordinals: new Ordinals(),
      generation: options.generation,
      renumberings: options.renumberings,
      version: 0,
      lsnApplied: options.lsn,
      lsnCreated: options.lsnCreated ?? options.lsn,
    })
  }

  /** The fields as of the version: an event may change the defaults of their searches. */
  get definition(): CollectionSchema {
    return this.#definition
  }

  /** Number of applied events: the version that a search starting now sees. */
  get version(): number {
    return this.#version
  }

  get lsnApplied(): number {
    return this.#lsnApplied
  }

  /** Of the record that created the collection. Its objects have no lower LSN. */
  get lsnCreated(): number {
    return this.#lsnCreated
  }

  /** Number of objects as of the version. */
  get count(): number {
    return this.#count
  }

  get objects(): StoredRecords {
    return this.#objects
  }

  /**
   * The ordinal of an id as of the version, or -1; also -1 for an object that has expired. Completes a running publication, see `publish`.
   */
  find(id: string): number {
    const ordinal = this.findStored(id)
    return ordinal >= 0 && this.expired?.bitmap.has(ordinal) ? -1 : ordinal
  }

  /** The same, also of an object that has expired. */
  findStored(id: string): number {
    this.publish()
    return this.#objects.find(id)
  }

  /** The matches of a filter as of the version, without objects that have expired. Completes a running publication, see `publish`. */
  get filters(): Pick<FilterIndex, 'evaluate' | 'valuesOf'> {
    this.publish()
    return this.#visible
  }

  /** The same, with objects that have expired. */
  get storedFilters(): Pick<FilterIndex, 'evaluate' | 'expiredBy'> {
    this.publish()
    return this.#filters
  }

  /**
   * The objects that have expired, by the clock of the expiry; undefined if there are none. If there are some, it completes a running
   * publication, so call it before the version is taken.
   */
  get expired(): Expired | undefined {
    if (!this.#expiry.isDue) return undefined
    this.publish()
    return this.#expiry.find()
  }

  get expiry(): Expiry {
    return this.#expiry
  }

  /** The cached matches of repeated filters. No publication may be running, because the caller already has the version. */
  get matches(): RecentMatches {
    assert(!this.#publication, 'matches are taken of a whole version')
    return this.#matches
  }

  /**
   * Resolves when the running publication ends; until then ids and filters belong to no version. Undefined if none is running, which is
   * nearly always the case.
   */
  get publishing(): Promise<void> | undefined {
    return this.#publication?.over
  }

  /**
   * Completes a running publication in this turn. Callers that need ids or filters call it before they take the version, and if they can,
   * they await `publishing` first, because this may take as long as a large write.
   */
  publish(): void {
    this.#publication?.finish()
  }

  /** Number of rows of the field at a position of the definition, as of the version; a running event is not counted. */
  rowsAt(field: number): number {
    return this.#rows[field] ?? 0
  }

  /**
   * Shares the replica with readers in other threads, from the newest version on; `serve` lets them find it. A replica keeps its header:
   * readers of before may still read when it is shared again.
   */
  share(host: NewsHost, collectionId: number): SharedReplica {
    if (this.#shared !== undefined) return this.#shared
    const shared = new SharedReplica(host, collectionId, () => this.#shareable(), this.#facts())
    this.#shared = shared
    if (this.#isReplacingFilters) shared.turnFilterEpoch()
    if (this.#isChangingIds) shared.turnIdEpoch()
    this.pins.others = shared
    for (const field of [...this.dense, ...this.sparse]) if (field) field.others = shared
    return shared
  }

  /** Keeps the recent past from now on. Versions of sparse fields are not kept. */
  openWindow(options: WindowOptions): void {
    if (this.sparse.some((field) => field !== undefined)) return
    this.publish()
    this.window.open(this.#place(), options)
  }

  #place(): VersionPlace {
    const facts = { version: this.#version, lsn: this.#lsnApplied, count: this.#count, rows: this.#rows }
    return { ...facts, end: this.ordinals.end, definition: this.#definition }
  }

  #shareable(): Shareable {
    return shareableOf(this, this.#objects)
  }

  #facts(): VersionFacts {
    const { first: expiryFirst } = this.#expiry
    return { version: this.#version, lsn: this.#lsnApplied, count: this.#count, rows: this.#rows, expiryFirst }
  }

  #countRows(): number[] {
    return this.definition.fields.map((_, index) => (this.dense[index] ?? this.sparse[index])?.rows ?? 0)
  }

  /** Allocates disk space for the vectors of more objects. Throws EngineError read_only if the disk is full. */
  async prepare(more: OriginalsRoom): Promise<void> {
    for (const originals of this.originals) {
      const rows = originals ? more[keptOf(originals.owner)] : 0
      if (originals && !originals.hasRoom(rows)) await originals.prepare(rows)
    }
  }

  /** Whether there is disk space for the vectors of more objects. */
  isPrepared(more: OriginalsRoom): boolean {
    return this.originals.every((one) => one?.hasRoom(more[keptOf(one.owner)]) ?? true)
  }

  /**
   * Reserves memory for `room.objects` more than the assigned ordinals, so that apply cannot fail for lack of memory, and checks that the filter
   * values can be indexed. Throws EngineError memory_exhausted or limit_exceeded.
   */
  reserve(room: MemoryRoom, filters: FilterNeeds): void {
    const end = this.ordinals.end + room.objects
    this.#filters.reserve(filters, end)
    for (const [index, { name }] of this.definition.fields.entries())
      naming(name, () => {
        this.dense[index]?.reserve(end)
        this.sparse[index]?.reserve(end, room.sparseTerms)
      })
    this.#objects.reserve(room.objects, room.idBytes, room.recordBytes)
    this.terms.reserve(room.textTerms, room.textTermBytes)
  }

  async apply(lsn: number, event: ObjectEvent): Promise<Applied> {
    assert(lsn > this.#lsnApplied, `record ${lsn} is applied after ${this.#lsnApplied}`)
    return this.#apply(event, lsn, () => lsn)
  }

  /** The state adopted so far is the state as of this record. */
  adoptedAt(lsn: number): void {
    assert(lsn >= this.#lsnApplied, `record ${lsn} is not before ${this.#lsnApplied}`)
    this.#lsnApplied = lsn
  }

  /** The state adopted so far is what the record that created the collection made. */
  createdAt(lsn: number): void {
    this.adoptedAt(lsn)
    this.#lsnCreated = lsn
  }

  /** Applies an event without a record of its own, such as a part of a rebuild. `lsns` are those of its objects, 0 if they are unknown. */
  async adopt(event: ObjectEvent, lsns?: ArrayLike<number>): Promise<Applied> {
    return this.#apply(event, this.#lsnApplied, (position) => lsns?.[position] ?? 0)
  }

  async #apply(event: ObjectEvent, lsn: number, lsnOf: EventPlace['lsnOf']): Promise<Applied> {
    assert(!this.#applying, 'events are applied one at a time')
    this.checkWhole()
    this.#applying = true
    try {
      const version = this.#version + 1
      const { touched, work } = await prepareEvent(this.#changed, { version, lsnOf }, event)
      this.#turnEpochs(event)
      this.#publication = new Publication(work, () => {
        // From this turn on searches see the new version.
        this.#version = version
        if (event.kind === 'fields-changed') this.#definition = changedDefinition(this.#definition, event)
        this.#count = this.#objects.count
        this.#rows = this.#countRows()
        this.#lsnApplied = lsn
        this.#publication = undefined
        this.#expiry.changed()
        this.#shared?.publish(this.#facts())
        this.#turnEpochs(event)
        if (this.window.isOpen) this.window.note(this.#place())
      })
      await this.#publication.run()
      // Searches of earlier versions see the removed rows, so the graphs are swept when new searches are as of this version.
      for (const field of this.dense) await field?.sweep(version)
      return { touched }
    } catch (error) {
      this.#broken = error
      throw error
    } finally {
      this.#applying = false
    }
  }

  /** Records of filters, or the table of ids, change from the first call on until the second: readers discard what they read meanwhile. */
  #turnEpochs({ kind }: ObjectEvent): void {
    if (kind === 'fields-changed') return
    if (kind === 'filters-replaced' || kind === 'objects-patched' || kind === 'expiries-cleared') {
      this.#isReplacingFilters = !this.#isReplacingFilters
      this.#shared?.turnFilterEpoch()
    } else {
      this.#isChangingIds = !this.#isChangingIds
      this.#shared?.turnIdEpoch()
    }
  }

  /** Throws the error of an event that was applied halfway. Nothing may be applied to such a state, and none of it may be written. */
  checkWhole(): void {
    if (this.#broken !== undefined) throw this.#broken
  }

  /** The filter text of an ordinal as of a pinned version. */
  filterTextAt(ordinal: number, version: number): string {
    return this.#earlierRecords.recordAt(ordinal, version)?.filter ?? this.#objects.filterText(ordinal)
  }

  /** A copy of the meta of an ordinal as of a pinned version. */
  metaAt(ordinal: number, version: number, copies?: Copies): Uint8Array {
    return this.#earlierRecords.metaAt(ordinal, version) ?? this.#objects.metaCopy(ordinal, copies)
  }

  /** The LSN of the record that last wrote the object, or that created the collection with it, as of a pinned version. */
  lsnAt(ordinal: number, version: number): number {
    const lsn = this.#earlierRecords.recordAt(ordinal, version)?.lsn ?? this.#objects.lsnAt(ordinal)
    return Math.max(lsn, this.#lsnCreated)
  }

  /** The bytes of everything except the fields, as of now; writers may continue while they are written. */
  dumpObjects(options: DumpOptions = {}): Section[] {
    const originals = this.originals.flatMap(
      (file, index) => file?.dump(`originals.${index}`, this.ordinals.end, options) ?? [],
    )
    return [
      ...this.#objects.dump('objects', options),
      ...this.#filters.dump('filters', options),
      ...this.terms.dump('terms', options),
      ...originals,
    ]
  }

  /** The LSNs of the objects as of now. They are not part of the digest. */
  dumpLsns(options: DumpOptions = {}): Section {
    return this.#objects.dumpLsns('objects.lsns', options)
  }

  /**
   * Hash of everything the events produced. Their position in the log is not part of it, so the same events elsewhere give the same hash.
   */
  digest(): string {
    return runToEnd(this.digestInSteps())
  }

  /** The digest in steps; the result is valid only if nothing was applied meanwhile (`isApplying`, `lsnApplied`). */
  *digestInSteps(): Generator<void, string> {
    const hash = xxh64Stream()
    const sections = this.dumpObjects()
    try {
      for (const section of sections) {
        for (const part of section.parts) {
          hash.update(part)
          yield
        }
      }
    } finally {
      for (const section of sections) section.release()
    }
    const fields: string[] = []
    for (const [index, dense] of this.dense.entries()) {
      const field = dense ?? this.sparse[index]
      fields.push(String(field && (yield* field.digestInSteps())))
    }
    const state = { version: this.#version, ordinals: this.ordinals.state(), fields }
    hash.update(new TextEncoder().encode(JSON.stringify(state)))
    return hash.digest().toString(16).padStart(16, '0')
  }

  get isApplying(): boolean {
    return this.#applying
  }

  /** Memory by part, in bytes. */
  bytes(): Record<string, number> {
    const parts: Record<string, number> = {
      ...this.#objects.bytes(),
      filters: this.#filters.bytes() + this.#matches.bytes() + this.renumberings.bytes(),
    }
    const terms = this.terms.bytes()
    if (terms > 0) parts.terms = terms
    const originals = this.originals.reduce((sum, file) => sum + (file?.bytes() ?? 0), 0)
    if (originals > 0) parts.originals = originals
    for (const field of [...this.dense, ...this.sparse]) {
      for (const [part, bytes] of Object.entries(field?.bytes() ?? {})) parts[part] = (parts[part] ?? 0) + bytes
    }
    return parts
  }

  close(): Promise<void> {
    return runEach(
      () => this.#closeFields(),
      () => Promise.all(this.originals.map((originals) => originals?.close())),
    )
  }

  /** Closes the replica, and removes its files outside of checkpoints. */
  remove(): Promise<void> {
    return runEach(
      () => this.#closeFields(),
      () => Promise.all(this.originals.map((originals) => originals?.remove())),
    )
  }

  async #closeFields(): Promise<void> {
    await Promise.all([...this.dense, ...this.sparse].map((field) => field?.close()))
  }
}

/** The definition with the defaults of the event. */
function changedDefinition({ name }: CollectionSchema, { fields, ttlSeconds }: FieldsChanged): CollectionSchema {
  return { name, fields, ...ttlOf({ ttlSeconds }) }
}

/** Names the field that there is no memory for. */
function naming(field: string, reserve: () => void): void {
  try {
    reserve()
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new EngineError(
      error.code,
      `field "${field}": ${error.message}`,
      { ...error.details, field },
      { cause: error },
    )
  }
}
