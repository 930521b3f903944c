// What a program gives to create a collection, and how the compiler reads the fields out of it. parseDefinition checks the same at run
// time, for definitions that come from elsewhere.

import type { Pooling, Precision, SpaceType, SparseModel } from './choices.ts'
import type { Fields, FieldType } from './fields.ts'

/** The parameters of a dense field. Only `dimension` is required. */
export interface DenseParams {
  /** Components of a vector, 2 to 10,000. */
  readonly dimension: number
  /** Default cosine. */
  readonly spaceType?: SpaceType | undefined
  /** Encoding of vectors in memory; default int8. */
  readonly precision?: Precision | undefined
  /** Links of a graph node in each upper level, 4 to 512; default 16. */
  readonly M?: number | undefined
  /** Candidates considered while a node is linked, 8 to 4,096; default 128. */
  readonly efConstruction?: number | undefined
  /** Whether vectors as they came are kept on disk; default true. Multi-vector fields always keep them. */
  readonly keepOriginals?: boolean | undefined
  /** Recall of searches that state neither `ef` nor `recall`, 0.01 to 0.999; default: they use `ef` 128. Not for multi-vector fields. */
  readonly recall?: number | undefined
  /** A provider computes vectors from texts for objects that have none, and queries may be texts. Not for multi-vector fields. */
  readonly embed?: EmbedParams | undefined
  /** @deprecated Use spaceType. */
  readonly space_type?: SpaceType | undefined
  /** @deprecated Use efConstruction. */
  readonly ef_con?: number | undefined
  /** @deprecated Use keepOriginals. */
  readonly keep_originals?: boolean | undefined
}

/** Where the vectors of a field come from. */
export interface EmbedParams {
  /** Name of a provider in the configuration of the server, or in the options of the engine. */
  readonly provider: string
  /** A text field of the same collection. */
  readonly from: string
  /** The model of the provider; by default the one that it has when the collection is created. */
  readonly model?: string | undefined
}

/** One vector per object. */
export interface DenseFieldDefinition<Name extends string = string> {
  /** A letter or digit, then letters, digits, underscores and hyphens. */
  readonly name: Name
  readonly type: 'vector'
  readonly params: DenseParams
}

/** The parameters of a sparse field. */
export interface SparseParams {
  /** `endee_bm25` weighs the terms of a query by how rare they are in the collection; default `default`. */
  readonly model?: SparseModel | undefined
  /** Indices are below this; default 2^32. */
  readonly dimension?: number | undefined
}

/** Sparse terms: pairs of an index and a weight. */
export interface SparseFieldDefinition<Name extends string = string> {
  readonly name: Name
  readonly type: 'sparse'
  readonly params?: SparseParams | undefined
  /** @deprecated Use params.model. */
  readonly sparse_model?: SparseModel | undefined
}

/** The parameters of a text field. */
export interface TextParams {
  /** Name of the language as Snowball has it, such as `english`, or its ISO code; `none` for no stemming and no stop words. Default `none`. */
  readonly language?: string | undefined
  /** Higher: repeated words in a text raise its score more; 0 to 100, default 1.2. */
  readonly k1?: number | undefined
  /** Higher: the length of a text lowers its score more; 0 to 1, default 0.75. */
  readonly b?: number | undefined
  /** Stop words, instead of those of the language. */
  readonly stopWords?: readonly string[] | undefined
  /** Words that are not stemmed. */
  readonly keptWords?: readonly string[] | undefined
  /** Also finds words by their first `min` to `max` characters, at the cost of memory. */
  readonly prefixes?: { readonly min: number; readonly max: number } | undefined
}

/** A text: found by its words. */
export interface TextFieldDefinition<Name extends string = string> {
  readonly name: Name
  readonly type: 'text'
  readonly params?: TextParams | undefined
}

/** The parameters of a multi-vector field. */
export interface MultiVectorParams extends DenseParams {
  /** How the vectors of an object become the one vector that the graph links; default mean. */
  readonly pooling?: Pooling | undefined
}

/** Several vectors per object: found by their pooled vector, ordered by the vectors themselves. */
export interface MultiVectorFieldDefinition<Name extends string = string> {
  readonly name: Name
  readonly type: 'multi_vector'
  readonly params: MultiVectorParams
}

/** A field of a definition. `type` says which kind it is. */
export type FieldDefinition =
  | DenseFieldDefinition
  | SparseFieldDefinition
  | TextFieldDefinition
  | MultiVectorFieldDefinition

/**
 * The name and the fields of a collection.
 *
 * @example
 * ```ts
 * const films = defineCollection({
 *   name: 'films',
 *   fields: [
 *     { name: 'plot', type: 'vector', params: { dimension: 384, spaceType: 'cosine' } },
 *     { name: 'words', type: 'sparse', params: { model: 'endee_bm25' } },
 *   ],
 * })
 * ```
 */
export interface CollectionDefinition {
  /** A letter or digit, then letters, digits, underscores and hyphens. */
  readonly name: string
  /** One to eight. */
  readonly fields: readonly FieldDefinition[]
  /** Objects expire this many seconds after they are written, unless the write says otherwise: 1 to 3,155,760,000. Default: never. */
  readonly ttlSeconds?: number | undefined
}

/** The fields that a definition describes: `FieldsOf<typeof films>` is `{ plot: 'vector'; words: 'sparse' }`. A name describes any. */
export type FieldsOf<D> = D extends CollectionDefinition
  ? { readonly [Field in D['fields'][number] as Field['name']]: Field['type'] }
  : Fields

interface FieldDefinitions {
  readonly vector: DenseFieldDefinition
  readonly sparse: SparseFieldDefinition
  readonly text: TextFieldDefinition
  readonly multi_vector: MultiVectorFieldDefinition
}

/** What the compiler wants in place of the value of an option that does not exist, so that the option is marked as wrong. */
export interface UnknownOption<Name extends string> {
  readonly unknownOption: Name
}

/** A type parameter takes any further property of a literal; this refuses those that the definition does not have. */
type OnlyKnown<Given, Known> = { readonly [Key in Exclude<keyof Given, keyof Known> & string]?: UnknownOption<Key> }

type ExactField<Field> = Field extends { readonly type: infer Type extends FieldType }
  ? OnlyKnown<Field, FieldDefinitions[Type]> &
      (Field extends { readonly params: infer Params }
        ? { readonly params: OnlyKnown<Params, NonNullable<FieldDefinitions[Type]['params']>> }
        : unknown)
  : unknown

/** Refuses options that do not exist, where the definition is written out. */
export type ExactDefinition<D> = CollectionDefinition extends D
  ? unknown
  : D extends CollectionDefinition
    ? OnlyKnown<D, CollectionDefinition> & {
        readonly fields: { readonly [At in keyof D['fields']]: ExactField<D['fields'][At]> }
      }
    : unknown

/**
 * Returns the definition unchanged, with the types of its fields. For a definition that several calls use.
 *
 * @example
 * ```ts
 * const definition = defineCollection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 384 } }] })
 * const exists = database.collections().some(({ name }) => name === 'films')
 * const films = exists ? database.collection(definition) : await database.createCollection(definition)
 * ```
 */
export function defineCollection<const D extends CollectionDefinition>(definition: D & ExactDefinition<D>): D {
  return definition
}
