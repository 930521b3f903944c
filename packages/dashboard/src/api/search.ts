// The search request and reply of /api/v2; see docs/reference/search.md.
import type { Filter, Json, JsonMap } from './objects.ts'
import { type CallOptions, call, callText, segment } from './request.ts'

export type Query =
  | readonly number[]
  | readonly (readonly number[])[]
  | { readonly id: string }
  | { readonly indices: readonly number[]; readonly values: readonly number[] }
  | { readonly text: string }
  /** The words of a text field. */
  | string
  | TextClauses

/** At least one clause in `must` or `should`; a string stands for its words. */
export interface TextClauses {
  readonly must?: readonly unknown[]
  readonly should?: readonly unknown[]
  readonly must_not?: readonly unknown[]
}

/** The query of a dense field whose vectors a provider makes of texts. */
export const meaningQuery = (text: string): Query => ({ text })

export interface SearchBody {
  readonly fields: {
    readonly [field: string]: {
      readonly query: Query
      readonly limit: number
      readonly ef_search?: number
      readonly operator?: 'or' | 'and'
      readonly highlight?: boolean
    }
  }
  readonly filter?: Filter
  readonly filter_params?: { readonly prefilter_threshold?: number; readonly boost_percentage?: number }
  readonly include_vectors?: boolean
  readonly rescore?: boolean
  readonly exact?: boolean
  readonly explain?: boolean
  readonly fusion?: {
    readonly method: 'rrf' | 'relative_score'
    readonly k?: number
    readonly weights: { readonly [field: string]: number }
    readonly limit: number
  }
}

/** The part of a text with the words of the query. */
export interface Highlight {
  readonly fragment: string
  /** Where the fragment begins in the text. */
  readonly start: number
  /** Start and end of each word in the fragment. */
  readonly ranges: readonly (readonly [number, number])[]
}

export interface Hit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly meta?: Json
  readonly meta_base64?: string
  readonly filter: JsonMap
  readonly highlight?: Highlight
}

export interface FusedHit {
  readonly id: string
  readonly score: number
  readonly meta?: Json
  readonly filter: JsonMap
  readonly fields: { readonly [field: string]: { readonly rank: number; readonly similarity: number } }
}

export interface FieldPlan {
  readonly plan: 'nothing' | 'scan' | 'walk' | 'lists'
  readonly reason: string
  readonly ef?: number
  readonly costs?: { readonly scan: number; readonly walk: number }
  /** Of a text field: the searched terms, and how many texts have each. */
  readonly terms?: readonly { readonly term: string; readonly rows: number }[]
  readonly visited: number
  readonly distances: number
  readonly ms: number
}

export interface Explanation {
  readonly filter: { readonly matches: number; readonly ms: number } | null
  readonly fields: { readonly [field: string]: FieldPlan }
  readonly decorate_ms: number
  readonly fuse_ms: number
  readonly total_ms: number
}

export interface SearchReply {
  readonly results: { readonly [field: string]: readonly Hit[] }
  readonly fused?: readonly FusedHit[]
  readonly complete: boolean
  readonly explain?: Explanation
  readonly lsn: number
}

export const search = (collection: string, body: SearchBody, options?: CallOptions) =>
  call<SearchReply>('POST', `/api/v2/collection/${segment(collection)}/search`, { body, ...options })

/** The moment of a result: just after a record. */
export interface MomentOfReply {
  readonly lsn: number
  readonly time: string
}

/** The moments that can be reached. */
export interface Reach {
  readonly lsn_first: number
  readonly lsn_last: number
  readonly time_first: string
  readonly time_last: string
}

export type PastReply =
  | { readonly kind: 'found'; readonly reply: SearchReply & { readonly as_of: MomentOfReply } }
  | { readonly kind: 'unreachable'; readonly error: string; readonly reach: Reach | undefined }

/** A search of the past. A moment that is not held is loaded first, however long that takes. */
export async function searchPast(collection: string, body: SearchBody, lsn: number, options: CallOptions) {
  const { status, text } = await callText('POST', `/api/v2/collection/${segment(collection)}/search`, {
    ...options,
    body: { ...body, as_of: { lsn } },
    answers: (_status, code) => code === 'moment_unreachable',
  })
  const said = JSON.parse(text)
  return (status === 410 ? { kind: 'unreachable', ...said } : { kind: 'found', reply: said }) as PastReply
}

/** A moment that reads of the past loaded, or are loading. */
export interface LoadedMoment {
  readonly collection: string
  readonly lsn: number | null
  readonly status: string
  readonly bytes_done: number
  readonly bytes: number
}

export const loadedMoments = async (options: CallOptions) =>
  (await call<{ readonly moments: readonly LoadedMoment[] }>('GET', '/api/v2/status/asof', options)).moments
