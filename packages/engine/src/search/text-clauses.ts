// Finds the clauses of a text query in the index of a field: terms, which the inverted lists score, and sets of rows for what the lists cannot
// answer. Prefixes and misspelled words become the terms of the index that they match.
import { assert } from '../errors.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import { PhraseMatcher } from '../text/phrase.ts'
import type { ClauseTerm } from './expand-terms.ts'
import { missingVectorError, type RunContext } from './field-run.ts'
import type { TextTask } from './request.ts'
import { isConditional, type TextPart } from './text-query.ts'
import type { TextRows } from './text-rows.ts'

/** A phrase whose words are all in the index. */
export interface Phrase {
  readonly matcher: PhraseMatcher
  readonly terms: readonly ClauseTerm[]
}

/** A clause of `should` that counts only in some rows. */
export interface ConditionalClause {
  readonly terms: readonly ClauseTerm[]
  /** Undefined: it counts in rows with all of the terms. */
  readonly phrase: Phrase | undefined
}

/** How a term counts in a search. */
interface ScoredTerm {
  readonly boost: number
  readonly rows: number
  readonly isRequired: boolean
}

/** By the number of the term in the index. */
export type ScoredTerms = ReadonlyMap<number, ScoredTerm>

/** A query in the terms of the index, ready for the inverted lists. */
export interface TextClauses {
  readonly terms: ScoredTerms
  /** Sets of rows; a hit is in all of them. */
  readonly required: readonly Bitmap[]
  /** Sets of rows; a hit is in none of them. */
  readonly excluded: readonly Bitmap[]
  readonly phrases: readonly Phrase[]
  readonly excludedPhrases: readonly Phrase[]
  readonly conditional: readonly ConditionalClause[]
}

export class ClauseResolver {
  /** Number of texts that have a term, for each term that was found. */
  readonly found = new Map<string, number>()
  readonly #task: TextTask
  readonly #context: RunContext
  readonly #rows: TextRows
  readonly #terms = new Map<number, ScoredTerm>()
  readonly #required: Bitmap[] = []
  readonly #excluded: Bitmap[] = []
  readonly #phrases: Phrase[] = []
  readonly #excludedPhrases: Phrase[] = []
  readonly #conditional: ConditionalClause[] = []

  constructor(task: TextTask, context: RunContext, rows: TextRows) {
    this.#task = task
    this.#context = context
    this.#rows = rows
  }

  /** Call it once. Undefined: nothing can match. Throws invalid_argument if the query is a stored object without a text in the field. */
  resolve(): TextClauses | undefined {
    const { source } = this.#task
    if (source.kind === 'stored') this.#addStored(source.id)
    else {
      const { must, should, mustNot } = source.query
      for (const part of must) if (!this.#addMust(part)) return undefined
      for (const part of mustNot) this.#addMustNot(part)
      for (const part of should) this.#addShould(part)
    }
    return {
      terms: this.#terms,
      required: this.#required,
      excluded: this.#excluded,
      phrases: this.#phrases,
      excludedPhrases: this.#excludedPhrases,
      conditional: this.#conditional,
    }
  }

  #addStored(id: string): void {
    const { replica } = this.#context
    const terms = replica.objects.sparse(replica.findStored(id)).find(({ field }) => field === this.#task.fieldIndex)
    if (terms === undefined) throw missingVectorError(this.#task)
    const { field, version } = this.#rows
    for (const index of terms.indices)
      this.#terms.set(index, { boost: 1, rows: field.rowsHaving(index, version), isRequired: false })
  }

  /** False: nothing can match. A clause that has only stop words has no terms and is ignored. */
  #addMust(part: TextPart): boolean {
    if (part.kind === 'phrase') {
      if (part.words.length === 0) return true
      const phrase = this.#phraseOf(part)
      if (phrase === undefined) return false
      for (const term of phrase.terms) addTerm(this.#terms, term, true)
      if (part.words.length > 1) this.#phrases.push(phrase)
      return true
    }
    if (part.kind === 'words' && part.terms.length === 0) return true
    const terms = this.#termsOf(part)
    if (part.kind === 'words' && part.operator === 'and') {
      if (terms.length < part.terms.length) return false
      for (const term of terms) addTerm(this.#terms, term, true)
      return true
    }
    const [only] = terms
    if (only === undefined) return false
    if (terms.length === 1) addTerm(this.#terms, only, true)
    else {
      for (const term of terms) addTerm(this.#terms, term, false)
      this.#required.push(this.#rows.withAny(terms))
    }
    return true
  }

  #addMustNot(part: TextPart): void {
    if (part.kind === 'phrase' && part.words.length > 1) {
      const phrase = this.#phraseOf(part)
      if (phrase !== undefined) this.#excludedPhrases.push(phrase)
      return
    }
    const terms = this.#termsOf(part)
    const isWhole = part.kind !== 'words' || part.operator === 'or' || terms.length === part.terms.length
    if (terms.length === 0 || !isWhole) return
    const isAnd = part.kind === 'words' && part.operator === 'and'
    this.#excluded.push(isAnd ? this.#rows.withAll(terms) : this.#rows.withAny(terms))
  }

  #addShould(part: TextPart): void {
    if (!isConditional(part)) {
      for (const term of this.#termsOf(part)) addTerm(this.#terms, term, false)
      return
    }
    if (part.kind === 'phrase') {
      const phrase = this.#phraseOf(part)
      if (phrase !== undefined) this.#conditional.push({ phrase, terms: phrase.terms })
      return
    }
    const terms = this.#termsOf(part)
    if (part.kind === 'words' && terms.length === part.terms.length)
      this.#conditional.push({ phrase: undefined, terms })
  }

  /** The terms of the index that a clause matches. */
  #termsOf(part: TextPart): readonly ClauseTerm[] {
    switch (part.kind) {
      case 'words':
        return part.terms.flatMap(({ term, times }) => this.#termOf(term, part.boost * times))
      case 'phrase':
        return part.words.flatMap(({ term }) => this.#termOf(term, part.boost))
      case 'prefix':
      case 'fuzzy':
        return this.#expanded(part)
    }
  }

  #termOf(term: string, boost: number): readonly ClauseTerm[] {
    const index = this.#context.replica.terms.find(this.#task.fieldIndex, term)
    const rows = index < 0 ? 0 : this.#rows.field.rowsHaving(index, this.#rows.version)
    if (rows === 0) return []
    this.found.set(term, rows)
    return [{ index, term, boost, rows }]
  }

  #expanded(part: TextPart): readonly ClauseTerm[] {
    const expansion = this.#context.expansions?.get(part)
    assert(expansion !== undefined, 'clauses are expanded before a version is pinned')
    const terms = expansion.termsAt(this.#rows.version)
    for (const { term, rows } of terms) this.found.set(term, rows)
    return terms
  }

  /** Undefined: a word is in no text. */
  #phraseOf({ words, slop, boost }: Extract<TextPart, { kind: 'phrase' }>): Phrase | undefined {
    const terms = new Map<string, ClauseTerm>()
    for (const { term } of words) {
      const [found] = this.#termOf(term, boost)
      if (found === undefined) return undefined
      const known = terms.get(term)
      terms.set(term, known ? { ...known, boost: known.boost + boost } : found)
    }
    return { matcher: new PhraseMatcher(words, slop), terms: [...terms.values()] }
  }
}

/** Adds a term to those that are scored. If it is there, its boosts add up. */
export function addTerm(terms: Map<number, ScoredTerm>, { index, boost, rows }: ClauseTerm, isRequired: boolean): void {
  const known = terms.get(index)
  terms.set(index, {
    rows,
    boost: (known?.boost ?? 0) + boost,
    isRequired: isRequired || known?.isRequired === true,
  })
}
