// The definition and the description of a collection and its fields.
import type { Precision, SpaceType } from './definition.ts'

export interface DenseParams {
  /** Numbers per vector, 2 to 10,000. */
  readonly dimension: number
  /** Default cosine. */
  readonly space_type?: SpaceType | undefined
  /** Default int8. */
  readonly precision?: Precision | undefined
  /** Links per node of the graph; default 16. */
  readonly M?: number | undefined
  /** Pool used while the graph is built; default 128. */
  readonly ef_con?: number | undefined
  /**
   * Keep vectors on disk as they are given; default true. `false` takes less disk: reads then give back what memory has left of a
   * vector, and nothing is rescored. Only for dense fields.
   */
  readonly keep_originals?: boolean | undefined
}

export interface DenseFieldDefinition {
  readonly name: string
  readonly type: 'vector'
  readonly params: DenseParams
}

export interface SparseFieldDefinition {
  readonly name: string
  readonly type: 'sparse'
  /** `endee_bm25` weights the terms of a query by their rarity in the collection; default `default`. */
  readonly sparse_model?: 'default' | 'endee_bm25' | undefined
  readonly params?: { readonly dimension?: number | undefined } | undefined
}

/** Several vectors per object: found by their pooled vector, ranked by the vectors themselves. */
export interface MultiVectorFieldDefinition {
  readonly name: string
  readonly type: 'multi_vector'
  readonly params: DenseParams & { readonly pooling?: 'mean' | 'max' | undefined }
}

export type FieldDefinition = DenseFieldDefinition | SparseFieldDefinition | MultiVectorFieldDefinition

export interface CollectionDefinition {
  /** Letters, digits, underscores and hyphens. */
  readonly name: string
  /** One to eight fields. */
  readonly fields: readonly FieldDefinition[]
}

export type FieldDescription = (
  | { readonly name: string; readonly type: 'vector'; readonly params: Required<DenseParams> }
  | {
      readonly name: string
      readonly type: 'multi_vector'
      readonly params: Required<DenseParams> & { readonly pooling: 'mean' | 'max' }
    }
  | { readonly name: string; readonly type: 'sparse'; readonly model: string; readonly dimension: number }
) & {
  /** Number of objects with a value in the field. */
  readonly count: number
}

export interface CollectionDescription {
  readonly name: string
  readonly fields: readonly FieldDescription[]
  /** Number of objects in the collection. */
  readonly count: number
  readonly createdAt: Date
  /** The newest event in the description. */
  readonly lsn: number
  /** `quarantined`: its stored data is damaged; other collections are not affected. */
  readonly condition: 'ready' | 'loading' | 'quarantined'
  readonly reason?: string | undefined
}

export interface DenseOptions {
  readonly dimension: number
  readonly spaceType?: SpaceType
  readonly precision?: Precision
  readonly m?: number
  readonly efConstruction?: number
  /** Keep vectors on disk as they are given; default true. */
  readonly keepOriginals?: boolean
}

/** `denseField('text', { dimension: 384 })` builds the field definition that the server expects. */
export function denseField(name: string, options: DenseOptions): DenseFieldDefinition {
  return { name, type: 'vector', params: paramsOf(options) }
}

export function multiVectorField(
  name: string,
  { pooling = 'mean', ...options }: DenseOptions & { readonly pooling?: 'mean' | 'max' },
): MultiVectorFieldDefinition {
  return { name, type: 'multi_vector', params: { ...paramsOf(options), pooling } }
}

function paramsOf(options: DenseOptions): DenseParams {
  const { dimension, spaceType, precision, m, efConstruction, keepOriginals } = options
  return {
    dimension,
    ...(spaceType !== undefined && { space_type: spaceType }),
    ...(precision !== undefined && { precision }),
    ...(m !== undefined && { M: m }),
    ...(efConstruction !== undefined && { ef_con: efConstruction }),
    ...(keepOriginals !== undefined && { keep_originals: keepOriginals }),
  }
}

export function sparseField(
  name: string,
  options: { readonly model?: 'default' | 'endee_bm25'; readonly dimension?: number } = {},
): SparseFieldDefinition {
  return {
    name,
    type: 'sparse',
    sparse_model: options.model ?? 'default',
    ...(options.dimension !== undefined && { params: { dimension: options.dimension } }),
  }
}
