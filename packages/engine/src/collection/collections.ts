// The collections of an engine, keyed by id: creates them and closes them all.

import { runEach } from '@annal/wal'
import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { ReplicaToCome } from '../backup/arrival.ts'
import { CalibrationQueue } from '../calibration/queue.ts'
import { type CalibrationPlace, CalibrationStore } from '../calibration/store.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import type { Committer } from '../commit.ts'
import type { Embedder } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { PastCollection } from '../model/as-of.ts'
import type { CalibrationCounts } from '../model/calibration.ts'
import type { ReceivedSearch } from '../model/engine.ts'
import type { AsOf, AsOfOptions } from '../model/moment.ts'
import { Replica, type ReplicaHost } from '../replica/replica.ts'
import type { KeptRequests } from '../requests/request-keys.ts'
import { LocalCollection } from './collection.ts'
import type { OpenPast } from './collection-reads.ts'
import type { CollectionBirth } from './life.ts'
import type { StateDigests } from './state-digests.ts'

export interface CollectionsHost {
  readonly limits: Limits
  readonly embedder: Embedder
  readonly memory: MemoryGuard
  readonly onSearch: ((search: ReceivedSearch) => void) | undefined
  readonly onServing: CollectionBirth['onServing']
  readonly onCalibrated: (collection: LocalCollection) => void
  readonly calibrations: CalibrationPlace
  readonly keys: KeptRequests
  committer(): Committer
  replicaHost(seed: HashSeed): ReplicaHost
  /** Opens a collection at an earlier moment. */
  openPast(entry: CollectionEntry, asOf: AsOf, options: AsOfOptions | undefined): Promise<PastCollection>
  /** Absent where nobody compares digests. */
  readonly digests?: StateDigests | undefined
}

export class Collections {
  readonly #host: CollectionsHost
  readonly #calibrations = new CalibrationQueue()
  readonly #calibrationStore: CalibrationStore
  readonly #byId = new Map<number, LocalCollection>()

  constructor(host: CollectionsHost) {
    this.#host = host
    this.#calibrationStore = new CalibrationStore(host.calibrations)
  }

  get(id: number): LocalCollection | undefined {
    return this.#byId.get(id)
  }

  /** In the order of their creation. */
  all(): Iterable<LocalCollection> {
    return this.#byId.values()
  }

  forget(id: number): void {
    this.#byId.delete(id)
  }

  add(entry: CollectionEntry, birth: Omit<CollectionBirth, 'entry'>): void {
    const { limits, embedder, memory, onSearch, onServing, onCalibrated, keys, digests } = this.#host
    const openPast: OpenPast = (asOf, options) => this.#host.openPast(entry, asOf, options)
    const host = this.#host.replicaHost(entry.hashSeed)
    const kept = { calibrations: this.#calibrations, calibrationStore: this.#calibrationStore }
    const more = {
      committer: this.#host.committer(),
      limits,
      embedder,
      memory,
      host,
      keys,
      digests,
      openPast,
      ...kept,
      onSearch,
      onServing,
      onCalibrated,
    }
    this.#byId.set(entry.id, new LocalCollection({ entry, ...birth, ...more }))
  }

  quarantine(entry: CollectionEntry, reason: string | undefined): void {
    this.add(entry, { replica: undefined, condition: 'quarantined', ...(reason !== undefined && { reason }) })
  }

  /** Begins with an existing replica, one that is still loading, or the error that prevented it. */
  begin(entry: CollectionEntry, beginning: Replica | ReplicaToCome | EngineError, as: 'ready' | 'loading'): void {
    if (beginning instanceof Replica) this.add(entry, { replica: beginning, condition: as })
    else if (beginning instanceof EngineError) this.quarantine(entry, beginning.message)
    else this.add(entry, { replica: undefined, condition: 'loading', coming: beginning })
  }

  /** Over all collections. Searches of deleted collections are not counted. */
  calibrationCounts(): CalibrationCounts {
    const states = { none: 0, running: 0, current: 0, outdated: 0, failed: 0 }
    let [searches, unreachable] = [0, 0]
    for (const collection of this.#byId.values()) {
      const counts = collection.calibrationCounts()
      for (const state of counts.states) states[state]++
      searches += counts.searches
      unreachable += counts.unreachable
    }
    return { states, searches, unreachable }
  }

  /** Continues with the calibrations that an earlier process kept, and removes those of deleted collections. */
  async loadCalibrations(): Promise<void> {
    await this.#calibrationStore.sweep((id) => this.#byId.has(id))
    for (const collection of this.#byId.values()) await collection.loadCalibrations()
  }

  /** Removes the calibrations of a deleted collection. */
  removeCalibrations(id: number): Promise<void> {
    return this.#calibrationStore.remove(id)
  }

  /** From now on every call is refused. */
  shut(): void {
    for (const collection of this.#byId.values()) collection.shut('engine')
  }

  /** Resolves when every appended record is applied. */
  async allApplied(): Promise<void> {
    for (const { gate } of this.#byId.values()) await gate.hold(async () => undefined)
  }

  async close(): Promise<void> {
    const close = async (collection: LocalCollection) => {
      await collection.settled()
      // After the running searches have ended.
      await collection.recovering?.pins.until(Number.POSITIVE_INFINITY)
      await collection.recovering?.close()
      collection.letGo()
    }
    await runEach(...[...this.#byId.values()].map((collection) => () => close(collection)))
    this.#byId.clear()
  }
}
