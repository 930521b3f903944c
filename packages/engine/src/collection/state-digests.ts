// Digests of what an engine holds, each with the record after which it was taken, so that engines on one log can compare theirs. A collection
// that is idle is hashed in the background. One that is written to is hashed before the first record after a multiple of some number of
// records: these places are the same in every engine, and writes of the collection wait meanwhile.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { digestInBackground } from '../backup/background-digest.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { EngineError } from '../errors.ts'
import type { Event } from '../model/event.ts'
import type { StateDigest } from '../model/state-digest.ts'
import type { Replica } from '../replica/replica.ts'
import type { CollectionLife } from './life.ts'

/** A record that puts this setting requests digests: every engine hashes each collection as of it. */
export const digestRequestKey = 'digest-request'

/** Digests that are kept, of all parts together. */
const keptMax = 2048
/** Other work runs after this much hashing. */
const sliceMs = 5

/** The newest digests of an engine. */
export class StateDigests {
  readonly #every: number
  #kept: StateDigest[] = []
  readonly #newest = new Map<number, number>()
  /** The LSN of each collection when it was last looked at. */
  readonly #seen = new Map<number, number>()
  /** A record that a request for digests appended; 0 before the first. */
  #lsnRequested = 0
  #running: Promise<void> | undefined

  /**
   * A collection that is written to is hashed once in `every` records, a power of two, or in as many as it has rows, rounded up to a
   * power of two: so each record costs at most the hashing of one row.
   */
  constructor(every: number) {
    this.#every = every
  }

  /** The newest digests, oldest first. */
  get kept(): readonly StateDigest[] {
    return this.#kept
  }

  /**
   * Call it with each record of the catalog before any later record is applied. If it requests digests, a collection that is written to is
   * hashed before its first record after it, and an idle one is anyway: at the same place in every engine.
   */
  note(lsn: number, event: Event): void {
    if (event.kind === 'setting-put' && event.key === digestRequestKey)
      this.#lsnRequested = Math.max(this.#lsnRequested, lsn)
  }

  /**
   * Called between two records of a collection, with the LSN of the second one. Returns undefined, or resolves when the state before that
   * record is hashed.
   */
  before(lsn: number, { entry, name, recovering: replica }: CollectionLife): Promise<void> | undefined {
    if (replica === undefined) return undefined
    const every = Math.max(this.#every, 2 ** Math.ceil(Math.log2(replica.ordinals.end + 1)))
    const place = lsn - 1 - ((lsn - 1) % every)
    const mark = this.#lsnRequested < lsn ? Math.max(place, this.#lsnRequested) : place
    if (mark < Math.max(1, replica.lsnApplied) || this.#has(entry.id, replica.lsnApplied)) return undefined
    return this.#hash(replica, { part: entry.id, name })
  }

  /** Hashes the catalog, and each collection that had no record since the last call. Joins a call that runs. */
  quiet(catalog: Catalog, collections: Iterable<CollectionLife>): Promise<void> {
    this.#running ??= this.#quiet(catalog, collections).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Resolves when nothing is hashed in the background any more. */
  async settled(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  async #quiet(catalog: Catalog, collections: Iterable<CollectionLife>): Promise<void> {
    const { lsn } = catalog.state()
    if (!this.#has(0, lsn)) this.#add({ part: 0, lsn, digest: catalog.digest() })
    for (const collection of [...collections]) await this.#hashQuiet(collection)
  }

  async #hashQuiet(collection: CollectionLife): Promise<void> {
    const { recovering: replica, name } = collection
    const { id: part } = collection.entry
    if (replica === undefined || !serves(collection, replica)) return
    const { lsnApplied: lsn } = replica
    const isQuiet = this.#seen.get(part) === lsn
    this.#seen.set(part, lsn)
    if (!isQuiet || this.#has(part, lsn)) return
    const digest = await digestInBackground(replica, () => {
      // Its memory is freed soon.
      if (!serves(collection, replica)) throw new EngineError('closed', 'the collection was replaced')
    }).catch((error: Error) => {
      if (serves(collection, replica)) throw error
      return undefined
    })
    if (digest !== undefined) this.#add({ part, name, lsn, digest })
  }

  async #hash(replica: Replica, of: Pick<StateDigest, 'part' | 'name'>): Promise<void> {
    const { lsnApplied: lsn } = replica
    const work = replica.digestInSteps()
    let beganMs = performance.now()
    for (;;) {
      const { done, value } = work.next()
      if (done) return this.#add({ ...of, lsn, digest: value })
      if (performance.now() - beganMs < sliceMs) continue
      await nextTurn()
      beganMs = performance.now()
    }
  }

  #has(part: number, lsn: number): boolean {
    return this.#newest.get(part) === lsn
  }

  #add(digest: StateDigest): void {
    if (this.#has(digest.part, digest.lsn)) return
    this.#newest.set(digest.part, digest.lsn)
    this.#kept = [...this.#kept, digest].slice(-keptMax)
  }
}

function serves(collection: CollectionLife, replica: Replica): boolean {
  return collection.condition === 'ready' && !collection.isClosed && collection.recovering === replica
}
