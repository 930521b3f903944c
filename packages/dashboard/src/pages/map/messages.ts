// What the page and the worker that draws the map say to each other.
import type { Filter, JsonMap } from '../../api/objects.ts'

export interface MapQuestion {
  readonly collection: string
  readonly field: string
  readonly filter: Filter
  readonly objects: number
  readonly authorization: string | undefined
  readonly method: 'umap' | 'pca'
}

export interface MapObject {
  readonly id: string
  readonly filter: JsonMap
}

export type MapAnswer =
  | { readonly kind: 'loading'; readonly loaded: number }
  /** Once, before the first points. */
  | { readonly kind: 'objects'; readonly objects: readonly MapObject[] }
  /** x and y of every object in turn, between -1 and 1; comes again as the map gets better. */
  | { readonly kind: 'points'; readonly points: Float32Array; readonly share: number }
  | { readonly kind: 'failed'; readonly message: string; readonly code?: string }
