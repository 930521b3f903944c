// A reader in a thread of its own, for tests.
import { Worker } from 'node:worker_threads'
import type { Engine, ReaderHandle, SearchRequest } from '@annal/engine'
import type { ReaderSearch } from '@annal/engine/reader'
import type { Test } from 'tap'

export type ReaderCall =
  | { readonly kind: 'here'; readonly database?: string; readonly collection: string; readonly search: ReaderSearch }
  | { readonly kind: 'search'; readonly collection: string; readonly request: SearchRequest }
  | { readonly kind: 'get'; readonly collection: string; readonly ids: readonly string[] }
  | { readonly kind: 'exists'; readonly collection: string }
  | { readonly kind: 'wait'; readonly collection: string; readonly lsn: number; readonly timeoutMs: number }
  | { readonly kind: 'close' }

export interface ReaderReply {
  readonly id: number
  readonly value?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}

/** What `searchHere` copied. */
export interface HereResult {
  readonly lsn: number
  readonly complete: boolean
  readonly hits: readonly {
    readonly id: string
    readonly similarity: number
    readonly distance: number
    readonly norm: number
    readonly meta: string
    readonly filter: string
  }[]
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

/** Starts a reader and ends it with the test. Resolves when it is attached. */
export async function startReader(t: Test, engine: Engine): Promise<ReaderThread> {
  const reader = new ReaderThread(engine.readerHandle())
  t.teardown(() => reader.worker.terminate())
  await reader.attached
  return reader
}
