// Runs a search of a text field. The inverted lists score the terms. Clauses that lists cannot answer are replaced first: prefix and fuzzy
// clauses by the terms that they match, phrases by the set of rows whose texts have them. Some phrases are looked for in the texts of the hits.
import { TimeSlice } from '@annal/wal'
import { Bitmap } from '../memory/bitmap.ts'
import type { FieldExplanation } from '../model/search-result.ts'
import { type DenseHits, type FieldTotals, noHits, type SparseField } from '../vector/field.ts'
import type { FieldRun, RunContext } from './field-run.ts'
import { type PlainTerm, plainQuery, plainTerms } from './plain-terms.ts'
import type { TextTask } from './request.ts'
import { addTerm, ClauseResolver, type ScoredTerms, type TextClauses } from './text-clauses.ts'
import { PhraseSearch } from './text-phrases.ts'
import { TextRows } from './text-rows.ts'

/** Hits in whose texts phrases are looked for, at most; then every text with the words is looked through first. */
const lookedThroughMax = 16_384
/** Terms of a query that explain lists. */
const explainedMax = 32

const exact = { plan: 'lists', reason: 'inverted lists are exact' } as const
const noText = { plan: 'nothing', reason: 'no text has a word that every hit must have' } as const
/** Nobody reads why. */
const nothing: FieldRun = { found: noHits, complete: true, explanation: noText }

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
  { replica, version, matches, room: caller }: RunContext,
): Promise<FieldRun> {
  const query = plainQuery(terms, task, replica)
  if (query === undefined || matches?.count === 0) return nothing
  const search = matches ? { k, version, caller, allowed: matches.bitmap } : { k, version, caller }
  const found = await (replica.sparse[task.fieldIndex] as SparseField).search(query, search)
  return { found, complete: true, explanation: exact }
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

class TextSearchRun {
  readonly #task: TextTask
  readonly #k: number
  readonly #context: RunContext
  readonly #field: SparseField
  readonly #rows: TextRows
  readonly #resolver: ClauseResolver
  readonly #slice = new TimeSlice()
  readonly #phrases: PhraseSearch
  #totals: FieldTotals = { rows: 0, length: 0 }

  constructor(task: TextTask, k: number, context: RunContext) {
    this.#task = task
    this.#k = k
    this.#context = context
    this.#field = context.replica.sparse[task.fieldIndex] as SparseField
    this.#rows = new TextRows(this.#field, context.version)
    this.#resolver = new ClauseResolver(task, context, this.#rows)
    this.#phrases = new PhraseSearch(task, context.replica, this.#slice)
  }

  async run(): Promise<FieldRun> {
    const { matches } = this.#context
    if (matches?.count === 0) return this.#answer(noHits, { plan: 'nothing', reason: 'no object matches the filter' })
    // In the turn that pinned the version, because the lists count rows as of the newest versions only.
    this.#totals = this.#field.totals(this.#context.version)
    const clauses = this.#resolver.resolve()
    if (clauses === undefined) return this.#answer(noHits, noText)
    const found = await this.#search(clauses)
    return this.#answer(await this.#withUnscored(clauses, found), exact)
  }

  condition(): TextCondition {
    const clauses = this.#resolver.resolve()
    return { rows: async (within, most) => (clauses ? this.#rowsMatching(clauses, within, most) : new Bitmap()) }
  }

  #answer(found: DenseHits, explanation: Pick<FieldExplanation, 'plan' | 'reason'>): FieldRun {
    const matched = this.#resolver.found
    const terms = [...matched].slice(0, explainedMax).map(([term, rows]) => ({ term, rows }))
    return { found, complete: true, explanation: { ...explanation, terms }, matched: new Set(matched.keys()) }
  }

  /**
   * Clauses that count only in some rows split the rows by which of these clauses they have. For each part that has rows there is a search of its
   * own, and the best hits of all are the answer.
   */
  async #search(clauses: TextClauses): Promise<DenseHits> {
    const allowed = this.#allowed(clauses)
    if (clauses.conditional.length === 0) return this.#best(clauses, clauses.terms, allowed)
    const countingRows = await this.#countingRows(clauses, allowed)
    const answers: DenseHits[] = []
    const searchPart = async (rows: Bitmap, terms: ScoredTerms, next: number): Promise<void> => {
      await this.#slice.renewIfOver()
      if (rows.count === 0) return
      const conditional = clauses.conditional[next]
      if (conditional === undefined) {
        if (terms.size > 0) answers.push(await this.#best(clauses, terms, rows))
        return
      }
      const counting = countingRows[next] as Bitmap
      const more = new Map(terms)
      for (const term of conditional.terms) addTerm(more, term, false)
      await searchPart(rows.clone().and(counting), more, next + 1)
      await searchPart(rows.andNot(counting), terms, next + 1)
    }
    await searchPart(allowed?.clone() ?? this.#rows.all(), clauses.terms, 0)
    return mergeHits(answers, this.#k)
  }

  /** The rows that the filter and the sets of rows allow; undefined for all. */
  #allowed({ required, excluded }: TextClauses): Bitmap | undefined {
    const { matches } = this.#context
    if (required.length + excluded.length === 0) return matches?.bitmap
    const [first, ...others] = required
    const start = first?.clone() ?? matches?.bitmap.clone() ?? this.#rows.all()
    if (first && matches) start.and(matches.bitmap)
    for (const rows of others) start.and(rows)
    for (const rows of excluded) start.andNot(rows)
    return start
  }

  /** For each conditional clause, the rows in which it counts. */
  #countingRows({ conditional }: TextClauses, allowed: Bitmap | undefined): Promise<readonly Bitmap[]> {
    const counting = conditional.map(({ terms }) => {
      const rows = this.#rows.withAll(terms)
      return allowed ? rows.and(allowed) : rows
    })
    return this.#phrases.narrow(conditional, counting)
  }

  /** The best hits by these terms, without those whose texts do not have the phrases. */
  async #best(clauses: TextClauses, terms: ScoredTerms, allowed: Bitmap | undefined): Promise<DenseHits> {
    const { phrases, excludedPhrases } = clauses
    if (terms.size === 0) return noHits
    if (phrases.length + excludedPhrases.length === 0) return this.#find(terms, allowed, this.#k)
    for (let k = this.#k * 2; k <= lookedThroughMax; ) {
      const found = await this.#find(terms, allowed, k)
      const kept = await this.#phrases.hitsWith(found, clauses)
      if (kept.ordinals.length >= this.#k || found.ordinals.length < k) return firstHits(kept, this.#k)
      // As many as should be enough, if the next ones have the phrases as often.
      const share = Math.max(kept.ordinals.length, 1) / k
      k = Math.max(k * 4, Math.ceil((1.5 * this.#k) / share))
    }
    const must = phrases.flatMap((phrase) => phrase.terms)
    const rows = must.length > 0 ? this.#rows.withAll(must) : this.#rows.withAny(numbersOf(terms))
    if (allowed) rows.and(allowed)
    return this.#find(terms, await this.#phrases.rowsWith(rows, clauses), this.#k)
  }

  #find(terms: ScoredTerms, allowed: Bitmap | undefined, k: number): Promise<DenseHits> {
    const { version, room: caller } = this.#context
    const { k1, b } = this.#task.options
    const query = {
      terms: Array.from(terms, ([index, term]) => ({ index, ...term })),
      totals: this.#totals,
      k1,
      b,
    }
    return this.#field.search(query, { k, version, caller, ...(allowed && { allowed }) })
  }

  /** Texts that match clauses of boost 0 only have no score, so the lists do not return them. They follow the others. */
  async #withUnscored(clauses: TextClauses, found: DenseHits): Promise<DenseHits> {
    const { terms, conditional } = clauses
    const optional = [...terms.values()].filter(({ isRequired }) => !isRequired)
    const boosts = [...optional, ...conditional.flatMap((one) => one.terms)]
    if (found.ordinals.length >= this.#k || !boosts.some(({ boost }) => boost === 0)) return found
    const within = this.#context.matches?.bitmap ?? this.#rows.all()
    const rows = await this.#rowsMatching(clauses, within, this.#k + found.ordinals.length)
    for (const ordinal of found.ordinals) rows.clear(ordinal)
    const added = rows.toOrdinals().subarray(0, this.#k - found.ordinals.length)
    return {
      ...found,
      ordinals: Uint32Array.from([...found.ordinals, ...added]),
      similarities: Float32Array.from([...found.similarities, ...new Float32Array(added.length)]),
    }
  }

  /** The rows that match the clauses, without scores; at most `most` of them if there are phrases. */
  async #rowsMatching(clauses: TextClauses, within: Bitmap, most: number): Promise<Bitmap> {
    const rows = within.clone()
    const required = [...clauses.terms].filter(([, term]) => term.isRequired)
    for (const [index] of required) rows.and(this.#rows.withAny([{ index }]))
    for (const one of clauses.required) rows.and(one)
    for (const one of clauses.excluded) rows.andNot(one)
    if (required.length + clauses.required.length === 0) rows.and(await this.#rowsWithAny(clauses, rows))
    if (clauses.phrases.length + clauses.excludedPhrases.length === 0) return rows
    return this.#phrases.rowsWith(rows, clauses, most)
  }

  /** Rows that have any of the terms, or in which a conditional clause counts. */
  async #rowsWithAny(clauses: TextClauses, allowed: Bitmap): Promise<Bitmap> {
    const rows = this.#rows.withAny(numbersOf(clauses.terms))
    for (const one of await this.#countingRows(clauses, allowed)) rows.or(one)
    return rows
  }
}

function numbersOf(terms: ScoredTerms): readonly { readonly index: number }[] {
  return Array.from(terms.keys(), (index) => ({ index }))
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
