// Runs the rebuilds of one collection, one at a time, and knows how far the current one is. Writers wait, readers do not.

import type { Committer } from '../commit.ts'
import { EngineError } from '../errors.ts'
import type { RebuildStatus } from '../model/api.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { FieldSchema } from '../model/schema.ts'
import { Discards } from '../replica/discards.ts'
import { rebuild } from '../replica/rebuild.ts'
import type { Replica, ReplicaHost } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'

/** A rebuild by itself is for collections of which most is dead, and that are rebuilt within the time that writers wait. */
const deadMin = 10_000
const deadShare = 2 / 3
const liveMax = 200_000
/** After one, whatever became of it, none by itself for so long. */
const restMs = 60_000

export interface Rebuildable {
  readonly gate: WriteGate
  /** Throws unless the collection serves. */
  readonly replica: Replica
  checkOpen(): void
  replace(made: Replica, lsn: number): void
}

export class Rebuilder {
  readonly #host: ReplicaHost
  readonly #committer: Committer
  // The next start removes them.
  readonly #discards = new Discards((error) => {
    this.#status = { ...this.#status, error: `files of before the rebuild are still there: ${error.message}` }
  })
  #status: RebuildStatus = { status: 'idle', objectsDone: 0, objects: 0 }

  constructor(host: ReplicaHost, committer: Committer) {
    this.#host = host
    this.#committer = committer
  }

  get status(): RebuildStatus {
    return this.#status
  }

  /** Resolves when everything discarded so far is gone, files and all. */
  settled(): Promise<void> {
    return this.#discards.settled()
  }

  /** Rejects with nothing changed when the new replica cannot be built or the log takes no record of it. */
  async run(fields: readonly FieldSchema[], collection: Rebuildable): Promise<Acknowledgement> {
    if (this.#status.status === 'running')
      throw new EngineError('rebuild_running', 'the collection is being rebuilt already')
    const objects = collection.replica.count
    this.#status = { status: 'running', objectsDone: 0, objects, startedAt: Date.now() }
    try {
      const { lsn, durable } = await collection.gate.hold(() => this.#rebuildAndCommit(fields, collection))
      this.#status = { ...this.#status, status: 'completed', completedAt: Date.now() }
      return { lsn, durable }
    } catch (error) {
      this.#status = { ...this.#status, status: 'failed', completedAt: Date.now(), error: (error as Error).message }
      throw error
    }
  }

  /** Whether so much is dead that a rebuild is due by itself: soon done, and most of the memory comes back. */
  isDue({ ordinals, count }: Replica): boolean {
    const dead = ordinals.end - count
    const rested = this.#status.status !== 'running' && Date.now() - (this.#status.completedAt ?? 0) > restMs
    return rested && dead >= deadMin && dead >= deadShare * ordinals.end && count <= liveMax
  }

  /** The replica that a record of a rebuild stands for. Given up as soon as `checkWanted` throws. */
  build(old: Replica, fields: readonly FieldSchema[], checkWanted: () => void): Promise<Replica> {
    old.checkWhole()
    return rebuild(old, fields, this.#host, (objectsDone, objects) => {
      this.#status = { ...this.#status, objectsDone, objects }
      checkWanted()
    })
  }

  /** Closes a replica that was replaced, once the searches under way have ended, and removes its files. */
  discard(old: Replica): void {
    this.#discards.add(old)
  }

  /** The new replica is ready before anything is appended: after that nothing may fail. */
  async #rebuildAndCommit(fields: readonly FieldSchema[], collection: Rebuildable): Promise<Acknowledgement> {
    collection.checkOpen()
    const made = await this.build(collection.replica, fields, () => collection.checkOpen())
    const draft = { kind: 'collection-rebuilt', collectionId: made.id, fields } as const
    const committed = this.#committer.commit(draft, collection.gate, (lsn) => collection.replace(made, lsn))
    return committed.catch(async (error) => {
      await made.remove()
      throw error
    })
  }
}
