// A reader in a thread of its own, for tests.
import { Worker } from 'node:worker_threads'
import type {
  DenseRow,
  Engine,
  ReaderHandle,
  SearchHit,
  SearchRecall,
  SearchRequest,
  SearchResult,
  StoredObject,
} from '@annal/engine'
import type { ReaderSearch } from '@annal/engine/reader'
import type { Test } from 'tap'

export type ReaderCall =
  | { readonly kind: 'here'; readonly database?: string; readonly collection: string; readonly search: ReaderSearch }
  /** Holds the hits of a search until word 1 of `shared` is set. */
  | {
      readonly kind: 'hold'
      readonly collection: string
      readonly search: ReaderSearch
      readonly shared: Int32Array
      readonly closes?: boolean
    }
  /** Begins searches, and stops the thread until word 1 of `shared` is set. Afterwards it receives what they wait for. */
  | {
      readonly kind: 'late'
      readonly collection: string
      readonly search: ReaderSearch
      readonly requests: readonly SearchRequest[]
      readonly shared: Int32Array
    }
  | { readonly kind: 'search'; readonly collection: string; readonly request: SearchRequest }
  | { readonly kind: 'get'; readonly collection: string; readonly ids: readonly string[] }
  /** Without the owner. */
  | {
      readonly kind: 'getHere'
      readonly collection: string
      readonly ids: readonly string[]
      readonly bytesMax?: number
      readonly minLsn?: number
    }
  /** Without the owner. */
  | {
      readonly kind: 'batchHere'
      readonly collection: string
      readonly requests: readonly SearchRequest[]
      readonly bytesMax?: number
    }
  | { readonly kind: 'exists'; readonly collection: string }
  | { readonly kind: 'wait'; readonly collection: string; readonly lsn: number; readonly timeoutMs: number }
  | { readonly kind: 'close' }
  /** Searches in the thread and by the owner, until a search is refused. Resolves to the code, and to the number of wrong hits. */
  | {
      readonly kind: 'until-refused'
      readonly collection: string
      readonly search: ReaderSearch
      readonly request: SearchRequest
    }

export interface ReaderReply {
  readonly id: number
  readonly value?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}

/** What `searchHere` copied. */
export interface HereResult {
  readonly lsn: number
  readonly complete: boolean
  readonly recall?: SearchRecall
  readonly hits: readonly {
    readonly id: string
    readonly similarity: number
    readonly distance: number
    readonly norm: number
    readonly meta: string
    readonly filter: string
  }[]
}

/** Everything of objects that can be compared. */
export function plainObjects(objects: readonly StoredObject[] | undefined) {
  const plainRow = ({ vector, row, norm }: DenseRow) => ({ vector, row, norm })
  return objects?.map(({ id, lsn, metaBytes, filterText, dense, sparse, multi }) => ({
    id,
    lsn,
    meta: Buffer.from(metaBytes).toString('base64'),
    filterText,
    dense: Object.entries(dense).map(([name, row]) => [name, row && plainRow(row)]),
    sparse: Object.entries(sparse).map(([name, terms]) => [name, terms && { ...terms }]),
    multi: Object.entries(multi).map(([name, rows]) => [name, rows?.map(plainRow)]),
  }))
}

/** Everything of results that can be compared. */
export function plainResults(results: readonly SearchResult[] | undefined) {
  const plainRow = ({ vector, row, norm }: DenseRow) => ({ vector, row, norm })
  const plainHit = (hit: SearchHit) => {
    const { id, similarity, distance, norm, filterText, row, vector } = hit
    const meta = Buffer.from(hit.metaBytes).toString('base64')
    return { id, similarity, distance, norm, meta, filterText, row, vector, members: hit.members?.map(plainRow) }
  }
  return results?.map(({ results: lists, fused, complete, recall, lsn }) => ({
    ...{ complete, recall, lsn },
    lists: Object.entries(lists).map(([name, hits]) => [name, hits.map(plainHit)]),
    fused: fused?.map(({ hit, score, standings }) => ({ hit: plainHit(hit), score, standings })),
  }))
}

export class ReaderThread {
  readonly worker: Worker
  readonly attached: Promise<unknown>
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0

  constructor(handle: ReaderHandle, program = new URL('./reader-program.ts', import.meta.url)) {
    const { port } = handle
    this.worker = new Worker(program, { workerData: { reader: handle }, transferList: [port] })
    const attached = Promise.withResolvers<unknown>()
    this.#waiting.set(0, attached)
    this.attached = attached.promise
    this.worker.on('message', ({ id, value, error }: ReaderReply) => {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }))
      else waiting?.resolve(value)
    })
    this.worker.on('error', (error) => {
      for (const { reject } of this.#waiting.values()) reject(error)
    })
  }

  do(call: ReaderCall): Promise<unknown> {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.worker.postMessage({ id, call })
    return waiting.promise
  }

  here(collection: string, search: ReaderSearch): Promise<HereResult | undefined> {
    return this.do({ kind: 'here', collection, search }) as Promise<HereResult | undefined>
  }
}

export interface Held {
  readonly calls: number
  readonly nested: unknown
  /** Whether the reader was open after the first call. */
  readonly isOpen: boolean
  /** What each call of the callback copied; the first one twice. */
  readonly texts: readonly HereResult[]
  readonly result: HereResult | undefined
}

/** A search that holds its version. */
export interface Hold {
  /** Lets the search go on, and resolves to what it copied. */
  release(): Promise<Held>
}

/** Resolves when the reader holds the hits of the search. */
export async function hold(
  reader: ReaderThread,
  collection: string,
  search: ReaderSearch,
  options: { readonly closes?: boolean } = {},
): Promise<Hold> {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const done = reader.do({ kind: 'hold', collection, search, shared, ...options }) as Promise<Held>
  // A terminated thread never replies.
  done.catch(() => undefined)
  const wait = Atomics.waitAsync(shared, 0, 0)
  if (wait.async) await wait.value
  return {
    release() {
      Atomics.store(shared, 1, 1)
      Atomics.notify(shared, 1)
      return done
    },
  }
}

export interface Late {
  readonly single: HereResult | undefined
  /** The filters of all hits. */
  readonly batch: readonly string[] | undefined
}

/** Begins a search and a batch, and runs `meanwhile` before the thread of the reader receives the matches of their filters. */
export async function searchLate(
  reader: ReaderThread,
  call: { readonly collection: string; readonly search: ReaderSearch; readonly requests: readonly SearchRequest[] },
  meanwhile: () => Promise<unknown>,
): Promise<Late> {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const done = reader.do({ kind: 'late', ...call, shared })
  const wait = Atomics.waitAsync(shared, 0, 0)
  if (wait.async) await wait.value
  await meanwhile()
  Atomics.store(shared, 1, 1)
  Atomics.notify(shared, 1)
  return (await done) as Late
}

/** Starts a reader and ends it with the test. Resolves when it is attached. */
export async function startReader(t: Test, engine: Engine): Promise<ReaderThread> {
  const reader = new ReaderThread(engine.readerHandle())
  t.teardown(() => reader.worker.terminate())
  await reader.attached
  return reader
}
