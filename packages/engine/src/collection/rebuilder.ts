// Runs the rebuilds of one collection, one at a time, and reports their progress. Writers wait, readers do not.

import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { Committer } from '../commit.ts'
import { EngineError } from '../errors.ts'
import type { RebuildStatus } from '../model/collection.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { FieldSchema } from '../model/schema.ts'
import { Discards } from '../replica/discards.ts'
import { rebuild } from '../replica/rebuild.ts'
import type { Replica, ReplicaHost } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { Claim } from '../requests/request-keys.ts'

/**
 * An automatic rebuild runs only when most of a collection is dead and the rebuild takes less time than writers may
 * wait.
 */
const deadMin = 10_000
const deadShare = 2 / 3
const liveMax = 200_000
/** Minimum time between automatic rebuilds, whatever the outcome of the last one. */
const restMs = 60_000

/** A rebuild that has ended. */
export interface Rebuilt extends Acknowledgement {
  readonly reclaimedBytes: number
}

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
  readonly #memory: MemoryGuard
  // The next start removes them.
  readonly #discards = new Discards((error) => {
    this.#status = { ...this.#status, error: `files from before the rebuild could not be removed: ${error.message}` }
  })
  #status: RebuildStatus = { status: 'idle', objectsDone: 0, objects: 0 }
  /** Until then no rebuild starts automatically. Milliseconds of performance.now(). */
  #restsUntilMs = 0

  constructor(
    host: ReplicaHost,
    { committer, memory }: { readonly committer: Committer; readonly memory: MemoryGuard },
  ) {
    this.#host = host
    this.#committer = committer
    this.#memory = memory
  }

  get status(): RebuildStatus {
    return this.#status
  }

  /** Resolves when everything discarded so far is removed, including files. */
  settled(): Promise<void> {
    return this.#discards.settled()
  }

  /** `fields` is called when every earlier write is applied. Rejects, with nothing changed, when the new replica cannot be built or the log refuses its record. */
  async run(fields: () => readonly FieldSchema[], collection: Rebuildable, claim?: Claim): Promise<Rebuilt> {
    if (this.#status.status === 'running')
      throw new EngineError('rebuild_running', 'a rebuild of the collection is already running')
    const objects = collection.replica.count
    this.#status = { status: 'running', objectsDone: 0, objects, startedAt: Date.now() }
    try {
      const done = await collection.gate.hold(() => this.#rebuildAndCommit(fields(), collection, claim))
      this.#status = { ...this.#status, status: 'completed', completedAt: Date.now() }
      return done
    } catch (error) {
      this.#status = { ...this.#status, status: 'failed', completedAt: Date.now(), error: (error as Error).message }
      throw error
    } finally {
      this.#restsUntilMs = performance.now() + restMs
    }
  }

  /** Whether enough is dead for an automatic rebuild: it ends soon and frees most of the memory. */
  isDue({ ordinals, count }: Replica): boolean {
    const dead = ordinals.end - count
    const rested = this.#status.status !== 'running' && performance.now() >= this.#restsUntilMs
    return rested && dead >= deadMin && dead >= deadShare * ordinals.end && count <= liveMax
  }

  /** Builds the replica for the record of a rebuild. Stops as soon as `checkWanted` throws. */
  build(old: Replica, fields: readonly FieldSchema[], checkWanted: () => void): Promise<Replica> {
    old.checkWhole()
    return rebuild(old, fields, this.#host, (objectsDone, objects) => {
      this.#status = { ...this.#status, objectsDone, objects }
      checkWanted()
    })
  }

  /** Closes a replaced replica when the running searches have ended, and removes its files. */
  discard(old: Replica): void {
    this.#discards.add(old)
  }

  /** The new replica is complete before anything is appended: after the append nothing may fail. */
  async #rebuildAndCommit(
    fields: readonly FieldSchema[],
    collection: Rebuildable,
    claim: Claim | undefined,
  ): Promise<Rebuilt> {
    collection.checkOpen()
    const release = this.#memory.admit('the rebuild', { growth: memoryOfRebuild(collection.replica) })
    const made = await this.build(collection.replica, fields, () => {
      collection.checkOpen()
      // The record could not be appended, and records of another node wait.
      this.#committer.checkWritable()
    }).finally(release)
    const reclaimedBytes = Math.max(0, sum(collection.replica.bytes()) - sum(made.bytes()))
    const options = { claim, facts: { reclaimedBytes } }
    const draft = { kind: 'collection-rebuilt', collectionId: made.id, fields } as const
    const committed = this.#committer.commit(draft, collection.gate, (lsn) => collection.replace(made, lsn), options)
    const { lsn, durable } = await committed.catch(async (error) => {
      await made.remove()
      throw error
    })
    return { lsn, durable, reclaimedBytes }
  }
}

/** Bytes of memory that a rebuild takes besides the collection that it replaces. */
export function memoryOfRebuild(replica: Replica): number {
  const { ordinals, count } = replica
  return (sum(replica.bytes()) * count) / Math.max(1, ordinals.end)
}

function sum(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((total, bytes) => total + bytes, 0)
}
