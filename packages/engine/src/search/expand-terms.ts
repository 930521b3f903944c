// Expands prefix and fuzzy clauses to the terms that they match. A field may have millions of terms, so this happens before a search pins its
// version, in turns with other work. The turn that pins the version adds the terms that are new since, so the search misses no term of its
// version.
import { TimeSlice } from '@annal/wal'
import { expandedTermsMax } from '../limits.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import {
  editsBetween,
  type NumberedTerm,
  nearTerms,
  rangeOfPrefix,
  type TermOrder,
  type TermView,
} from '../replica/term-order.ts'
import type { SparseField } from '../vector/field.ts'
import type { Task, TextTask } from './request.ts'
import type { TextPart } from './text-query.ts'

/** A clause that stands for several terms. */
export type ExpandingPart = Extract<TextPart, { kind: 'prefix' | 'fuzzy' }>

/** A term of the index that a clause matches. */
export interface ClauseTerm {
  readonly index: number
  readonly term: string
  readonly boost: number
  /** Number of texts that have it. */
  readonly rows: number
}

/** The terms of clauses, by clause. */
export type Expansions = ReadonlyMap<TextPart, Expansion>

/** Terms compared between two looks at the clock. */
const termsPerLook = 512
/** Terms that came since a clause was gathered and are compared in the turn that pins, at most as long as writes are slower than that. */
const lateTermsMax = 256
const catchUpsMax = 8

function isExpanding(part: TextPart): part is ExpandingPart {
  return part.kind === 'prefix' || part.kind === 'fuzzy'
}

/** The clauses of a query that stand for several terms. */
function expandingParts({ source }: TextTask): readonly ExpandingPart[] {
  if (source.kind === 'stored') return []
  const { must, should, mustNot } = source.query
  return [...must, ...should, ...mustNot].filter(isExpanding)
}

/** Expands the terms of text searches. The searches must pin their version in the turn in which this resolves. Undefined: nothing to expand. */
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

/** Gathers the terms of all clauses. The search must begin in the turn in which this ends. */
async function expandTerms(tasks: readonly TextTask[], replica: ReadableReplica): Promise<Expansions> {
  const slice = new TimeSlice()
  const expansions = new Map<TextPart, Expansion>()
  for (const task of tasks) {
    for (const part of expandingParts(task)) {
      const expansion = new Expansion(part, task.fieldIndex, replica)
      await expansion.gather(slice)
      expansions.set(part, expansion)
    }
  }
  // Gathering the others took time.
  for (let i = 0; i < catchUpsMax; i++) {
    const late = [...expansions.values()].filter((expansion) => expansion.isLate)
    if (late.length === 0) break
    for (const expansion of late) await expansion.catchUp(slice)
  }
  return expansions
}

/** The best terms of one clause. */
class Expansion {
  readonly #part: ExpandingPart
  readonly #fieldIndex: number
  readonly #replica: ReadableReplica
  readonly #order: TermOrder
  readonly #field: SparseField
  #view: TermView
  #kept: ClauseTerm[] = []
  /** The last that is kept if there are more than expandedTermsMax. */
  #worst: ClauseTerm | undefined

  constructor(part: ExpandingPart, fieldIndex: number, replica: ReadableReplica) {
    this.#part = part
    this.#fieldIndex = fieldIndex
    this.#replica = replica
    this.#order = replica.terms.orderOf(fieldIndex)
    this.#field = replica.sparse[fieldIndex] as SparseField
    this.#view = this.#order.view()
  }

  /** Whether many terms came since. */
  get isLate(): boolean {
    const late = this.#order.since(this.#view)
    return late === undefined || late.length > lateTermsMax
  }

  async gather(slice: TimeSlice): Promise<void> {
    await this.#order.renew()
    this.#view = this.#order.view()
    this.#kept = []
    this.#worst = undefined
    const { sorted, recent, recentEnd } = this.#view
    if (this.#part.kind === 'prefix') {
      const [from, to] = rangeOfPrefix(sorted, this.#part.prefix)
      for (let i = from; i < to; i++) {
        this.#offer(sorted[i] as NumberedTerm, 0)
        if (i % termsPerLook === 0) await slice.renewIfOver()
      }
    } else {
      for (const found of nearTerms(sorted, this.#part.term, this.#part.edits)) {
        if (found) this.#offer([found[0], found[1]], found[2])
        if (slice.isOver) await slice.renew()
      }
    }
    await this.#compare(recent.slice(0, recentEnd), slice)
  }

  async catchUp(slice: TimeSlice): Promise<void> {
    const late = this.#order.since(this.#view)
    if (late === undefined) return this.gather(slice)
    this.#view = { ...this.#view, recentEnd: this.#view.recentEnd + late.length }
    await this.#compare(late, slice)
  }

  /** The terms that most texts have as of `version`, which must be the newest. Those of a fuzzy clause with fewer edits come first. */
  termsAt(version: number): readonly ClauseTerm[] {
    const late = this.#order.since(this.#view) ?? []
    for (const one of late) this.#offerIfMatching(one)
    this.#view = { ...this.#view, recentEnd: this.#view.recentEnd + late.length }
    return this.#kept
      .map((one) => ({ ...one, rows: this.#rowsOf(one.index, one.term, version) }))
      .filter(({ rows }) => rows > 0)
      .sort(byRank)
      .slice(0, expandedTermsMax)
  }

  async #compare(terms: readonly NumberedTerm[], slice: TimeSlice): Promise<void> {
    for (const [i, one] of terms.entries()) {
      this.#offerIfMatching(one)
      if (i % termsPerLook === 0) await slice.renewIfOver()
    }
  }

  #offerIfMatching(one: NumberedTerm): void {
    const part = this.#part
    if (part.kind === 'prefix') {
      if (one[1].startsWith(part.prefix)) this.#offer(one, 0)
      return
    }
    const edits = editsBetween(part.term, one[1], part.edits)
    if (edits <= part.edits) this.#offer(one, edits)
  }

  #offer([index, term]: NumberedTerm, edits: number): void {
    const boost = this.#boostOf(edits)
    const worst = this.#worst
    if (worst) {
      // A term has at most as many texts as objects, which are read faster.
      const isWorse =
        boost < worst.boost || (boost === worst.boost && this.#replica.terms.objectsWith(index) < worst.rows)
      if (isWorse) return
    }
    const rows = this.#rowsOf(index, term, this.#replica.version)
    // A number that came again is in the list twice.
    if (rows === 0 || this.#kept.some((one) => one.index === index)) return
    this.#kept.push({ index, term, boost, rows })
    if (this.#kept.length < 2 * expandedTermsMax) return
    this.#kept = this.#kept.sort(byRank).slice(0, expandedTermsMax)
    this.#worst = this.#kept.at(-1)
  }

  /** Terms that are nearer to the word count more. */
  #boostOf(edits: number): number {
    const part = this.#part
    if (part.kind === 'prefix') return part.boost
    return part.boost * (1 - edits / (Math.max(1, [...part.term].length) + 1))
  }

  /** 0 if the number stands for another term by now. */
  #rowsOf(index: number, term: string, version: number): number {
    return this.#replica.terms.isTerm(this.#fieldIndex, index, term) ? this.#field.rowsHaving(index, version) : 0
  }
}

function byRank(a: ClauseTerm, b: ClauseTerm): number {
  return b.boost - a.boost || b.rows - a.rows || (a.term < b.term ? -1 : 1)
}
