// The schema of a collection: its definition, checked once by parseDefinition and with every default filled in. The
// engine does not check it again.

import type { AnalyzerParams } from '../text/params.ts'
import type { Pooling, Precision, SpaceType, SparseModel } from './choices.ts'

export type { Pooling, Precision, SpaceType, SparseModel }

/** Parameters of a dense field, and of the pooled vectors of a multi-vector field. */
export interface DenseSchemaParams {
  /** 2 to 10,000. */
  readonly dimension: number
  readonly spaceType: SpaceType
  /** The stored form of a row; from int8 on in addition to its 7-bit walk code. */
  readonly precision: Precision
  /** Links of a node on each upper graph level; twice as many on level 0. */
  readonly M: number
  /** Candidates considered when a node is linked. */
  readonly efConstruction: number
  /**
   * Version of the rules that make rows and build the graph, so that a replay of the log builds the same graph. Default 1; since 2,
   * rows that a walk cannot distinguish share one node; since 3, binary codes are signs of rotated vectors;
   * since 4, rows of large fields have heads; since 5, rows far from the others do not move the center.
   */
  readonly rules?: number
  /** `false`: only the rows in memory are kept, and vectors are returned from them. Absent: original vectors are returned unchanged. */
  readonly keepOriginals?: false
  /** Recall of searches that state neither `ef` nor `recall`. Absent: they use the default ef. Never in a multi-vector field. */
  readonly recall?: number
  /** Objects without a vector get one from their text. Absent: vectors are given. Never in a multi-vector field. */
  readonly embed?: EmbedSchema
}

/** Where the vectors of a field come from. */
export interface EmbedSchema {
  /** Name of a provider, as the host program or the configuration of the server has it. */
  readonly provider: string
  /** Name of the text field whose texts become vectors. */
  readonly from: string
  /** The model that the provider had when the collection was created. Vectors of different models cannot be compared. */
  readonly model?: string
}

/** How texts of a field become terms, and how they are scored. */
export interface TextSchemaParams extends AnalyzerParams {
  /** How soon more occurrences of a term in a text count no more, 0 to 100. */
  readonly k1: number
  /** How much the length of a text counts, 0 to 1. */
  readonly b: number
}

/** The rules of newly created graphs. */
export const rulesNewest = 5

/**
 * The same field with a graph of other rules. Its keys are in the order in which events return them, because digests
 * read them as text.
 */
export function withRules(field: FieldSchema, rules: number): FieldSchema {
  if (hasLists(field)) return field
  if (field.kind === 'dense') {
    return { ...field, params: inOrder({ ...field.params, rules }) }
  }
  const { pooling, ...params } = field.params
  return { ...field, params: { ...params, rules, pooling } }
}

/** The same field with another default recall; undefined: without one. */
export function withRecall(field: DenseFieldSchema, recall: number | undefined): DenseFieldSchema {
  const { recall: _, ...params } = field.params
  return { ...field, params: inOrder({ ...params, ...(recall !== undefined && { recall }) }) }
}

/** The same field with the model of its provider. */
export function withModel(field: DenseFieldSchema, model: string): DenseFieldSchema {
  const { embed } = field.params
  return embed === undefined ? field : { ...field, params: { ...field.params, embed: { ...embed, model } } }
}

function inOrder({ keepOriginals, recall, rules, embed, ...params }: DenseSchemaParams): DenseSchemaParams {
  return {
    ...params,
    ...(rules !== undefined && { rules }),
    ...(keepOriginals === false && { keepOriginals }),
    ...(recall !== undefined && { recall }),
    ...(embed !== undefined && { embed }),
  }
}

/** One vector for each object. */
export interface DenseFieldSchema {
  readonly kind: 'dense'
  readonly name: string
  readonly params: DenseSchemaParams
}

/** One list of indices and weights for each object. */
export interface SparseFieldSchema {
  readonly kind: 'sparse'
  readonly name: string
  readonly params: {
    readonly model: SparseModel /** Indices are below this; 2^32 when not given. */
    readonly dimension: number
  }
}

/** A text per object, searched by its words. */
export interface TextFieldSchema {
  readonly kind: 'text'
  readonly name: string
  readonly params: TextSchemaParams
}

/** Several vectors per object: found by their pooled vector, ordered by the members themselves. */
export interface MultiFieldSchema {
  readonly kind: 'multi'
  readonly name: string
  readonly params: DenseSchemaParams & { readonly pooling: Pooling }
}

/** A checked field with every parameter filled in. `kind` says which it is. */
export type FieldSchema = DenseFieldSchema | SparseFieldSchema | TextFieldSchema | MultiFieldSchema

/** Fields of inverted lists instead of a graph. */
export type ListFieldSchema = SparseFieldSchema | TextFieldSchema

/**
 * Whether the field has inverted lists instead of a graph.
 *
 * @example
 * ```ts
 * const withGraphs = films.describe().fields.filter((field) => !hasLists(field))
 * ```
 */
export function hasLists(field: FieldSchema): field is ListFieldSchema {
  return field.kind === 'sparse' || field.kind === 'text'
}

/** Whether the precision of a field is one that versions before int4 and int2 do not know. */
export function hasPackedCodes(field: FieldSchema): boolean {
  return !hasLists(field) && (field.params.precision === 'int4' || field.params.precision === 'int2')
}

/** Whether searches of the field have a default recall, which versions before do not know. */
export function hasRecall({ kind, params }: FieldSchema): boolean {
  return kind === 'dense' && params.recall !== undefined
}

/** Whether the field is one that versions before text fields do not know: it has texts, or its vectors come from texts. */
export function hasText({ kind, params }: FieldSchema): boolean {
  return kind === 'text' || (kind === 'dense' && params.embed !== undefined)
}

/**
 * The field whose rows a graph links: a dense field itself, the pooled vectors of a multi-vector field, none for a
 * field of inverted lists.
 */
export function graphField(field: DenseFieldSchema | MultiFieldSchema): DenseFieldSchema
export function graphField(field: FieldSchema): DenseFieldSchema | undefined
export function graphField(field: FieldSchema): DenseFieldSchema | undefined {
  if (hasLists(field)) return undefined
  if (field.kind === 'dense') return field
  const { pooling: _pooling, ...params } = field.params
  return { kind: 'dense', name: field.name, params }
}

/** A checked definition of a collection with every parameter filled in. */
export interface CollectionSchema {
  readonly name: string
  readonly fields: readonly FieldSchema[]
  /** Objects expire this many seconds after they are written, unless the write says otherwise. Absent: they do not expire. */
  readonly ttlSeconds?: number
}

/** The member for a default expiry, if there is one. */
export function ttlOf({ ttlSeconds }: { readonly ttlSeconds?: number | undefined }): { readonly ttlSeconds?: number } {
  return ttlSeconds === undefined ? {} : { ttlSeconds }
}
