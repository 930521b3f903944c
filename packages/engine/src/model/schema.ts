// The schema of a collection: its definition, checked once by parseDefinition and with every default filled in. Inside the engine
// nothing is checked again.

import type { Pooling, Precision, SpaceType, SparseModel } from './choices.ts'

export type { Pooling, Precision, SpaceType, SparseModel }

export interface DenseSchemaParams {
  /** 2 to 10,000. */
  readonly dimension: number
  readonly spaceType: SpaceType
  /** What a row keeps besides its 7-bit walk code. */
  readonly precision: Precision
  /** Links of a node per upper graph level; twice as many at level 0. */
  readonly M: number
  /** Candidates considered while a node is linked. */
  readonly efConstruction: number
  /**
   * Rules by which its graph is built, so that a log is replayed to the graph that it made. 1 where not given; from 2 on rows
   * that a walk cannot tell apart are one node.
   */
  readonly rules?: number
  /** `false`: nothing is kept but the rows in memory, and vectors come back from those. Absent: they come back as they were given. */
  readonly keepOriginals?: false
}

/** The rules of graphs that are made from now on. */
export const rulesNewest = 2

/** The same field with a graph by other rules; its keys in the order in which an event gives them back, for digests read them as text. */
export function withRules(field: FieldSchema, rules: number): FieldSchema {
  if (field.kind === 'sparse') return field
  if (field.kind === 'dense') {
    const { keepOriginals, ...params } = field.params
    return { ...field, params: { ...params, rules, ...(keepOriginals === false && { keepOriginals }) } }
  }
  const { pooling, ...params } = field.params
  return { ...field, params: { ...params, rules, pooling } }
}

export interface DenseFieldSchema {
  readonly kind: 'dense'
  readonly name: string
  readonly params: DenseSchemaParams
}

export interface SparseFieldSchema {
  readonly kind: 'sparse'
  readonly name: string
  readonly params: {
    readonly model: SparseModel /** Indices are below this; 2^32 when not given. */
    readonly dimension: number
  }
}

/** Several vectors per object: found by what they are pooled to, ordered by the members themselves. */
export interface MultiFieldSchema {
  readonly kind: 'multi'
  readonly name: string
  readonly params: DenseSchemaParams & { readonly pooling: Pooling }
}

export type FieldSchema = DenseFieldSchema | SparseFieldSchema | MultiFieldSchema

/** The field whose rows a graph links: a dense field itself, the pooled vectors of a multi-vector field, none of a sparse one. */
export function graphField(field: DenseFieldSchema | MultiFieldSchema): DenseFieldSchema
export function graphField(field: FieldSchema): DenseFieldSchema | undefined
export function graphField(field: FieldSchema): DenseFieldSchema | undefined {
  if (field.kind === 'sparse') return undefined
  if (field.kind === 'dense') return field
  const { pooling: _pooling, ...params } = field.params
  return { kind: 'dense', name: field.name, params }
}

export interface CollectionSchema {
  readonly name: string
  readonly fields: readonly FieldSchema[]
}
