// Collections and the jobs that work on a whole one.
import { workTimeoutMs } from './connection.ts'
import { type CallOptions, call, segment } from './request.ts'

export interface GraphParams {
  readonly dimension: number
  readonly space_type: string
  readonly precision: string
  readonly M: number
  readonly ef_con: number
  /** Absent: true. */
  readonly keep_originals?: boolean
  /** Recall of searches that state neither ef nor recall. */
  readonly recall?: number
  /** Where vectors come from when a write has only a text. */
  readonly embed?: Embed
}

export interface DenseField {
  readonly name: string
  readonly type: 'vector'
  readonly params: GraphParams
  readonly element_count: number
}

/** Several vectors per object, found by their pooled vector. */
export interface MultiField {
  readonly name: string
  readonly type: 'multi_vector'
  readonly params: GraphParams & { readonly pooling: string }
  readonly element_count: number
}

export interface SparseField {
  readonly name: string
  readonly type: 'sparse'
  readonly sparse_model: string
  readonly params: { readonly sparse_model: string; readonly dimension?: number }
  readonly element_count: number
}

export interface TextParams {
  readonly language: string
  /** Version of the rules that split texts into terms. */
  readonly analyzer: number
  readonly k1: number
  readonly b: number
}

/** Texts, found by their words. */
export interface TextField {
  readonly name: string
  readonly type: 'text'
  readonly params: TextParams
  readonly element_count: number
}

export type Field = DenseField | MultiField | SparseField | TextField

export interface Collection {
  readonly name: string
  readonly fields: readonly Field[]
  /** Seconds since 1970. */
  readonly created_at: number
  readonly total_elements: number
  readonly lsn: number
  readonly condition: 'ready' | 'loading' | 'quarantined'
  readonly reason?: string
  /** Bytes by part. */
  readonly memory?: { readonly [part: string]: number }
}

export interface RebuildStatus {
  readonly status: 'idle' | 'in_progress' | 'completed' | 'failed'
  readonly objects_processed: number
  readonly total_objects: number
  readonly percent_complete: number
  readonly started_at?: string
  readonly completed_at?: string
  readonly error?: string
}

export interface Recall {
  readonly field: string
  readonly sample: number
  readonly recall: number
  readonly recall_worst: number
}

export interface CurvePoint {
  readonly ef: number
  readonly recall: number
  readonly error: number
}

/** What was measured of one kind of search. */
export interface Calibration {
  readonly field: string
  readonly limit: number
  readonly rescore: boolean
  readonly state: 'none' | 'running' | 'current' | 'outdated' | 'failed'
  readonly received: number
  readonly progress?: { readonly done: number; readonly queries: number }
  readonly error?: string
  readonly queries?: number
  readonly source?: 'received' | 'rows'
  readonly rows?: number
  /** Milliseconds since 1970. */
  readonly measured_at?: number
  /** By share of matching objects; 1 without a filter. */
  readonly curves?: readonly { readonly share: number; readonly points: readonly CurvePoint[] }[]
}

/** Where vectors come from: a provider, and the text field whose texts it gets. */
export interface Embed {
  readonly provider: string
  readonly from: string
}

/** A field of a collection to create. */
export interface NewField {
  readonly name: string
  readonly type: Field['type']
  readonly params?: { readonly [name: string]: string | number | boolean | Embed }
  readonly sparse_model?: string
}

const base = '/api/v2/collection'
const pathOf = (name: string) => `${base}/${segment(name)}`

export const listCollections = async (options?: CallOptions) =>
  (await call<{ collections: readonly Collection[] }>('GET', base, options)).collections
export const describeCollection = (name: string, options?: CallOptions) =>
  call<Collection>('GET', pathOf(name), options)
export const createCollection = (name: string, fields: readonly NewField[]) =>
  call<Collection>('POST', base, { body: { name, fields } })
export const deleteCollection = (name: string) => call<object>('DELETE', pathOf(name))
export const rebuildStatus = (name: string, options?: CallOptions) =>
  call<RebuildStatus>('GET', `${pathOf(name)}/rebuild/status`, options)
export const rebuild = (name: string, fields: readonly { field: string; M?: number; ef_con?: number }[]) =>
  call<object>('POST', `${pathOf(name)}/rebuild`, { body: { fields } })
export const vacuum = (name: string) =>
  call<{ reclaimed_bytes: number }>('POST', `${pathOf(name)}/vacuum`, { body: {} })
export const recall = (
  name: string,
  query: { readonly field: string; readonly sample: number; readonly limit: number; readonly ef: number },
  options?: CallOptions,
) => call<Recall>('GET', `${pathOf(name)}/recall`, { query, timeoutMs: workTimeoutMs, ...options })
export const calibrations = async (name: string, options?: CallOptions) =>
  (await call<{ calibrations: readonly Calibration[] }>('GET', `${pathOf(name)}/calibrations`, options)).calibrations
export const calibrate = (name: string, body: { readonly field: string; readonly limit: number }) =>
  call<Calibration>('POST', `${pathOf(name)}/calibrate`, { body, timeoutMs: workTimeoutMs })
export const updateFields = (name: string, fields: readonly { field: string; recall: number | null }[]) =>
  call<object>('POST', `${pathOf(name)}/fields`, { body: { fields } })

export const createBackup = (collection: string, name: string) =>
  call<{ backup_name: string }>('POST', `${pathOf(collection)}/backup`, { body: name === '' ? {} : { name } })
export const cloneCollection = (name: string, target: string, options: { readonly keepExpired: boolean }) =>
  call<object>('POST', `${pathOf(name)}/clone`, {
    body: { target_collection_name: target, keep_expired: options.keepExpired },
  })

/** Whether a provider makes the vectors of texts, so that a query can be a text. */
export const isEmbedded = (field: Field): boolean => field.type === 'vector' && field.params.embed !== undefined
export const isDense = (field: Field): field is DenseField => field.type === 'vector'
export const isText = (field: Field): field is TextField => field.type === 'text'
export const hasGraph = (field: Field): field is DenseField | MultiField =>
  field.type === 'vector' || field.type === 'multi_vector'
