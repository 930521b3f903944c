// A reader: a thread besides the owner of an engine that searches its collections in shared memory.
import { EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { SearchRecall } from '../model/calibration.ts'
import type { Filter } from '../model/filter.ts'
import type { StoredObject } from '../model/object.ts'
import type { SearchRequest } from '../model/query.ts'
import type { Reader, ReaderCollection, ReaderHandle, ReaderPlace } from '../model/reader.ts'
import type { SearchResult } from '../model/search-result.ts'
import { type OwnerCall, type OwnerMessage, readerProtocol, type SharedMatches } from '../sharing/messages.ts'
import { collectGarbage } from '../vector/threads/garbage.ts'
import { ReaderSlots } from '../vector/threads/reader-slots.ts'
import { OriginalFiles } from './original-files.ts'
import { OwnerPort } from './owner-port.ts'
import { QueryReports, type RanSearch } from './query-reports.ts'
import { ReaderArena } from './reader-arena.ts'
import { ReaderNames } from './reader-names.ts'
import { ReplicaView } from './replica-view.ts'
import { type ReaderThread, SharedCollection } from './shared-collection.ts'

/**
 * Attaches the thread that received the handle to its engine. Resolves when every collection that serves can be searched. Rejects with
 * `closed` if the engine is closed, `version_mismatch` if this thread runs another version of the package than the engine, and
 * `invalid_argument` if the value is not a handle.
 *
 * @example
 * ```ts
 * import { workerData } from 'node:worker_threads'
 *
 * const reader = await attachReader(workerData.reader)
 * ```
 */
export async function attachReader(handle: ReaderHandle): Promise<Reader> {
  checkHandle(handle)
  const reader = new LocalReader(handle)
  await reader.welcomed
  return reader
}

function checkHandle(handle: ReaderHandle): void {
  if (typeof handle !== 'object' || handle === null || !('protocol' in handle) || !('port' in handle))
    throw new EngineError('invalid_argument', 'handle must be the result of readerHandle', { field: 'handle' })
  if (handle.protocol !== readerProtocol)
    throw new EngineError(
      'version_mismatch',
      `the engine shares its memory by protocol ${handle.protocol}, and this thread reads protocol ${readerProtocol}`,
      { field: 'handle', value: handle.protocol, limit: readerProtocol },
    )
}

/** More objects are read by the owner, which yields to other work between them. */
const objectsBytesMax = 2 ** 20

class LocalReader implements Reader, ReaderThread {
  readonly welcomed: Promise<void>
  readonly #handle: ReaderHandle
  readonly files: OriginalFiles
  readonly #slots: ReaderSlots
  readonly #port: OwnerPort
  readonly #reports: QueryReports
  readonly #views = new Map<number, ReplicaView>()
  readonly #byId = new Map<number, SharedCollection>()
  readonly #names = new ReaderNames()
  #limits: Limits | undefined
  #generation = 0
  #isReading = false
  #closesAfterwards = false

  constructor(handle: ReaderHandle) {
    this.#handle = handle
    this.files = new OriginalFiles(handle.readers)
    this.#slots = new ReaderSlots(handle.readers, handle.slots)
    this.#reports = new QueryReports(handle.reader, (list) => this.#port.post({ kind: 'queries', list }))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.welcomed = promise
    this.#port = new OwnerPort(handle.port, {
      take: (message) => {
        if (message.kind === 'welcome') {
          this.#limits = message.limits
          resolve()
        } else this.#take(message)
      },
      closed: (error) => {
        this.#withdrawAll()
        reject(error)
      },
    })
    if (this.#slots.isClosed || !this.#port.isOpen) this.#port.close()
    else this.#port.post({ kind: 'hello' })
  }

  get limits(): Limits {
    // Attached once they have arrived.
    return this.#limits as Limits
  }

  get number(): number {
    return this.#handle.reader
  }

  get module(): WebAssembly.Module {
    return this.#handle.module
  }

  get isReading(): boolean {
    return this.#isReading
  }

  receive(): void {
    const { generation } = this.#slots
    if (generation === this.#generation) return
    // Loaded before the messages are read: an announcement in between is received next time.
    this.#generation = generation
    this.#port.receive()
  }

  enter(header: number, version: number): void {
    this.#isReading = true
    this.#slots.enter(this.#handle.reader, header, version)
  }

  leave(): void {
    if (!this.#isReading) return
    this.#isReading = false
    this.#slots.leave(this.#handle.reader)
    if (this.#closesAfterwards) this.close()
  }

  get lsnApplied(): number {
    return this.#slots.lsnApplied
  }

  get nowMs(): number {
    return Math.max(Date.now(), this.#slots.timeMs)
  }

  get progress(): number {
    return this.#slots.progress
  }

  progressed(seen: number, timeoutMs: number): Promise<void> {
    return this.#slots.progressed(seen, timeoutMs)
  }

  ranRecall(collectionId: number, search: RanSearch, { reachable }: SearchRecall): void {
    this.#slots.countRecall(this.#handle.reader, reachable !== false)
    this.#reports.add(collectionId, search)
  }

  settle(): void {
    this.#slots.settle(this.#handle.reader)
  }

  async matches(header: number, filter: Filter): Promise<SharedMatches | undefined> {
    try {
      return (await this.#port.call({ kind: 'matches', header, filter })) as SharedMatches | undefined
    } catch (error) {
      // The owner refuses the same search, and says why.
      if (error instanceof EngineError) return undefined
      throw error
    }
  }

  collection(database: string, name: string): ReaderCollection | undefined {
    if (this.#slots.isClosed) return undefined
    this.receive()
    return this.#byId.get(this.#names.collectionId(database, name))
  }

  async search(collection: string, request: SearchRequest, place: ReaderPlace = {}): Promise<SearchResult> {
    const { database = 'default' } = place
    const { searchOrCall } = await import('./requests.ts')
    const call = (ownerCall: OwnerCall) => this.#port.call(ownerCall)
    const target = { database, collection, limits: this.limits }
    return searchOrCall(this.collection(database, collection), request, target, call)
  }

  async getMany(collection: string, ids: readonly string[], place: ReaderPlace = {}): Promise<readonly StoredObject[]> {
    const { database = 'default' } = place
    const here = await this.collection(database, collection)?.getHere(ids, { bytesMax: objectsBytesMax })
    if (here !== undefined) return here
    const { receivedObjects } = await import('./requests.ts')
    return receivedObjects(await this.#port.call({ kind: 'get', database, collection, ids }))
  }

  get isBuilding(): boolean {
    return this.#slots.jobs > 0
  }

  close(): void {
    // The owner gives the slot to another thread when the port closes.
    this.#closesAfterwards = this.#isReading
    if (this.#isReading) return
    this.#reports.report()
    this.#port.close()
    this.#withdrawAll()
  }

  #withdrawAll(): void {
    for (const header of [...this.#views.keys()]) this.#withdraw(header)
    this.files.close()
  }

  #take(message: Exclude<OwnerMessage, { readonly kind: 'welcome' | 'reply' | 'refusal' }>): void {
    const { kind } = message
    if (kind === 'collect') collectGarbage()
    else if (kind === 'closed') this.close()
    else if (kind === 'serve') this.#serve(new ReplicaView(message.replica, (arena) => this.#attach(arena)))
    else if (kind === 'names') this.#names.change(message.changed)
    else if (kind === 'withdraw') this.#withdraw(message.header)
    else this.#views.get(message.header)?.take(message)
  }

  #attach(arena: ConstructorParameters<typeof ReaderArena>[0]): ReaderArena {
    return new ReaderArena(arena, this.#handle.module, this.#handle.thread)
  }

  #serve(view: ReplicaView): void {
    const { collectionId } = view.facts
    this.#views.set(view.header, view)
    const known = this.#byId.get(collectionId)
    if (known !== undefined) {
      known.serve(view)
      return
    }
    this.#byId.set(collectionId, new SharedCollection(this, view))
  }

  #withdraw(header: number): void {
    const view = this.#views.get(header)
    if (view === undefined) return
    this.#views.delete(header)
    for (const { originals } of view.facts.fields) if (originals) this.files.drop(originals)
    const { collectionId } = view.facts
    const collection = this.#byId.get(collectionId)
    // Another replica serves the collection already.
    if (collection?.view !== view) return
    collection.serve(undefined)
    // An owner that ended without closing wakes nobody.
    this.#slots.turn()
    this.#byId.delete(collectionId)
  }
}
