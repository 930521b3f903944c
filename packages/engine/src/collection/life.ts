// The life cycle of a collection: loading, ready, in quarantine, deleted; and the replica that serves it. It does not
// know the requests it serves.
import { Arrival, type ReplicaToCome } from '../backup/arrival.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { printed } from '../model/ids.ts'
import type { CollectionDescription } from '../model/object.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { Replica } from '../replica/replica.ts'
import { WriteGate } from '../replica/write-gate.ts'

/** The initial state of a collection. */
export interface CollectionBirth {
  readonly entry: CollectionEntry
  readonly replica: Replica | undefined
  readonly condition: CollectionDescription['condition']
  readonly reason?: string
  /** Prepares the replica before any event is applied to it. */
  readonly coming?: ReplicaToCome
  /** Called in the turn in which another replica serves, or none does. */
  readonly onServing?: ((entry: CollectionEntry, replica: Replica | undefined) => void) | undefined
}

export class CollectionLife {
  #entry: CollectionEntry
  readonly gate = new WriteGate()
  #closed: 'dropped' | 'engine' | undefined
  #replica: Replica | undefined
  #condition: CollectionDescription['condition']
  #reason: string | undefined
  #arrival: Arrival | undefined
  readonly #onServing: CollectionBirth['onServing']

  constructor({ entry, replica, condition, reason, coming, onServing }: CollectionBirth) {
    this.#entry = entry
    this.#replica = replica
    this.#condition = condition
    this.#reason = reason
    this.#onServing = onServing
    if (coming) this.#arrival = new Arrival(coming, this)
    this.#reportServing()
  }

  get entry(): CollectionEntry {
    return this.#entry
  }

  /** The collection has another name from now on. */
  rename(entry: CollectionEntry): void {
    this.#entry = entry
  }

  arrived(replica: Replica): void {
    replica.createdAt(this.entry.lsnCreated)
    this.#replica = replica
    // An earlier load failed.
    if (this.#condition === 'quarantined') this.#condition = 'loading'
    this.#reason = undefined
    this.ready()
  }

  async served(): Promise<void> {
    await this.loaded()
    await this.published()
  }

  /** Resolves when there is a replica. For a moment its ids and filters may not match a version. */
  async loaded(): Promise<void> {
    this.checkOpen()
    await this.#arrival?.wait()
    this.checkOpen()
  }

  /** Whether it serves, so that `loaded` has nothing to wait for. */
  get isReady(): boolean {
    return this.#closed === undefined && this.#condition === 'ready' && this.#replica !== undefined
  }

  /**
   * Resolves when ids and filters belong to one version. A read in the same turn then does not have to complete a write
   * first.
   */
  async published(): Promise<void> {
    for (let over = this.#replica?.publishing; over; over = this.#replica?.publishing) {
      await over
      this.checkOpen()
    }
  }

  /** The pending replica, while there is none. */
  get coming(): ReplicaToCome | undefined {
    return this.#arrival?.coming
  }

  get reason(): string | undefined {
    return this.#reason
  }

  get name(): string {
    return this.entry.definition.name
  }

  /** The current fields: a rebuild may have changed M and ef_construction. Its name may be an earlier one. */
  get definition(): CollectionSchema {
    return this.#replica?.definition ?? this.entry.definition
  }

  /** The replica that recovery works on, in any condition; undefined when there is none. */
  get recovering(): Replica | undefined {
    return this.#replica
  }

  get condition(): CollectionDescription['condition'] {
    return this.#condition
  }

  /** The replay has reached the collection's last record: it serves from now on. */
  ready(): void {
    if (this.#condition === 'loading') this.#condition = 'ready'
    this.#reportServing()
  }

  /** Keeps the collection out of service with its files unchanged; other collections continue. */
  async quarantine(reason: string): Promise<void> {
    this.#condition = 'quarantined'
    this.#reason = reason
    this.#reportServing()
    await this.#replica?.close()
    this.#replica = undefined
  }

  /** Callers that still hold the closed collection do not keep its memory. */
  letGo(): void {
    this.#replica = undefined
  }

  /** Throws unless the collection serves. */
  get replica(): Replica {
    if (this.#condition === 'ready' && this.#replica) return this.#replica
    this.checkOpen()
    if (this.#condition === 'loading') {
      throw new EngineError('collection_loading', `collection ${printed(this.name)} is still being loaded; try again`, {
        field: 'collection',
        value: this.name,
      })
    }
    throw new EngineError(
      'collection_quarantined',
      `collection ${printed(this.name)} is out of service: ${this.#reason}`,
      {
        field: 'collection',
        value: this.name,
      },
    )
  }

  /** Refuses every later call. Called in the turn that appends the deletion, or when the engine closes. */
  shut(why: 'dropped' | 'engine'): void {
    this.#closed ??= why
    this.#reportServing()
  }

  /** Reverts `shut` when the deletion was not appended. */
  reopen(): void {
    this.#closed = undefined
    this.#arrival?.begin()
    this.#reportServing()
  }

  /** Throws when the collection was deleted or the engine is closed. */
  checkOpen(): void {
    if (this.#closed === undefined) return
    if (this.#closed === 'engine') throw new EngineError('closed', 'the engine is closed')
    throw new EngineError('collection_not_found', `collection ${printed(this.name)} was deleted`, {
      field: 'collection',
      value: this.name,
    })
  }

  get objects(): number {
    const replica = this.#replica
    return replica ? replica.count - (replica.expired?.count ?? 0) : (this.#arrival?.coming.objects ?? 0)
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * Swaps the replica in one turn: later searches see the new replica, running ones end on the old one, which is
   * returned.
   */
  protected exchange(made: Replica, lsn: number): Replica | undefined {
    const old = this.#replica
    made.adoptedAt(lsn)
    this.#replica = made
    this.#reportServing()
    return old
  }

  #reportServing(): void {
    const serves = this.#condition === 'ready' && this.#closed === undefined
    this.#onServing?.(this.entry, serves ? this.#replica : undefined)
  }

  /** Resolves when nothing is loading. */
  async settled(): Promise<void> {
    await this.#arrival?.settled()
  }
}
