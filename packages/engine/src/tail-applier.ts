// Applies records that another node appended, while this engine serves. Each record takes the path of a replay: catalog
// events in the order of the log, events of a collection through its queue. Readers see each version as after a write of
// this engine. Unlike in a replay, an event that cannot be applied stops the engine: skipping it would fork the data.
import type { LogRecord } from '@annal/wal'
import type { Committer } from './commit.ts'
import { assert, EngineError } from './errors.ts'
import { decodeEvent, isCatalogEvent } from './events/codec.ts'
import { requestOf } from './events/request-record.ts'
import type { CatalogEvent, Event, ObjectEvent } from './model/event.ts'
import { applyEvent, type RecoveringCollection, type RecoveryTarget } from './recovery.ts'

/** A collection that serves while records are applied. */
export interface FollowingCollection extends RecoveringCollection {
  applyTailed(lsn: number, event: ObjectEvent): Promise<void>
}

/** The parts of the engine that records of other nodes change. */
export interface TailTarget extends RecoveryTarget {
  /** Whether the files that records name are in the data directory, or can be fetched. */
  readonly hasFiles: boolean
  loaded(id: number): FollowingCollection | undefined
  /** Called before a catalog event is applied. What it returns announces the change, before reads can name its record. */
  announcing(event: CatalogEvent): () => Promise<void>
}

/** Applies the records of other nodes to an engine. */
export class TailApplier {
  readonly #target: TailTarget
  readonly #committer: Committer
  readonly #onFailed: (error: Error) => void
  #failure: Error | undefined

  constructor(target: TailTarget, committer: Committer, onFailed: (error: Error) => void) {
    this.#target = target
    this.#committer = committer
    this.#onFailed = onFailed
  }

  /** Applies one record, in the order of the log. Resolves when the next one may be given; it may be applied later. */
  async apply(record: LogRecord): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      await this.#apply(record)
    } catch (error) {
      throw this.#fail(error as Error)
    }
  }

  async #apply(record: LogRecord): Promise<void> {
    const event = decodeEvent(record)
    const bytes = record.payload.length
    if (event.kind === 'collection-restored' && !this.#target.hasFiles) {
      const message = `record ${record.lsn} creates a collection from files of another node, which this node cannot fetch`
      throw new EngineError('unsupported_in_cluster', message, { lsn: record.lsn })
    }
    const settled = this.#committer.follow(record.lsn, event, bytes, requestOf(record))
    const applied = () => {
      settled()
      this.#target.applied(event, bytes)
    }
    if (isCatalogEvent(event)) {
      const announce = this.#target.announcing(event)
      await this.#target.applyCatalog(record.lsn, event)
      await announce()
      return applied()
    }
    const collection = this.#target.loaded(event.collectionId)
    // Ids are assigned in order, so a missing one was deleted, or the log misses its creation.
    assert(
      collection || event.collectionId < this.#target.catalog.nextCollectionId,
      `record ${record.lsn} is for a collection that was created`,
    )
    if (!collection) return applied()
    await this.#queue(collection, record.lsn, event, bytes, applied)
  }

  /** A full queue, and a rebuild that has not stopped yet, hold the record back. */
  async #queue(
    collection: FollowingCollection,
    lsn: number,
    event: Exclude<Event, CatalogEvent>,
    bytes: number,
    applied: () => void,
  ): Promise<void> {
    const { gate } = collection
    for (;;) {
      try {
        await gate.write(async () => {
          const queued = gate.queue(bytes, async () => {
            await applyEvent(lsn, event, collection, (change) => collection.applyTailed(lsn, change))
            applied()
          })
          queued.catch((error: Error) => this.#fail(error))
        })
        return
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'overloaded')) throw error
      }
    }
  }

  #fail(error: Error): Error {
    if (this.#failure === undefined) {
      this.#failure = error
      this.#onFailed(error)
    }
    return this.#failure
  }
}
