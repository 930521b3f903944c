// What an analyzer takes and gives. It knows no tables, so that definitions can be read without them.

/** How a text field splits its texts into terms. Part of the field's definition, kept in the log. */
export interface AnalyzerParams {
  /** Snowball's name, such as `english`, or `none` for no stemming and no stop words. */
  readonly language: string
  /** Version of the analyzer that the field is written and queried with. */
  readonly analyzer: number
  /** Words that are not indexed. Absent: those of the language. */
  readonly stopWords?: readonly string[]
  /** Words that are not stemmed. */
  readonly keptWords?: readonly string[]
  /** Also index the prefixes of each term from `min` to `max` characters (for search as you type). Absent: none. */
  readonly prefixes?: { readonly min: number; readonly max: number }
}

export interface Token {
  /** At most termBytesMax (256) bytes of UTF-8; longer ones are cut at a character. */
  readonly term: string
  /** Position of the word, counted with stop words, so that phrases across them match. */
  readonly position: number
  /** UTF-16 offsets of the word in the text. */
  readonly start: number
  readonly end: number
}

export type TakeToken = (term: string, position: number, start: number, end: number) => void

export interface Analyzer {
  readonly params: AnalyzerParams
  /** Calls `take` for each token, in order of positions. Several tokens may share one position (prefixes of a word). */
  forEachToken(text: string, take: TakeToken): void
  tokens(text: string): Token[]
  /** The terms of a query: like tokens, but without prefixes. */
  queryTokens(text: string): Token[]
  /** A word as it is compared by prefix and fuzzy search: lower-cased and folded, not stemmed. */
  fold(word: string): string
}

/** Version of new fields. */
export const analyzerVersion = 1
export const analyzerVersions: readonly number[] = [1]
