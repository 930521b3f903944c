// The seam between the client and whatever answers it: a server over HTTP now, an engine in this process later.
import type { IndexDefinition, IndexDescription, IndexSummary } from './definition.ts'
import type { Filter, FilterValues } from './filter.ts'
import type { Hit, JsonObject, Query, StoredVector, VectorRecord } from './record.ts'

export interface CallOptions {
  /** Ends the call early; it then fails with code `aborted`. A write may or may not have happened. */
  readonly signal?: AbortSignal | undefined
  /** The longest this call may take, its retries included. */
  readonly timeoutMs?: number | undefined
}

export interface FilterUpdate {
  readonly id: string
  readonly filter: FilterValues
}

export interface Health {
  /** `ok` when everything serves; `starting` while stored data is being loaded. */
  readonly status: string
  /** What else the server tells. */
  readonly details: JsonObject
}

/** Everything that a client asks of a transport: what goes in, what comes out. */
export interface Operations {
  health: { readonly input: undefined; readonly output: Health }
  stats: { readonly input: undefined; readonly output: JsonObject }
  createIndex: { readonly input: IndexDefinition; readonly output: undefined }
  listIndexes: { readonly input: undefined; readonly output: readonly IndexSummary[] }
  describeIndex: { readonly input: { readonly index: string }; readonly output: IndexDescription }
  deleteIndex: { readonly input: { readonly index: string }; readonly output: undefined }
  upsert: {
    readonly input: { readonly index: string; readonly records: readonly VectorRecord[] }
    readonly output: undefined
  }
  query: { readonly input: { readonly index: string; readonly query: Query }; readonly output: readonly Hit[] }
  get: { readonly input: { readonly index: string; readonly id: string }; readonly output: StoredVector | undefined }
  delete: { readonly input: { readonly index: string; readonly id: string }; readonly output: boolean }
  deleteWhere: { readonly input: { readonly index: string; readonly filter: Filter }; readonly output: number }
  updateFilters: {
    readonly input: { readonly index: string; readonly updates: readonly FilterUpdate[] }
    readonly output: number
  }
}

export type OperationName = keyof Operations

export interface Transport {
  /** Fails with AnnalError, whatever goes wrong outside this program. */
  call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>
  /** Idempotent. */
  close(): Promise<void>
}
