// Looks for phrases in the tokens of texts, for a limited time in each turn of the event loop.
import type { TimeSlice } from '@annal/wal'
import { Bitmap } from '../memory/bitmap.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { analyzerOf } from '../text/analyzers.ts'
import type { DenseHits } from '../vector/field.ts'
import type { TextTask } from './request.ts'
import type { ConditionalClause, Phrase, TextClauses } from './text-clauses.ts'

/** The clock is read after this many kept tokens. Each text adds `textTokens` to the tokens that it has. */
const clockTokens = 2_048
const textTokens = 32

/** Phrases that a hit must have, and phrases that it must not have. */
type Phrases = Pick<TextClauses, 'phrases' | 'excludedPhrases'>

export class PhraseSearch {
  readonly #task: TextTask
  readonly #replica: ReadableReplica
  readonly #slice: TimeSlice
  /** Tokens searched since the clock was last read. */
  #looked = 0

  constructor(task: TextTask, replica: ReadableReplica, slice: TimeSlice) {
    this.#task = task
    this.#replica = replica
    this.#slice = slice
  }

  /** The hits whose texts have the phrases. */
  async hitsWith(found: DenseHits, phrases: Phrases): Promise<DenseHits> {
    const kept: number[] = []
    for (let i = 0; i < found.ordinals.length; i++) {
      if (this.#hasAll(found.ordinals[i] as number, phrases)) kept.push(i)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return {
      ...found,
      ordinals: Uint32Array.from(kept, (i) => found.ordinals[i] as number),
      similarities: Float32Array.from(kept, (i) => found.similarities[i] as number),
    }
  }

  /** The rows whose texts have the phrases, or the first `most` of them, by ordinal. */
  async rowsWith(rows: Bitmap, phrases: Phrases, most = Number.POSITIVE_INFINITY): Promise<Bitmap> {
    const found = new Bitmap(rows.words.length * 32)
    for (const ordinal of rows.toOrdinals()) {
      if (found.count === most) break
      if (this.#hasAll(ordinal, phrases)) found.set(ordinal)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return found
  }

  /** Removes from the set of each clause that has a phrase the rows whose texts do not have it. Returns the sets. */
  async narrow(clauses: readonly ConditionalClause[], sets: readonly Bitmap[]): Promise<readonly Bitmap[]> {
    const phrases = clauses.flatMap(({ phrase }, i) => (phrase ? [{ phrase, rows: sets[i] as Bitmap }] : []))
    const all = phrases.reduce((union, { rows }) => union.or(rows), new Bitmap())
    for (const ordinal of all.toOrdinals()) {
      for (const { phrase, rows } of phrases) if (rows.has(ordinal) && !this.#has(ordinal, phrase)) rows.clear(ordinal)
      if (this.#isDue && this.#slice.isOver) await this.#slice.renew()
    }
    return sets
  }

  /** Whether to read the clock. A read takes as long as the search of one text whose tokens are kept, so few are made. */
  get #isDue(): boolean {
    if (this.#looked < clockTokens) return false
    this.#looked = 0
    return true
  }

  #hasAll(ordinal: number, { phrases, excludedPhrases }: Phrases): boolean {
    return (
      phrases.every((phrase) => this.#has(ordinal, phrase)) &&
      !excludedPhrases.some((phrase) => this.#has(ordinal, phrase))
    )
  }

  #has(ordinal: number, { matcher, terms }: Phrase): boolean {
    const { fieldIndex, definition } = this.#task
    const { objects } = this.#replica
    const kept = objects.keptTokens(ordinal, fieldIndex)
    this.#looked += kept === undefined ? clockTokens : textTokens + kept.end - kept.start
    if (kept) return matcher.isIn(kept)
    const entry = objects.sparse(ordinal).find(({ field }) => field === fieldIndex)
    if (entry?.text === undefined) return false
    // A text that lacks one of the terms need not be analyzed.
    if (!terms.every(({ index }) => entry.indices.includes(index))) return false
    return matcher.isIn(objects.tokensOf(ordinal, fieldIndex, analyzerOf(definition.params), entry.text))
  }
}
