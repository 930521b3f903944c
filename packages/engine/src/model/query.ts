// Queries of a search: what a request to search a collection consists of.

import type { FieldName, Fields, FieldType } from './fields.ts'
import type { Filter } from './filter.ts'
import type { AsOf } from './moment.ts'
import type { MultiVector, SparseVector } from './object.ts'

/** The vector of a stored object in the field; the object itself is excluded from the results. */
export interface StoredQuery {
  readonly id: string
}

/** How the words of a text are combined. */
export const textOperators = ['or', 'and'] as const
/** `or`: any of the words; `and`: all of them. */
export type TextOperator = (typeof textOperators)[number]

interface Boosted {
  /** Multiplies its part of the score, from 0 to 1,000; default 1. */
  readonly boost?: number | undefined
}

/** Words: `or` if one of them is enough, `and` if a text must have all of them. */
export interface WordsClause extends Boosted {
  readonly words: string
  readonly operator?: TextOperator | undefined
}

/** Words one after another. */
export interface PhraseClause extends Boosted {
  readonly phrase: string
  /** How many places the words may be away from where the phrase has them, in total; 0 to 100, default 0. */
  readonly slop?: number | undefined
}

/** The prefix of a term as it is indexed: stemmed, if the field has a language. */
export interface PrefixClause extends Boosted {
  readonly prefix: string
}

/** A word, and terms that differ from it in a few letters. */
export interface FuzzyClause extends Boosted {
  readonly fuzzy: string
  /** Letters that are added, left out, or replaced: 1 or 2; default 1 for words of 3 to 5 letters, 2 for longer ones, 0 for shorter ones. */
  readonly edits?: number | undefined
}

/** A part of a query of a text field. A plain string stands for its words. */
export type TextClause = string | WordsClause | PhraseClause | PrefixClause | FuzzyClause

/** A query of a text field. It has at least one clause in `must` or `should`. */
export interface TextQuery {
  /** Each must match. The words of a string must all be there. */
  readonly must?: readonly TextClause[] | undefined
  /** Raise the score where they match; without `must`, one of them must match. The words of a string count one by one. */
  readonly should?: readonly TextClause[] | undefined
  /** None may match. A string excludes the texts with any of its words. */
  readonly mustNot?: readonly TextClause[] | undefined
}

/** Where the words of a query are in a text. */
export interface Highlight {
  /** The part of the text around most of the words. */
  readonly fragment: string
  /** Where the fragment begins in the text, in UTF-16 units. */
  readonly start: number
  /** The words in the fragment: first unit, and the one after the last, counted in the fragment. */
  readonly ranges: readonly (readonly [from: number, to: number])[]
}

/** A text whose vector the provider of the field makes. */
export interface EmbeddedQuery {
  readonly text: string
}

/** What a field of each type is searched with. */
export interface QueryValues {
  readonly vector: ArrayLike<number> | EmbeddedQuery
  readonly sparse: SparseVector
  /** Words, or a query of several clauses. */
  readonly text: string | TextQuery
  /** 1 to 256 vectors, or a single one. */
  readonly multi_vector: MultiVector | ArrayLike<number>
}

interface AnyFieldQuery<Type extends FieldType> {
  /** A value of the field's type, or `{ id }` for the value of a stored object. */
  readonly query: QueryValues[Type] | StoredQuery
  /** Maximum number of results; default 10. */
  readonly limit?: number | undefined
  /**
   * Number of candidates that the graph walk keeps; default 128, raised to `limit` when smaller. In a multi-vector field this many
   * candidates are compared member by member.
   */
  readonly ef?: number | undefined
  /**
   * Recall to reach, from 0.01 to 0.999, instead of `ef`, which is then chosen by measurements on this field. The result's `recall` states
   * the choice. For fields with one vector for each object; searches in sparse fields are exact.
   */
  readonly recall?: number | undefined
  /** Hits with a lower similarity are excluded. */
  readonly scoreThreshold?: number | undefined
}

/** What a query of a text field has in addition. */
interface TextQueryOptions {
  /** For words as query: `and` if a text must have all of them; default `or`. */
  readonly operator?: TextOperator | undefined
  /** Hits have a `highlight`. */
  readonly highlight?: boolean | undefined
  /** Instead of that of the field. */
  readonly k1?: number | undefined
  /** Instead of that of the field. */
  readonly b?: number | undefined
}

/** The query of a field of the type; without a type, of any field. */
export type FieldQuery<Type extends FieldType = FieldType> = AnyFieldQuery<Type> &
  ('text' extends Type ? TextQueryOptions : unknown)

/**
 * Combines the lists of the fields into one. `rrf` adds weight / (k + rank), with ranks from 1 and k = 60 by default.
 * `relative_score` adds the weight times the similarity scaled to the field's range: 0 for its last hit and 1 for its
 * first.
 */
export interface Fusion<Name extends string = string> {
  readonly method: 'rrf' | 'relative_score'
  readonly k?: number | undefined
  /** Keyed by field; default 1. */
  readonly weights?: { readonly [Field in Name]?: number } | undefined
  /** Maximum number of fused results; default 10. */
  readonly limit?: number | undefined
}

/**
 * Returns the best groups of objects instead of the best objects. A group is the objects that have a value under a filter key, such as the
 * chunks of one document; an object with an array is in the group of each of its elements. Objects without a string, number, or boolean
 * under the key are left out.
 */
export interface GroupBy {
  /** A filter key. */
  readonly key: string
  /** Maximum number of groups; default: the `limit` of the field, or that of the fusion. */
  readonly limit?: number | undefined
  /** Maximum number of hits of each group, from 1 to 100; default 1. */
  readonly hits?: number | undefined
  /** Number of the best groups to leave out, for the next page; default 0. */
  readonly offset?: number | undefined
}

/** A search of one or several fields of a collection. */
export interface SearchRequest<F extends Fields = Fields, Name extends FieldName<F> = FieldName<F>> {
  /** At least one field. */
  readonly fields: { readonly [Field in Name]: FieldQuery<F[Field]> }
  readonly filter?: Filter | undefined
  /**
   * When at most this many objects match, each of them is compared. By default the cheaper of that and the graph walk
   * is used.
   */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Keeps this many percent more candidates in a filtered walk. */
  readonly filterBoostPercentage?: number | undefined
  readonly includeVectors?: boolean | undefined
  /** Adds the texts of its object to every hit, whichever field was searched. */
  readonly includeTexts?: boolean | undefined
  /**
   * Reorders the best candidates by the original vectors, read from disk; for fields that store less than float32 in
   * memory. Default: true for fields of `binary`, `int2`, and `int4`; others do it if rows near the query differ by less than the errors of
   * their codes. Without it, a field reports what its codes estimate.
   */
  readonly rescore?: boolean | undefined
  readonly fusion?: Fusion<NoInfer<Name>> | undefined
  /**
   * Groups the hits. Then every `limit` is a number of groups, and the result has `groups`; with fusion the hits of the groups of each field
   * are fused, and the result has `fusedGroups`.
   */
  readonly groupBy?: GroupBy | undefined
  /**
   * Compares the original vector of every match, whatever the cost: the reference for approximate results. Reads them from disk
   * if the field stores less than float32 in memory.
   */
  readonly exact?: boolean | undefined
  /** Adds how the result was found and its cost. */
  readonly explain?: boolean | undefined
  /** The result includes the write with this LSN: the search waits for it, at most 5 s, and fails with `lsn_not_reached`. */
  readonly minLsn?: number | undefined
  /** Searches the collection as of a moment. All searches of a batch have the same. */
  readonly asOf?: AsOf | undefined
}

/** One of several searches; each of them can search other fields. */
export interface BatchedRequest<F extends Fields = Fields> extends Omit<SearchRequest<F>, 'fields' | 'fusion'> {
  /** At least one field. A field without a query is not searched. */
  readonly fields: { readonly [Field in FieldName<F>]?: FieldQuery<F[Field]> | undefined }
  readonly fusion?: Fusion<FieldName<F>> | undefined
}

/** What the text of a field must match: the query of a search, and its operator. */
export interface TextCondition {
  readonly query: string | TextQuery
  /** For words as query: `and` if a text must have all of them; default `or`. */
  readonly operator?: TextOperator | undefined
}

/** Conditions on texts, by text field. All must hold. An object without the text does not match. */
export type TextMatch<Name extends string = string> = { readonly [Field in Name]?: TextCondition | undefined }
