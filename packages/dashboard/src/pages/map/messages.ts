// Messages between the page and the worker that draws the map.
import type { Filter, JsonMap } from '../../api/objects.ts'
import type { ClusterLabel } from './cluster-words.ts'

export interface MapRequest {
  readonly collection: string
  readonly field: string
  readonly filter: Filter
  readonly objects: number
  readonly authorization: string | undefined
  readonly method: 'umap' | 'pca'
}

/** What the objects were chosen from. */
export interface Source {
  /** Matching objects. */
  readonly matches: number
  /** The first of them, from which the sample was drawn. */
  readonly listed: number
}

export interface MapObject {
  readonly id: string
  readonly filter: JsonMap
}

export type MapAnswer =
  | { readonly kind: 'loading'; readonly loaded: number }
  /** Sent once, before the first points. */
  | { readonly kind: 'objects'; readonly objects: readonly MapObject[]; readonly source: Source }
  /** x and y of every object in turn, between -1 and 1. Sent again as the layout improves. */
  | { readonly kind: 'points'; readonly points: Float32Array; readonly share: number }
  /** Sent once, after the last points, if the objects have texts. */
  | { readonly kind: 'labels'; readonly labels: readonly ClusterLabel[] }
  | { readonly kind: 'failed'; readonly message: string; readonly code?: string }
