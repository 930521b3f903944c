// What a collection is made of. Checked once by parseDefinition; inside the engine nothing is checked again.

export type SpaceType = 'cosine' | 'l2' | 'ip'
export type Precision = 'binary' | 'int8' | 'int16' | 'float16' | 'float32'
export type SparseModel = 'default' | 'endee_bm25'

export interface DenseParams {
  /** 2 to 10,000. */
  readonly dimension: number
  readonly spaceType: SpaceType
  /** What a row keeps besides its 7-bit walk code. */
  readonly precision: Precision
  /** Links of a node per upper graph level; twice as many at level 0. */
  readonly M: number
  /** Candidates considered while a node is linked. */
  readonly efConstruction: number
}

export interface DenseFieldDefinition {
  readonly kind: 'dense'
  readonly name: string
  readonly params: DenseParams
}

export interface SparseFieldDefinition {
  readonly kind: 'sparse'
  readonly name: string
  readonly params: {
    readonly model: SparseModel /** Indices are below this; 2^32 when not given. */
    readonly dimension: number
  }
}

export type FieldDefinition = DenseFieldDefinition | SparseFieldDefinition

export interface CollectionDefinition {
  readonly name: string
  readonly fields: readonly FieldDefinition[]
}
