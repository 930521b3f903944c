// What a collection is from its first record to its last: loading, ready, in quarantine, dropped; and which replica serves it. It
// does not know what is asked of it.

import { Arrival, type ReplicaToCome } from '../backup/arrival.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { printed } from '../model/ids.ts'
import type { CollectionDescription } from '../model/object.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { Replica } from '../replica/replica.ts'
import { WriteGate } from '../replica/write-gate.ts'

/** What a collection begins as. */
export interface CollectionBirth {
  readonly entry: CollectionEntry
  readonly replica: Replica | undefined
  readonly condition: CollectionDescription['condition']
  readonly reason?: string
  /** What becomes the replica, before any event is applied to it. */
  readonly coming?: ReplicaToCome
}

export class CollectionLife {
  readonly entry: CollectionEntry
  readonly gate = new WriteGate()
  #closed: 'dropped' | 'engine' | undefined
  #replica: Replica | undefined
  #condition: CollectionDescription['condition']
  #reason: string | undefined
  #arrival: Arrival | undefined

  constructor({ entry, replica, condition, reason, coming }: CollectionBirth) {
    this.entry = entry
    this.#replica = replica
    this.#condition = condition
    this.#reason = reason
    if (coming) this.#arrival = new Arrival(coming, this)
  }

  arrived(replica: Replica): void {
    replica.adoptedAt(this.entry.lsnCreated)
    this.#replica = replica
    this.ready()
  }

  async served(): Promise<void> {
    await this.loaded()
    await this.published()
  }

  /** Resolves when there is a replica, of which ids and filters may be those of no version for a moment. */
  protected async loaded(): Promise<void> {
    this.checkOpen()
    await this.#arrival?.wait()
    this.checkOpen()
  }

  /** Resolves when ids and filters are those of one version. A read in the same turn then ends no write in its own time. */
  protected async published(): Promise<void> {
    for (let over = this.#replica?.publishing; over; over = this.#replica?.publishing) {
      await over
      this.checkOpen()
    }
  }

  /** What becomes the replica, while it is not there. */
  get coming(): ReplicaToCome | undefined {
    return this.#arrival?.coming
  }

  get reason(): string | undefined {
    return this.#reason
  }

  get name(): string {
    return this.entry.definition.name
  }

  /** As of now: a rebuild may have changed M and ef_construction. */
  get definition(): CollectionSchema {
    return this.#replica?.definition ?? this.entry.definition
  }

  /** What recovery works on, whatever the condition; undefined when there is nothing to work on. */
  get recovering(): Replica | undefined {
    return this.#replica
  }

  get condition(): CollectionDescription['condition'] {
    return this.#condition
  }

  /** Replay has reached the collection's last record: from now on it serves. */
  ready(): void {
    if (this.#condition === 'loading') this.#condition = 'ready'
  }

  /** Kept out of service as it is on disk; the others go on. */
  async quarantine(reason: string): Promise<void> {
    this.#condition = 'quarantined'
    this.#reason = reason
    await this.#replica?.close()
    this.#replica = undefined
  }

  /** Whoever still has the collection, which is shut, does not keep its memory. */
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

  /** From now on everything is refused. Called in the turn in which the drop is appended, or when the engine closes. */
  shut(why: 'dropped' | 'engine'): void {
    this.#closed ??= why
  }

  /** The drop was not appended after all. */
  reopen(): void {
    this.#closed = undefined
    this.#arrival?.begin()
  }

  /** Throws when the collection was dropped or the engine closed. */
  checkOpen(): void {
    if (this.#closed === undefined) return
    if (this.#closed === 'engine') throw new EngineError('closed', 'the engine is closed')
    throw new EngineError('collection_not_found', `collection ${printed(this.name)} was dropped`, {
      field: 'collection',
      value: this.name,
    })
  }

  get objects(): number {
    return this.#replica?.count ?? this.#arrival?.coming.objects ?? 0
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** In one turn: searches that start from now on see the new replica, those under way end on the old one, which is given back. */
  protected exchange(made: Replica, lsn: number): Replica | undefined {
    const old = this.#replica
    made.adoptedAt(lsn)
    this.#replica = made
    return old
  }

  /** Resolves when nothing is being loaded. */
  async settled(): Promise<void> {
    await this.#arrival?.settled()
  }
}
