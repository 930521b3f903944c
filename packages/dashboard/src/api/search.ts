// The search request and reply of /api/v2; see docs/reference/search.md.
import type { Filter, Json, JsonMap } from './objects.ts'
import { type CallOptions, call, segment } from './request.ts'

export type Query =
  | readonly number[]
  | readonly (readonly number[])[]
  | { readonly id: string }
  | { readonly indices: readonly number[]; readonly values: readonly number[] }

export interface SearchBody {
  readonly fields: {
    readonly [field: string]: { readonly query: Query; readonly limit: number; readonly ef_search?: number }
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

export interface Hit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly meta?: Json
  readonly meta_base64?: string
  readonly filter: JsonMap
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
