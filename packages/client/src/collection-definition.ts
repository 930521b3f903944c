// The definition and the description of a collection and its fields.
import type {
  CollectionDefinition,
  DenseFieldDefinition,
  DenseParams,
  ExactDefinition,
  MultiVectorFieldDefinition,
  MultiVectorParams,
  Pooling,
  Precision,
  SpaceType,
  SparseFieldDefinition,
  SparseModel,
  SparseParams,
  TextFieldDefinition,
  TextParams,
} from './model.ts'

/**
 * Returns the definition unchanged, with the types of its fields. For a definition that several calls use.
 *
 * @example
 * ```ts
 * const definition = defineCollection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
 * const exists = (await client.listCollections()).some(({ name }) => name === 'films')
 * const films = exists ? client.collection(definition) : await client.createCollection(definition)
 * ```
 */
export function defineCollection<const D extends CollectionDefinition>(definition: D & ExactDefinition<D>): D {
  return definition
}

/** The parameters of a field with a graph. */
export interface DenseDescription {
  readonly dimension: number
  readonly spaceType: SpaceType
  readonly precision: Precision
  readonly M: number
  readonly efConstruction: number
  readonly keepOriginals: boolean
  /** Recall of searches that state neither `ef` nor `recall`. */
  readonly recall?: number
  /** Absent: vectors are given. */
  readonly embed?: EmbedDescription
  /** @deprecated Use spaceType. */
  readonly space_type: SpaceType
  /** @deprecated Use efConstruction. */
  readonly ef_con: number
  /** @deprecated Use keepOriginals. */
  readonly keep_originals: boolean
}

/** Where the vectors of a field come from. */
export interface EmbedDescription {
  readonly provider: string
  /** The text field. */
  readonly from: string
  /** Absent if the provider has not named one. */
  readonly model?: string
}

/** The parameters of a sparse field. */
export interface SparseDescription {
  /** A newer server may have models that this client does not know. */
  readonly model: SparseModel
  readonly dimension: number
}

/** The parameters of a text field. */
export interface TextDescription {
  readonly language: string
  /** Version of the analyzer that makes terms of texts. */
  readonly analyzer: number
  readonly k1: number
  readonly b: number
  /** Absent: those of the language. */
  readonly stopWords?: readonly string[]
  readonly keptWords?: readonly string[]
  readonly prefixes?: { readonly min: number; readonly max: number }
}

/** A field of a collection: its parameters, and how many objects have a value in it. */
export type FieldDescription = (
  | { readonly name: string; readonly type: 'vector'; readonly params: DenseDescription }
  | {
      readonly name: string
      readonly type: 'multi_vector'
      readonly params: DenseDescription & { readonly pooling: Pooling }
    }
  | ({ readonly name: string; readonly type: 'sparse'; readonly params: SparseDescription } & EarlierSparseDescription)
  | { readonly name: string; readonly type: 'text'; readonly params: TextDescription }
) & {
  /** Number of objects with a value in the field. */
  readonly count: number
}

interface EarlierSparseDescription {
  /** @deprecated Use params.model. */
  readonly model: SparseModel
  /** @deprecated Use params.dimension. */
  readonly dimension: number
}

/** A collection: its fields, counts, memory, and state. */
export interface CollectionDescription {
  readonly name: string
  readonly fields: readonly FieldDescription[]
  /** The default expiry of objects; absent if there is none. */
  readonly ttlSeconds?: number
  /** Number of objects in the collection. */
  readonly count: number
  readonly createdAt: Date
  /** The newest event in the description. */
  readonly lsn: number
  /** `quarantined`: its stored data is damaged; other collections are not affected. */
  readonly condition: 'ready' | 'loading' | 'quarantined'
  /** Bytes of memory by part. Empty for a server that does not report them. */
  readonly memory: { readonly [part: string]: number }
  readonly reason?: string | undefined
}

type DenseFacts = Omit<DenseDescription, 'space_type' | 'ef_con' | 'keep_originals'>

/** Earlier names can be read; JSON and copies do not have them. */
export function denseDescription(facts: DenseFacts): DenseDescription {
  return withHidden(facts, {
    space_type: facts.spaceType,
    ef_con: facts.efConstruction,
    keep_originals: facts.keepOriginals,
  })
}

/** The description of a sparse field. Earlier names can be read; JSON and copies do not have them. */
export function sparseDescription(name: string, params: SparseDescription, count: number): FieldDescription {
  return withHidden({ name, type: 'sparse', params, count } as const, params)
}

function withHidden<T extends object, Hidden extends object>(value: T, hidden: Hidden): T & Hidden {
  const members = Object.entries(hidden).map(([name, member]) => [name, { value: member }] as const)
  // The members that were just defined are those of Hidden.
  return Object.defineProperties({ ...value }, Object.fromEntries(members)) as T & Hidden
}

/** The parameters of `denseField`. */
export interface DenseOptions extends DenseParams {
  /** @deprecated Use M. */
  readonly m?: number | undefined
}

/**
 * A dense field: `{ name, type: 'vector', params }`.
 *
 * @example
 * ```ts
 * const films = await client.createCollection({ name: 'films', fields: [denseField('plot', { dimension: 384 })] })
 * ```
 */
export function denseField<const Name extends string>(name: Name, options: DenseOptions): DenseFieldDefinition<Name> {
  return { name, type: 'vector', params: paramsOf(options) }
}

/**
 * A field with several vectors per object: `{ name, type: 'multi_vector', params }`.
 *
 * @example
 * ```ts
 * const books = await client.createCollection({ name: 'books', fields: [multiVectorField('pages', { dimension: 128, pooling: 'max' })] })
 * ```
 */
export function multiVectorField<const Name extends string>(
  name: Name,
  { pooling = 'mean', ...options }: DenseOptions & MultiVectorParams,
): MultiVectorFieldDefinition<Name> {
  return { name, type: 'multi_vector', params: { ...paramsOf(options), pooling } }
}

function paramsOf({ m, ...params }: DenseOptions): DenseParams {
  return m === undefined ? params : { M: m, ...params }
}

/**
 * A field of sparse terms: `{ name, type: 'sparse', params }`.
 *
 * @example
 * ```ts
 * const notes = await client.createCollection({ name: 'notes', fields: [sparseField('words', { model: 'endee_bm25' })] })
 * ```
 */
export function sparseField<const Name extends string>(
  name: Name,
  options: SparseParams = {},
): SparseFieldDefinition<Name> {
  return { name, type: 'sparse', params: options }
}

/**
 * A field whose texts are found by their words: `{ name, type: 'text', params }`.
 *
 * @example
 * ```ts
 * const notes = await client.createCollection({ name: 'notes', fields: [textField('body', { language: 'english' })] })
 * ```
 */
export function textField<const Name extends string>(name: Name, options: TextParams = {}): TextFieldDefinition<Name> {
  return { name, type: 'text', params: options }
}
