// Checks a query of a text field and splits it into terms by the analyzer of the field.
import { EngineError } from '../errors.ts'
import {
  boostMax,
  conditionalClausesMax,
  editsMax,
  k1Max,
  phraseWordsMax,
  slopMax,
  textClausesMax,
  textQueryBytesMax,
  textQueryTermsMax,
} from '../limits.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { finiteNumber, wholeNumber } from '../model/numbers.ts'
import { type FieldQuery, type TextOperator, textOperators } from '../model/query.ts'
import type { TextFieldSchema } from '../model/schema.ts'
import { analyzerOf, isSearchedByPrefix } from '../text/analyzers.ts'
import type { Analyzer, Token } from '../text/params.ts'

/** A word of a phrase; `offset` is its place in the phrase. */
export interface PhraseWord {
  readonly term: string
  readonly offset: number
}

/** A checked clause. `terms` are distinct; a term that stands there twice has `times` 2. */
export type TextPart =
  | {
      readonly kind: 'words'
      readonly terms: readonly { readonly term: string; readonly times: number }[]
      readonly operator: TextOperator
      readonly boost: number
    }
  | {
      readonly kind: 'phrase'
      readonly words: readonly PhraseWord[]
      readonly slop: number
      readonly boost: number
    }
  | { readonly kind: 'prefix'; readonly prefix: string; readonly boost: number }
  | { readonly kind: 'fuzzy'; readonly term: string; readonly edits: number; readonly boost: number }

/** A checked query of a text field. */
export interface TextSearch {
  readonly must: readonly TextPart[]
  readonly should: readonly TextPart[]
  readonly mustNot: readonly TextPart[]
}

/** How the hits of a text field are scored and returned. */
export interface TextOptions {
  readonly k1: number
  readonly b: number
  readonly highlight: boolean
}

export function parseTextOptions(input: FieldQuery, field: TextFieldSchema, path: string): TextOptions {
  const { k1 = field.params.k1, b = field.params.b, highlight = false } = input
  if (typeof highlight !== 'boolean') {
    const message = `${path}.highlight must be true or false, got ${printed(highlight)}`
    throw new EngineError('invalid_argument', message, { field: `${path}.highlight`, value: shownValue(highlight) })
  }
  return {
    k1: finiteNumber(k1, `${path}.k1`, 0, k1Max),
    b: finiteNumber(b, `${path}.b`, 0, 1),
    highlight,
  }
}

/** Throws invalid_argument or limit_exceeded. */
export function parseTextSearch(
  { query, operator }: Pick<FieldQuery, 'query' | 'operator'>,
  field: TextFieldSchema,
  path: string,
  operatorPath = `${path}.operator`,
): TextSearch {
  const parser = new TextQueryParser(analyzerOf(field.params))
  if (typeof query === 'string') {
    const how = parseOperator(operator ?? 'or', operatorPath)
    const parts = parser.words(query, how, path)
    return how === 'and' ? { must: parts, should: [], mustNot: [] } : { must: [], should: parts, mustNot: [] }
  }
  if (operator !== undefined) {
    const message = `${operatorPath} is for a query that is a text; clauses have their own`
    throw new EngineError('invalid_argument', message, { field: operatorPath, value: shownValue(operator) })
  }
  if (typeof query !== 'object' || query === null || Array.isArray(query) || ArrayBuffer.isView(query)) {
    const message = `${path} must be a text, or an object with must or should; got ${printed(query)}`
    throw new EngineError('invalid_argument', message, { field: path, value: shownValue(query) })
  }
  const { must, should, mustNot, must_not: snake, ...others } = query as { readonly [key: string]: unknown }
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    const message = `${path}.${printed(unknown)} is not allowed in a query of a text field`
    throw new EngineError('invalid_argument', message, { field: `${path}.${unknown}` })
  }
  const search = {
    must: parser.parts(must, 'and', `${path}.must`),
    should: parser.parts(should, 'or', `${path}.should`),
    // Named as the caller named it.
    mustNot: parser.parts(mustNot ?? snake, 'or', `${path}.${mustNot === undefined ? 'must_not' : 'mustNot'}`),
  }
  if (search.must.length + search.should.length === 0) {
    const message = `${path} must have a clause in must or should, because the others only exclude`
    throw new EngineError('invalid_argument', message, { field: path })
  }
  const conditional = search.should.filter(isConditional).length
  if (conditional > conditionalClausesMax) {
    const message = `${path}.should has ${conditional} clauses that need several words, at most ${conditionalClausesMax} are allowed`
    throw new EngineError('limit_exceeded', message, {
      field: `${path}.should`,
      value: conditional,
      limit: conditionalClausesMax,
    })
  }
  return search
}

/** Whether a clause of `should` counts only in texts with all of several words. */
export function isConditional(part: TextPart): boolean {
  if (part.kind === 'phrase') return part.words.length > 1
  return part.kind === 'words' && part.operator === 'and' && part.terms.length > 1
}

class TextQueryParser {
  readonly #analyzer: Analyzer
  #clauses = 0
  #bytes = 0
  #terms = 0

  constructor(analyzer: Analyzer) {
    this.#analyzer = analyzer
  }

  parts(clauses: unknown, operator: TextOperator, path: string): TextPart[] {
    if (clauses === undefined || clauses === null) return []
    if (!Array.isArray(clauses)) {
      const message = `${path} must be an array of clauses, got ${printed(clauses)}`
      throw new EngineError('invalid_argument', message, { field: path, value: shownValue(clauses) })
    }
    this.#clauses += clauses.length
    if (this.#clauses > textClausesMax) {
      const message = `the query has ${this.#clauses} clauses up to ${path}, at most ${textClausesMax} are allowed`
      throw new EngineError('limit_exceeded', message, { field: path, value: this.#clauses, limit: textClausesMax })
    }
    return clauses.flatMap((clause, i) => splitBigrams(this.#part(clause, operator, `${path}[${i}]`)))
  }

  /** The words of a query that is a text. */
  words(query: string, operator: TextOperator, path: string): TextPart[] {
    return splitBigrams(this.#words(this.#text(query, path), operator, 1, path))
  }

  #part(clause: unknown, operator: TextOperator, path: string): TextPart {
    if (typeof clause === 'string') return this.#words(this.#text(clause, path), operator, 1, path)
    checkObject(clause, path)
    const input = clause as { readonly [key: string]: unknown }
    const kinds = clauseKinds.filter((kind) => input[kind] !== undefined)
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1) {
      const message = `${path} must have one of ${clauseKinds.join(', ')}, got ${printed(kinds.join(' and ') || clause)}`
      throw new EngineError('invalid_argument', message, { field: path, limit: [...clauseKinds] })
    }
    const strange = Object.keys(input).find((key) => key !== kind && key !== 'boost' && key !== optionOf[kind])
    if (strange !== undefined) {
      const message = `${path}.${printed(strange)} is not an option of ${kind}`
      throw new EngineError('invalid_argument', message, { field: `${path}.${strange}` })
    }
    const boost = finiteNumber(input.boost ?? 1, `${path}.boost`, 0, boostMax)
    const text = this.#text(input[kind], `${path}.${kind}`)
    switch (kind) {
      case 'words':
        return this.#words(text, parseOperator(input.operator ?? operator, `${path}.operator`), boost, path)
      case 'phrase': {
        const slop = wholeNumber(input.slop ?? 0, `${path}.slop`, 0, slopMax)
        return { kind, words: this.#phraseWords(text, path), slop, boost }
      }
      case 'prefix': {
        const prefix = this.#analyzer.fold(text.trim())
        if (prefix !== '') return { kind, prefix, boost }
        throw new EngineError('invalid_argument', `${path}.prefix must have a letter or a digit`, {
          field: `${path}.prefix`,
          value: shownValue(text),
        })
      }
      case 'fuzzy':
        return this.#fuzzy(text, input.edits, boost, path)
    }
  }

  #text(value: unknown, path: string): string {
    if (typeof value !== 'string') {
      const message = `${path} must be a text, got ${printed(value)}`
      throw new EngineError('invalid_argument', message, { field: path, value: shownValue(value) })
    }
    this.#bytes += Buffer.byteLength(value)
    if (this.#bytes > textQueryBytesMax) {
      const message = `the query has more than ${textQueryBytesMax} bytes up to ${path}`
      throw new EngineError('limit_exceeded', message, { field: path, value: this.#bytes, limit: textQueryBytesMax })
    }
    if (value.isWellFormed()) return value
    const message = `${path} is not well-formed: it has half of a surrogate pair`
    throw new EngineError('invalid_argument', message, { field: path })
  }

  #words(text: string, operator: TextOperator, boost: number, path: string): TextPart {
    const terms = distinctTerms(this.#analyzer.queryTokens(text))
    this.#countTerms(terms.length, path)
    return { kind: 'words', terms, operator, boost }
  }

  #phraseWords(text: string, path: string): readonly PhraseWord[] {
    const tokens = this.#analyzer.queryTokens(text)
    if (tokens.length > phraseWordsMax) {
      const message = `${path}.phrase has ${tokens.length} words, at most ${phraseWordsMax} are allowed`
      throw new EngineError('limit_exceeded', message, {
        field: `${path}.phrase`,
        value: tokens.length,
        limit: phraseWordsMax,
      })
    }
    this.#countTerms(tokens.length, path)
    const first = tokens[0]?.position ?? 0
    return tokens.map(({ term, position }) => ({ term, offset: position - first }))
  }

  #fuzzy(text: string, given: unknown, boost: number, path: string): TextPart {
    const tokens = this.#analyzer.queryTokens(text)
    const [token] = tokens
    if (token === undefined || tokens.length > 1) {
      const message = `${path}.fuzzy must be one word that is not a stop word, got ${printed(text)}`
      throw new EngineError('invalid_argument', message, { field: `${path}.fuzzy`, value: shownValue(text) })
    }
    this.#countTerms(1, path)
    const { term } = token
    const letters = [...term].length
    const byLength = letters < 3 ? 0 : letters < 6 ? 1 : editsMax
    const edits = wholeNumber(given ?? byLength, `${path}.edits`, 0, editsMax)
    return { kind: 'fuzzy', term, edits, boost }
  }

  #countTerms(terms: number, path: string): void {
    this.#terms += terms
    if (this.#terms <= textQueryTermsMax) return
    const message = `the query has ${this.#terms} terms up to ${path}, at most ${textQueryTermsMax} are allowed`
    throw new EngineError('limit_exceeded', message, { field: path, value: this.#terms, limit: textQueryTermsMax })
  }
}

/** Words that are compared one by one: a map of so few takes longer. */
const comparedWordsMax = 8

function distinctTerms(tokens: readonly Token[]): { readonly term: string; readonly times: number }[] {
  if (tokens.length <= comparedWordsMax && tokens.every(({ term }, i) => isFirst(tokens, term, i)))
    return tokens.map(({ term }) => ({ term, times: 1 }))
  const times = new Map<string, number>()
  for (const { term } of tokens) times.set(term, (times.get(term) ?? 0) + 1)
  return Array.from(times, ([term, count]) => ({ term, times: count }))
}

function isFirst(tokens: readonly Token[], term: string, place: number): boolean {
  for (let i = 0; i < place; i++) if (tokens[i]?.term === term) return false
  return true
}

/**
 * A character of a script that is indexed as bigrams stands for all pairs that begin with it. In words of which any is enough, and in those that
 * all are needed, it becomes a clause of its own.
 */
function splitBigrams(part: TextPart): TextPart[] {
  if (part.kind !== 'words') return [part]
  if (!part.terms.some(({ term }) => isSearchedByPrefix(term))) return [part]
  const single = part.terms.filter(({ term }) => isSearchedByPrefix(term))
  const terms = part.terms.filter((one) => !single.includes(one))
  const others = terms.length > 0 ? [{ ...part, terms }] : []
  return [...others, ...single.map(({ term }) => ({ kind: 'prefix' as const, prefix: term, boost: part.boost }))]
}

const clauseKinds = ['words', 'phrase', 'prefix', 'fuzzy'] as const
const optionOf = { words: 'operator', phrase: 'slop', prefix: undefined, fuzzy: 'edits' } as const

function parseOperator(value: unknown, field: string): TextOperator {
  const found = textOperators.find((operator) => operator === value)
  if (found !== undefined) return found
  const message = `${field} must be one of ${textOperators.join(', ')}, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value), limit: [...textOperators] })
}
