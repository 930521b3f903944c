// The terms of one text field in the order of their characters, for searches by a beginning and of misspelled words. Made by the first such
// search. Terms that came since are few, and looked through one by one; when they are many, the order is made again.
import { yieldToOthers } from '@annal/wal'

/** A term with its number. */
export type NumberedTerm = readonly [number: number, term: string]

/** Terms collected or sorted in one turn of the event loop. */
const turnTerms = 16_384
/** Terms that are looked through one by one, at least. */
const recentMin = 4_096

export class TermOrder {
  /** All terms of the field, in no order. */
  readonly #all: () => Iterable<NumberedTerm>
  /** Numbers of terms; some may be free by now, or stand for another term. */
  #sorted: readonly NumberedTerm[] = []
  #recent: NumberedTerm[] = []
  #isMade = false
  #making: Promise<void> | undefined

  constructor(all: () => Iterable<NumberedTerm>) {
    this.#all = all
  }

  /** A term of the field was numbered. */
  added(number: number, term: string): void {
    if (this.#isMade) this.#recent.push([number, term])
  }

  /** Brings the order up to date. */
  async renew(): Promise<void> {
    if (this.isFresh) return
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined
    })
    await this.#making
  }

  /** Whether it is made, and few terms came since. */
  get isFresh(): boolean {
    if (this.#making !== undefined || !this.#isMade) return false
    return this.#recent.length <= Math.max(recentMin, this.#sorted.length / 4)
  }

  async #make(): Promise<void> {
    const all: NumberedTerm[] = []
    this.#isMade = true
    this.#recent = []
    for (const one of this.#all()) {
      all.push(one)
      // Terms that come meanwhile are recent ones.
      if (all.length % turnTerms === 0) await yieldToOthers()
    }
    this.#sorted = await sortInTurns(all)
  }

  /** Terms that begin with a text. */
  *beginningWith(beginning: string): Generator<NumberedTerm> {
    const sorted = this.#sorted
    for (let i = this.#lowerBound(beginning, 0, sorted.length); i < sorted.length; i++) {
      const one = sorted[i] as NumberedTerm
      if (!one[1].startsWith(beginning)) break
      yield one
    }
    for (const one of this.#recent) if (one[1].startsWith(beginning)) yield one
  }

  /** Terms that differ from `term` in at most `edits` letters that are added, left out, or replaced, and in how many. */
  *near(term: string, edits: number): Generator<readonly [...NumberedTerm, edits: number]> {
    const letters = [...term]
    yield* this.#nearIn(
      letters,
      edits,
      { from: 0, to: this.#sorted.length, beginning: '', row: letters.map((_, i) => i + 1) },
      0,
    )
    for (const [number, candidate] of this.#recent) {
      const found = editsBetween(letters, [...candidate], edits)
      if (found <= edits) yield [number, candidate, found]
    }
  }

  /** Walks the sorted terms as a tree of letters. `row` has the edits between the beginning and each beginning of the wanted term. */
  *#nearIn(
    letters: readonly string[],
    most: number,
    node: { readonly from: number; readonly to: number; readonly beginning: string; readonly row: readonly number[] },
    depth: number,
  ): Generator<readonly [...NumberedTerm, edits: number]> {
    const { to, beginning, row } = node
    let { from } = node
    while (from < to && this.#termAt(from) === beginning) {
      const edits = letters.length === 0 ? depth : (row[letters.length - 1] as number)
      const [number, term] = this.#sorted[from] as NumberedTerm
      if (edits <= most) yield [number, term, edits]
      from++
    }
    while (from < to) {
      const letter = String.fromCodePoint(this.#termAt(from).codePointAt(beginning.length) as number)
      const longer = beginning + letter
      const end = this.#endOf(longer, from, to)
      const next = nextRow(letters, letter, row, depth + 1)
      if (Math.min(depth + 1, ...next) <= most)
        yield* this.#nearIn(letters, most, { from, to: end, beginning: longer, row: next }, depth + 1)
      from = end
    }
  }

  #termAt(place: number): string {
    return (this.#sorted[place] as NumberedTerm)[1]
  }

  /** The first place from `from` on whose term is not below a text. */
  #lowerBound(text: string, from: number, to: number): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#termAt(middle) < text) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The place after the last term that begins with a text, which the one at `from` does. Looks nearby first. */
  #endOf(text: string, from: number, to: number): number {
    let step = 1
    while (from + step < to && this.#termAt(from + step).startsWith(text)) step *= 2
    let low = from + (step >>> 1) + 1
    let high = Math.min(to, from + step)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#termAt(middle).startsWith(text)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** A row of the table of Levenshtein: edits between a beginning, now one letter longer, and each beginning of `letters`. */
function nextRow(letters: readonly string[], letter: string, row: readonly number[], depth: number): number[] {
  const next: number[] = []
  let [diagonal, left] = [depth - 1, depth]
  for (const [i, wanted] of letters.entries()) {
    const above = row[i] as number
    left = Math.min(above + 1, left + 1, diagonal + (wanted === letter ? 0 : 1))
    next.push(left)
    diagonal = above
  }
  return next
}

/** More than `most` if there are more. */
function editsBetween(letters: readonly string[], others: readonly string[], most: number): number {
  if (Math.abs(letters.length - others.length) > most) return most + 1
  let row: readonly number[] = letters.map((_, i) => i + 1)
  for (const [i, letter] of others.entries()) row = nextRow(letters, letter, row, i + 1)
  return letters.length === 0 ? others.length : (row[letters.length - 1] as number)
}

async function sortInTurns(terms: NumberedTerm[]): Promise<readonly NumberedTerm[]> {
  const compare = (a: NumberedTerm, b: NumberedTerm) => (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : a[0] - b[0])
  let runs: (readonly NumberedTerm[])[] = []
  for (let from = 0; from < terms.length; from += turnTerms) {
    runs.push(terms.slice(from, from + turnTerms).sort(compare))
    await yieldToOthers()
  }
  while (runs.length > 1) {
    const merged: (readonly NumberedTerm[])[] = []
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(await merge(runs[i] as readonly NumberedTerm[], runs[i + 1] ?? [], compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

async function merge(
  a: readonly NumberedTerm[],
  b: readonly NumberedTerm[],
  compare: (a: NumberedTerm, b: NumberedTerm) => number,
): Promise<readonly NumberedTerm[]> {
  const merged: NumberedTerm[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const isFirst = j === b.length || (i < a.length && compare(a[i] as NumberedTerm, b[j] as NumberedTerm) <= 0)
    merged.push((isFirst ? a[i++] : b[j++]) as NumberedTerm)
    if (merged.length % turnTerms === 0) await yieldToOthers()
  }
  return merged
}
