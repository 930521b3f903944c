// Events of the database and their times, as far back as the server keeps them.
import { type CallOptions, call, segment } from './request.ts'

export type EventType =
  | 'collection-created'
  | 'collection-dropped'
  | 'collection-rebuilt'
  | 'collection-restored'
  | 'objects-upserted'
  | 'objects-deleted'
  | 'objects-expired'
  | 'filters-replaced'
  | 'objects-patched'
  | 'fields-changed'
  | 'database-created'
  | 'database-dropped'
  | 'database-changed'
  | 'token-put'
  | 'token-dropped'
  | 'setting-put'
  | 'cursor-put'
  | 'cursor-dropped'
  | 'request-answered'
  | 'objects-restored'
  | 'alias-put'
  | 'alias-dropped'
  | 'collection-promoted'

export interface LogEvent {
  readonly lsn: number
  readonly time: string
  readonly type: EventType
  readonly bytes: number
  readonly collection?: string
  readonly objects?: number
  /** Ids of the first few objects. */
  readonly ids?: readonly string[]
  readonly fields?: readonly string[]
  readonly token?: string
  readonly alias?: string
  /** The name of the collection that a promoted one replaced. */
  readonly kept_as?: string
  readonly active?: boolean
}

/** A long log is read in steps; another call reads the next step. */
interface Reading {
  readonly complete: boolean
  readonly segments_read: number
  readonly segments: number
}

export interface EventPage extends Reading {
  readonly events: readonly LogEvent[]
}

export interface Bucket {
  readonly time: string
  readonly lsn_first: number
  readonly lsn_last: number
  readonly records: number
  readonly bytes: number
  readonly written: number
  readonly deleted: number
  readonly refiltered: number
  readonly changes: number
}

export interface Activity extends Reading {
  readonly bucket_seconds: number
  readonly buckets: readonly Bucket[]
  /** Why history begins where it does, and how far back it should reach; null when history is off. */
  readonly history: {
    readonly begins: 'first_record' | 'age' | 'size' | 'disk' | 'start'
    readonly hours: number
  } | null
  readonly restorable_from: { readonly lsn: number; readonly time: string } | null
}

export interface EventsQuery {
  readonly from?: number
  readonly before?: number
  readonly since?: string
  readonly limit?: number
  readonly collection?: string | undefined
}

export const logActivity = (collection: string | undefined, options?: CallOptions) =>
  call<Activity>('GET', '/api/v2/log/activity', { ...options, query: { collection } })

export const logEvents = (query: EventsQuery, options?: CallOptions) =>
  call<EventPage>('GET', '/api/v2/log/events', { ...options, query: { ...query } })

/** Restores the past state of a collection, including a deleted one, as a new collection. */
export const restorePast = (
  collection: string,
  target: string,
  { lsn, keepExpired }: { readonly lsn: number; readonly keepExpired: boolean },
) =>
  call<object>('POST', `/api/v2/collection/${segment(collection)}/restore`, {
    body: { target_collection_name: target, lsn, keep_expired: keepExpired },
  })
