// The terms of one text field in the order of their characters, for prefix and fuzzy clauses. The first such search makes the order. While
// newer terms are few, they are compared one by one; when they are many, the order is made again.
import { yieldToOthers } from '@annal/wal'

/** A term with its number. */
export type NumberedTerm = readonly [number: number, term: string]

/** The terms of a field at one moment. Numbers may be free by now, or stand for another term. */
export interface TermView {
  readonly sorted: readonly NumberedTerm[]
  /** In the order in which they were numbered; those from `recentEnd` on came later. */
  readonly recent: readonly NumberedTerm[]
  readonly recentEnd: number
}

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
    if (this.#isFresh) return
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined
    })
    await this.#making
  }

  /** Whether it is made, and few terms came since. */
  get #isFresh(): boolean {
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

  /** The terms now. Neither list loses a term that the view has, also if the order is made again. */
  view(): TermView {
    return { sorted: this.#sorted, recent: this.#recent, recentEnd: this.#recent.length }
  }

  /** The terms that were numbered after a view; undefined if the order was made again since, so that only a new view has them. */
  since({ recent, recentEnd }: TermView): readonly NumberedTerm[] | undefined {
    return recent === this.#recent ? recent.slice(recentEnd) : undefined
  }
}

/** The first place and the one after the last of the sorted terms that begin with a text. */
export function rangeOfPrefix(sorted: readonly NumberedTerm[], prefix: string): readonly [number, number] {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as NumberedTerm)[1] < prefix) low = middle + 1
    else high = middle
  }
  const begins = sorted[low]?.[1].startsWith(prefix) === true
  return [low, begins ? endOf(sorted, prefix, low, sorted.length) : low]
}

/** Sorted terms with the same prefix. */
interface Branch {
  readonly from: number
  readonly to: number
  readonly prefix: string
  /** Number of letters of the prefix. */
  readonly depth: number
  /** The edits between the prefix and each prefix of the wanted term. */
  readonly row: readonly number[]
}

/** Branches looked at in a few microseconds. */
const branchesPerStep = 16

/**
 * Sorted terms that differ from `term` in at most `most` letters that are added, left out, or replaced, and in how many; in no order. Walks them as a
 * tree of letters. `undefined` says that a few branches were without one.
 */
export function* nearTerms(
  sorted: readonly NumberedTerm[],
  term: string,
  most: number,
): Generator<readonly [...NumberedTerm, edits: number] | undefined> {
  const letters = [...term]
  const branches: Branch[] = [{ from: 0, to: sorted.length, prefix: '', depth: 0, row: letters.map((_, i) => i + 1) }]
  for (let looked = 1; ; looked++) {
    const branch = branches.pop()
    if (branch === undefined) return
    const { to, prefix, depth, row } = branch
    let { from } = branch
    while (from < to && (sorted[from] as NumberedTerm)[1] === prefix) {
      const edits = letters.length === 0 ? depth : (row[letters.length - 1] as number)
      if (edits <= most) yield [...(sorted[from] as NumberedTerm), edits]
      from++
    }
    while (from < to) {
      const letter = String.fromCodePoint((sorted[from] as NumberedTerm)[1].codePointAt(prefix.length) as number)
      const longer = prefix + letter
      const end = endOf(sorted, longer, from, to)
      const next = nextRow(letters, letter, row, depth + 1)
      if (leastOf(next, depth + 1) <= most)
        branches.push({ from, to: end, prefix: longer, depth: depth + 1, row: next })
      from = end
    }
    if (looked % branchesPerStep === 0) yield undefined
  }
}

/** The place after the last term that begins with a text, which the one at `from` does. Looks nearby first. */
function endOf(sorted: readonly NumberedTerm[], text: string, from: number, to: number): number {
  const begins = (place: number) => (sorted[place] as NumberedTerm)[1].startsWith(text)
  let step = 1
  while (from + step < to && begins(from + step)) step *= 2
  let low = from + (step >>> 1) + 1
  let high = Math.min(to, from + step)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (begins(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** A row of the table of Levenshtein: edits between a prefix, now one letter longer, and each prefix of `letters`. */
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

/** The edits that no longer prefix has fewer of. */
function leastOf(row: readonly number[], depth: number): number {
  let least = depth
  for (const edits of row) if (edits < least) least = edits
  return least
}

/** The edits between two terms. Any number above `most` if there are more. */
export function editsBetween(term: string, other: string, most: number): number {
  const letters = [...term]
  const others = [...other]
  if (Math.abs(letters.length - others.length) > most) return most + 1
  let row: readonly number[] = letters.map((_, i) => i + 1)
  for (const [i, letter] of others.entries()) {
    row = nextRow(letters, letter, row, i + 1)
    if (leastOf(row, i + 1) > most) return most + 1
  }
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
