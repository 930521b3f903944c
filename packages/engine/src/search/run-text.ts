// Runs a search of a text field. The inverted lists score the terms; clauses that they do not know become sets of rows that may be found:
// beginnings and misspelled words with the terms that they stand for, phrases with the texts that have them.
import { TimeSlice } from '@annal/wal'
import { assert } from '../errors.ts'
import { Bitmap } from '../memory/bitmap.ts'
import type { FieldExplanation } from '../model/query.ts'
import type { TextSchemaParams } from '../model/schema.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { analyzerOf } from '../text/analyzers.ts'
import { PhraseMatcher } from '../text/phrase.ts'
import {
  type DenseHits,
  type FieldTotals,
  noHits,
  type SparseField,
  type TextQuery,
  type TextQueryTerm,
} from '../vector/field.ts'
import { type Expansions, expandingParts, expandTerms } from './expand-terms.ts'
import { type FieldRun, missingVectorError, type RunContext } from './field-run.ts'
import { type PlainTerm, plainTerms } from './plain-terms.ts'
import type { Task, TextTask } from './request.ts'
import { isConditional, type TextPart } from './text-query.ts'

/** Hits in whose texts phrases are looked for, at most; then every text with the words is looked through first. */
const lookedThroughMax = 16_384
/** Kept tokens that are looked through between two looks at the clock; a text counts as some, whatever its length is. */
const clockTokens = 2_048
const textTokens = 32
/** Terms of a query that explain lists. */
const explainedMax = 32

/** A term of the index that a clause stands for. */
interface Term {
  readonly index: number
  readonly term: string
  readonly boost: number
  /** Number of texts that have it. */
  readonly rows: number
}

/** A phrase whose words all are in the index. */
interface Phrase {
  readonly matcher: PhraseMatcher
  readonly terms: readonly Term[]
}

/** A clause of `should` that counts only in some rows. */
interface Conditional {
  readonly terms: readonly Term[]
  /** Undefined: it counts in rows with all of the terms. */
  readonly phrase: Phrase | undefined
}

interface ScoredTerm {
  readonly boost: number
  readonly rows: number
  readonly isRequired: boolean
}

/** The search of the lists that a query becomes. */
interface Search {
  /** By the number of the term. */
  readonly terms: Map<number, ScoredTerm>
  /** Sets of rows of which every hit is in each. */
  readonly required: Bitmap[]
  /** Rows that are no hits. */
  readonly excluded: Bitmap[]
  readonly phrases: Phrase[]
  readonly excludedPhrases: Phrase[]
  readonly conditional: Conditional[]
}

/** A run, and the terms that hits are highlighted by. */
export interface TextRun extends FieldRun {
  readonly matched: ReadonlySet<string>
}

const exact = { plan: 'lists', reason: 'inverted lists are exact' } as const
/** Nobody reads why. */
const nothing: FieldRun = {
  found: noHits,
  complete: true,
  explanation: { plan: 'nothing', reason: 'no text has a word that every hit must have' },
}

/** Throws invalid_argument if the query is a stored object without a text in the field. */
export function runText(task: TextTask, k: number, context: RunContext): Promise<FieldRun> {
  const { source, options } = task
  const isBare = !context.input.explain && !options.highlight
  const terms = isBare && source.kind === 'vector' ? plainTerms(source.query) : undefined
  return terms ? runPlain(terms, task, k, context) : new TextSearchRun(task, k, context).run()
}

/** Most queries are only terms. The lists count their rows as of the version, in the turn that pinned it. */
async function runPlain(
  terms: ReadonlyMap<string, PlainTerm>,
  task: TextTask,
  k: number,
  { replica, version, matches }: RunContext,
): Promise<FieldRun> {
  const query = plainQuery(terms, task, replica)
  if (query === undefined || matches?.count === 0) return nothing
  const search = matches ? { k, version, allowed: matches.bitmap } : { k, version }
  const found = await (replica.sparse[task.fieldIndex] as SparseField).search(query, search)
  return { found, complete: true, explanation: exact }
}

/** The query of the lists for terms. Undefined: no text matches. */
export function plainQuery(
  wanted: ReadonlyMap<string, PlainTerm>,
  { fieldIndex, options }: TextTask,
  replica: ReadableReplica,
): TextQuery | undefined {
  const terms: TextQueryTerm[] = []
  for (const [term, { boost, isRequired }] of wanted) {
    const index = replica.terms.find(fieldIndex, term)
    if (index >= 0) terms.push({ index, boost, isRequired })
    else if (isRequired) return undefined
  }
  return terms.length === 0 ? undefined : { terms, k1: options.k1, b: options.b }
}

/** A condition on the texts of a field, of which the terms are known. */
export interface TextCondition {
  /** The rows of `within` that match, or the first `most` of them, by ordinal. */
  rows(within: Bitmap, most: number): Promise<Bitmap>
}

/** Finds the terms of a condition, in the turn that pinned the version. `within` has the rows that the filter matches. */
export function textCondition(task: TextTask, context: RunContext): TextCondition {
  const run = new TextSearchRun(task, Number.POSITIVE_INFINITY, context)
  return run.condition()
}

/** What searches of texts need before a version is pinned; they must begin in the turn in which it is there. Undefined: nothing. */
export function prepareTexts(
  inputs: readonly { readonly tasks: readonly Task[] }[],
  replica: ReadableReplica,
): Promise<Expansions> | undefined {
  // Most searches have no text field.
  if (!inputs.some(({ tasks }) => tasks.some(({ kind }) => kind === 'text'))) return undefined
  const expanding = inputs
    .flatMap(({ tasks }) => tasks)
    .filter((task): task is TextTask => task.kind === 'text' && expandingParts(task).length > 0)
  return expanding.length === 0 ? undefined : expandTerms(expanding, replica)
}

class TextSearchRun {
  readonly #task: TextTask
  readonly #k: number
  readonly #context: RunContext
  readonly #field: SparseField
  readonly #params: TextSchemaParams
  readonly #explained = new Map<string, number>()
  readonly #slice = new TimeSlice()
  #totals: FieldTotals = { rows: 0, length: 0 }
  /** Tokens that were looked through since the clock was read. */
  #looked = 0

  constructor(task: TextTask, k: number, context: RunContext) {
    this.#task = task
    this.#k = k
    this.#context = context
    this.#field = context.replica.sparse[task.fieldIndex] as SparseField
    this.#params = task.definition.params
  }

  async run(): Promise<TextRun> {
    const { matches } = this.#context
    if (matches?.count === 0) return this.#answer(noHits, { plan: 'nothing', reason: 'no object matches the filter' })
    // In the turn that pinned the version, because the lists count rows as of the newest versions only.
    this.#totals = this.#field.totals(this.#context.version)
    const search = this.#resolve()
    if (search === undefined)
      return this.#answer(noHits, { plan: 'nothing', reason: 'no text has a word that every hit must have' })
    const found = await this.#search(search)
    return this.#answer(await this.#withUnscored(search, found), exact)
  }

  /** Texts that match clauses of boost 0 only have no score, so the lists do not return them. They follow the others. */
  async #withUnscored(search: Search, found: DenseHits): Promise<DenseHits> {
    const { terms, conditional } = search
    const optional = [...terms.values()].filter(({ isRequired }) => !isRequired)
    const boosts = [...optional, ...conditional.flatMap((one) => one.terms)]
    if (found.ordinals.length >= this.#k || !boosts.some(({ boost }) => boost === 0)) return found
    const within = this.#context.matches?.bitmap ?? new Bitmap().not(this.#field.end)
    const rows = await this.#rowsMatching(search, within, this.#k + found.ordinals.length)
    for (const ordinal of found.ordinals) rows.clear(ordinal)
    const added = rows.toOrdinals().subarray(0, this.#k - found.ordinals.length)
    return {
      ...found,
      ordinals: Uint32Array.from([...found.ordinals, ...added]),
      similarities: Float32Array.from([...found.similarities, ...new Float32Array(added.length)]),
    }
  }

  condition(): TextCondition {
    const search = this.#resolve()
    return { rows: async (within, most) => (search ? this.#rowsMatching(search, within, most) : new Bitmap()) }
  }

  /** What a search would find, whatever the scores are. */
  async #rowsMatching(search: Search, within: Bitmap, most: number): Promise<Bitmap> {
    const rows = within.clone()
    const required = [...search.terms].filter(([, term]) => term.isRequired)
    for (const [index] of required) rows.and(this.#rowsOf([{ index }]))
    for (const one of search.required) rows.and(one)
    for (const one of search.excluded) rows.andNot(one)
    if (required.length + search.required.length === 0) rows.and(await this.#rowsWithAny(search, rows))
    if (search.phrases.length + search.excludedPhrases.length === 0) return rows
    const found = new Bitmap(this.#field.end)
    let count = 0
    for (const ordinal of rows.toOrdinals()) {
      if (count === most) break
      if (this.#hasPhrases(ordinal, search) && found.set(ordinal)) count++
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return found
  }

  /** Rows with one of the terms of which any is enough, or in which a clause of several words counts. */
  async #rowsWithAny({ terms, conditional }: Search, allowed: Bitmap): Promise<Bitmap> {
    const rows = this.#rowsOf(Array.from(terms.keys(), (index) => ({ index })))
    for (const one of await this.#countingRows(conditional, allowed)) rows.or(one)
    return rows
  }

  #answer(found: DenseHits, explanation: Pick<FieldExplanation, 'plan' | 'reason'>): TextRun {
    const terms = [...this.#explained].slice(0, explainedMax).map(([term, rows]) => ({ term, rows }))
    return { found, complete: true, explanation: { ...explanation, terms }, matched: new Set(this.#explained.keys()) }
  }

  /** Undefined: nothing can match. */
  #resolve(): Search | undefined {
    const search: Search = {
      terms: new Map(),
      required: [],
      excluded: [],
      phrases: [],
      excludedPhrases: [],
      conditional: [],
    }
    const { source } = this.#task
    if (source.kind === 'stored') {
      this.#addStored(search, source.id)
      return search
    }
    const { must, should, mustNot } = source.query
    for (const part of must) if (!this.#addMust(search, part)) return undefined
    for (const part of mustNot) this.#addMustNot(search, part)
    for (const part of should) this.#addShould(search, part)
    return search
  }

  #addStored(search: Search, id: string): void {
    const { replica } = this.#context
    const terms = replica.objects.sparse(replica.findStored(id)).find(({ field }) => field === this.#task.fieldIndex)
    if (terms === undefined) throw missingVectorError(this.#task)
    for (const index of terms.indices) {
      const rows = this.#field.rowsHaving(index, this.#context.version)
      search.terms.set(index, { boost: 1, rows, isRequired: false })
    }
  }

  /** False: nothing can match. A clause without terms, of stop words only, says nothing. */
  #addMust(search: Search, part: TextPart): boolean {
    if (part.kind === 'phrase') {
      if (part.words.length === 0) return true
      const phrase = this.#phraseOf(part)
      if (phrase === undefined) return false
      for (const term of phrase.terms) add(search.terms, term, true)
      if (part.words.length > 1) search.phrases.push(phrase)
      return true
    }
    if (part.kind === 'words' && part.terms.length === 0) return true
    const terms = this.#termsOf(part)
    if (part.kind === 'words' && part.operator === 'and') {
      if (terms.length < part.terms.length) return false
      for (const term of terms) add(search.terms, term, true)
      return true
    }
    const [only] = terms
    if (only === undefined) return false
    if (terms.length === 1) add(search.terms, only, true)
    else {
      for (const term of terms) add(search.terms, term, false)
      search.required.push(this.#rowsOf(terms))
    }
    return true
  }

  #addMustNot(search: Search, part: TextPart): void {
    if (part.kind === 'phrase' && part.words.length > 1) {
      const phrase = this.#phraseOf(part)
      if (phrase !== undefined) search.excludedPhrases.push(phrase)
      return
    }
    const terms = this.#termsOf(part)
    const isWhole = part.kind !== 'words' || part.operator === 'or' || terms.length === part.terms.length
    if (terms.length === 0 || !isWhole) return
    const isAnd = part.kind === 'words' && part.operator === 'and'
    search.excluded.push(isAnd ? this.#rowsWithAll(terms) : this.#rowsOf(terms))
  }

  #addShould(search: Search, part: TextPart): void {
    if (!isConditional(part)) {
      for (const term of this.#termsOf(part)) add(search.terms, term, false)
      return
    }
    if (part.kind === 'phrase') {
      const phrase = this.#phraseOf(part)
      if (phrase !== undefined) search.conditional.push({ phrase, terms: phrase.terms })
      return
    }
    const terms = this.#termsOf(part)
    if (part.kind === 'words' && terms.length === part.terms.length)
      search.conditional.push({ phrase: undefined, terms })
  }

  /** The terms of the index that a clause stands for. */
  #termsOf(part: TextPart): readonly Term[] {
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

  #termOf(term: string, boost: number): readonly Term[] {
    const index = this.#context.replica.terms.find(this.#task.fieldIndex, term)
    const rows = index < 0 ? 0 : this.#field.rowsHaving(index, this.#context.version)
    if (rows === 0) return []
    this.#explained.set(term, rows)
    return [{ index, term, boost, rows }]
  }

  #expanded(part: TextPart): readonly Term[] {
    const expansion = this.#context.expansions?.get(part)
    assert(expansion !== undefined, 'clauses are expanded before a version is pinned')
    const terms = expansion.termsAt(this.#context.version)
    for (const { term, rows } of terms) this.#explained.set(term, rows)
    return terms
  }

  /** Undefined: a word is in no text. */
  #phraseOf({ words, slop, boost }: Extract<TextPart, { kind: 'phrase' }>): Phrase | undefined {
    const terms = new Map<string, Term>()
    for (const { term } of words) {
      const [found] = this.#termOf(term, boost)
      if (found === undefined) return undefined
      const known = terms.get(term)
      terms.set(term, known ? { ...known, boost: known.boost + boost } : found)
    }
    return { matcher: new PhraseMatcher(words, slop), terms: [...terms.values()] }
  }

  #rowsOf(terms: readonly Pick<Term, 'index'>[]): Bitmap {
    const words = this.#emptyWords()
    for (const { index } of terms) this.#field.markRows(index, this.#context.version, words)
    return Bitmap.over(words, 0).recount()
  }

  #rowsWithAll(terms: readonly Term[]): Bitmap {
    const [first, ...others] = terms.map((term) => this.#rowsOf([term]))
    return others.reduce((all, rows) => all.and(rows), first ?? new Bitmap())
  }

  #emptyWords(): Uint32Array<SharedArrayBuffer> {
    return new Uint32Array(new SharedArrayBuffer(Math.ceil(this.#field.end / 32) * 4))
  }

  /** The rows that may be hits as far as sets of rows say; undefined for all. */
  #allowed({ required, excluded }: Search): Bitmap | undefined {
    const { matches } = this.#context
    if (required.length + excluded.length === 0) return matches?.bitmap
    const [first, ...others] = required
    const start = first?.clone() ?? matches?.bitmap.clone() ?? new Bitmap().not(this.#field.end)
    if (first && matches) start.and(matches.bitmap)
    for (const rows of others) start.and(rows)
    for (const rows of excluded) start.andNot(rows)
    return start
  }

  /** For each clause, the rows in which it counts. */
  async #countingRows(conditional: Search['conditional'], allowed: Bitmap | undefined): Promise<readonly Bitmap[]> {
    const counting = conditional.map(({ terms }) => {
      const rows = this.#rowsWithAll(terms)
      return allowed ? rows.and(allowed) : rows
    })
    const phrases = conditional.flatMap(({ phrase }, i) => (phrase ? [{ phrase, rows: counting[i] as Bitmap }] : []))
    const all = phrases.reduce((union, { rows }) => union.or(rows), new Bitmap(this.#field.end))
    for (const ordinal of all.toOrdinals()) {
      for (const { phrase, rows } of phrases)
        if (rows.has(ordinal) && !this.#hasPhrase(ordinal, phrase)) rows.clear(ordinal)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return counting
  }

  /**
   * Clauses that count only in some rows split the rows by which of these clauses they have. For each part that has rows there is a search of its
   * own, and the best hits of all are the answer.
   */
  async #search(search: Search): Promise<DenseHits> {
    const allowed = this.#allowed(search)
    if (search.conditional.length === 0) return this.#best(search, search.terms, allowed)
    const countingRows = await this.#countingRows(search.conditional, allowed)
    const answers: DenseHits[] = []
    const searchPart = async (rows: Bitmap, terms: Search['terms'], next: number): Promise<void> => {
      await this.#slice.renewIfOver()
      if (rows.count === 0) return
      const conditional = search.conditional[next]
      if (conditional === undefined) {
        if (terms.size > 0) answers.push(await this.#best(search, terms, rows))
        return
      }
      const counting = countingRows[next] as Bitmap
      const more = new Map(terms)
      for (const term of conditional.terms) add(more, term, false)
      await searchPart(rows.clone().and(counting), more, next + 1)
      await searchPart(rows.andNot(counting), terms, next + 1)
    }
    await searchPart(allowed?.clone() ?? new Bitmap().not(this.#field.end), search.terms, 0)
    return mergeHits(answers, this.#k)
  }

  /** The best hits by these terms, without those whose texts do not have the phrases. */
  async #best(search: Search, terms: Search['terms'], allowed: Bitmap | undefined): Promise<DenseHits> {
    const { phrases, excludedPhrases } = search
    if (terms.size === 0) return noHits
    if (phrases.length + excludedPhrases.length === 0) return this.#find(terms, allowed, this.#k)
    for (let k = this.#k * 2; k <= lookedThroughMax; ) {
      const found = await this.#find(terms, allowed, k)
      const kept = await this.#withPhrases(found, search)
      if (kept.ordinals.length >= this.#k || found.ordinals.length < k) return firstHits(kept, this.#k)
      // As many as should be enough, if the next ones have the phrases as often.
      const share = Math.max(kept.ordinals.length, 1) / k
      k = Math.max(k * 4, Math.ceil((1.5 * this.#k) / share))
    }
    return this.#find(terms, await this.#allWithPhrases(search, terms, allowed), this.#k)
  }

  async #withPhrases(found: DenseHits, search: Search): Promise<DenseHits> {
    const kept: number[] = []
    for (let i = 0; i < found.ordinals.length; i++) {
      if (this.#hasPhrases(found.ordinals[i] as number, search)) kept.push(i)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return {
      ...found,
      ordinals: Uint32Array.from(kept, (i) => found.ordinals[i] as number),
      similarities: Float32Array.from(kept, (i) => found.similarities[i] as number),
    }
  }

  async #allWithPhrases(search: Search, terms: Search['terms'], allowed: Bitmap | undefined): Promise<Bitmap> {
    const having = Array.from(terms, ([index, { rows }]) => ({ index, term: '', boost: 1, rows }))
    const must = search.phrases.flatMap((phrase) => phrase.terms)
    const rows = must.length > 0 ? this.#rowsWithAll(must) : this.#rowsOf(having)
    if (allowed) rows.and(allowed)
    for (const ordinal of rows.toOrdinals()) {
      if (!this.#hasPhrases(ordinal, search)) rows.clear(ordinal)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return rows
  }

  /** Whether to read the clock, which takes as long as to look into a text of which the tokens are kept. */
  get #isDue(): boolean {
    if (this.#looked < clockTokens) return false
    this.#looked = 0
    return true
  }

  #hasPhrases(ordinal: number, { phrases, excludedPhrases }: Search): boolean {
    return (
      phrases.every((phrase) => this.#hasPhrase(ordinal, phrase)) &&
      !excludedPhrases.some((phrase) => this.#hasPhrase(ordinal, phrase))
    )
  }

  #hasPhrase(ordinal: number, { matcher, terms }: Phrase): boolean {
    const { fieldIndex } = this.#task
    const { objects } = this.#context.replica
    const kept = objects.keptTokens(ordinal, fieldIndex)
    this.#looked += kept === undefined ? clockTokens : textTokens + kept.end - kept.start
    if (kept) return matcher.isIn(kept)
    const entry = objects.sparse(ordinal).find(({ field }) => field === fieldIndex)
    if (entry?.text === undefined) return false
    // Without analyzing the text.
    if (!terms.every(({ index }) => entry.indices.includes(index))) return false
    return matcher.isIn(objects.tokensOf(ordinal, fieldIndex, analyzerOf(this.#params), entry.text))
  }

  #find(terms: Search['terms'], allowed: Bitmap | undefined, k: number): Promise<DenseHits> {
    const { version } = this.#context
    const { k1, b } = this.#task.options
    const query = {
      terms: Array.from(terms, ([index, term]) => ({ index, ...term })),
      totals: this.#totals,
      k1,
      b,
    }
    return this.#field.search(query, { k, version, ...(allowed && { allowed }) })
  }
}

function add(terms: Search['terms'], { index, boost, rows }: Term, isRequired: boolean): void {
  const known = terms.get(index)
  terms.set(index, {
    rows,
    boost: (known?.boost ?? 0) + boost,
    isRequired: isRequired || known?.isRequired === true,
  })
}

function firstHits(found: DenseHits, k: number): DenseHits {
  if (found.ordinals.length <= k) return found
  return { ...found, ordinals: found.ordinals.slice(0, k), similarities: found.similarities.slice(0, k) }
}

/** The best hits of lists that have no row in common; ties by ordinal. */
function mergeHits(answers: readonly DenseHits[], k: number): DenseHits {
  const all = answers.flatMap(({ ordinals, similarities }) =>
    Array.from(ordinals, (ordinal, i) => ({ ordinal, similarity: similarities[i] as number })),
  )
  const best = all.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal).slice(0, k)
  return {
    ordinals: Uint32Array.from(best, ({ ordinal }) => ordinal),
    similarities: Float32Array.from(best, ({ similarity }) => similarity),
    visited: answers.reduce((sum, { visited }) => sum + visited, 0),
    distances: answers.reduce((sum, { distances }) => sum + distances, 0),
  }
}
