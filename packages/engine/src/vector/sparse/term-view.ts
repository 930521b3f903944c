// Looks up the terms of a query as of a version, in any thread, while the owner changes them. Every posting of the version is found: other postings
// may be found, too, and the kernel hides them. docs/shared-memory.md has the reasons.
import { PagesView } from '../../memory/hash-pages.ts'
import { LookupWords, type SharedLookup } from '../../memory/shared-lookup.ts'
import { elementAt } from '../element-at.ts'
import type { SparseQuery } from '../field.ts'
import { type Directory, rowCountsOf, type SinglePosting } from './lists.ts'
import { isRowVisible } from './memory.ts'
import { rowsAsOf } from './row-counts.ts'
import { chunkOfTerm, hashOfIndex, singleAt, termWord, wordOfTerm } from './vocabulary.ts'

/** Views of the memory of a field. */
export interface SparseViews {
  readonly u32: Uint32Array<SharedArrayBuffer>
  readonly f32: Float32Array<SharedArrayBuffer>
  readonly f64: Float64Array<SharedArrayBuffer>
}

/** A list in the field's memory, with its number of blocks when the search began. */
export interface StoredList {
  readonly directory: Directory
  readonly blocks: number
}

export interface WeighedList {
  readonly list: StoredList | SinglePosting
  /** Weight of the query, above 0 unless every hit has the index. */
  readonly weight: number
  /** Upper bound of what the list's postings multiply the weight by. */
  readonly magnitude: number
}

/** How the indices of a query are weighted. */
export interface Weighing {
  readonly version: number
  /** Number of rows as of the version if rare indices count more; otherwise undefined. */
  readonly rows: number | undefined
}

/** Where the postings of an index are. Undefined: it has none. */
export type TermPlace = { readonly directory: Directory } | SinglePosting | undefined

/** The owner changed what was read; it may be read again. */
export const changing = Symbol('changing')

/**
 * The lists of the query's indices, with weights of the model. Weights that are not above 0 are ignored. `placeOf` finds the postings of an
 * index.
 */
export function weighLists(
  { indices, values }: SparseQuery,
  { version, rows }: Weighing,
  views: SparseViews,
  placeOf: (index: number) => TermPlace | typeof changing,
): WeighedList[] | typeof changing {
  const weighed: WeighedList[] = []
  for (let i = 0; i < indices.length; i++) {
    const value = elementAt(values, i)
    if (!(value > 0)) continue
    const place = placeOf(elementAt(indices, i))
    if (place === changing) return changing
    if (place === undefined) continue
    let weight = value
    if (rows !== undefined) {
      const having = rowsAt(views, place, version)
      if (having === undefined) return changing
      weight *= rarity(rows, having)
    }
    weighed.push({ list: listAt(views, place), weight, magnitude: Math.abs(boundAt(views, place)) })
  }
  return weighed
}

/** The list at a place, for a search that begins now. */
export function listAt({ u32 }: Pick<SparseViews, 'u32'>, place: NonNullable<TermPlace>): StoredList | SinglePosting {
  if ('ordinal' in place) return place
  const { directory } = place
  return { directory, blocks: Atomics.load(u32, directory / 4) }
}

/** The bound of the weights at a place: see `magnitude` in lists.ts. A search must take its list first. */
export function boundAt({ f32 }: Pick<SparseViews, 'f32'>, place: NonNullable<TermPlace>): number {
  return 'ordinal' in place ? place.weight : elementAt(f32, place.directory / 4 + 2)
}

/** Weight of an index that `having` of `rows` rows have: ln(1 + (rows - having + 0.5) / (having + 0.5)). */
export function rarity(rows: number, having: number): number {
  return Math.log1p((rows - having + 0.5) / (having + 0.5))
}

/** Number of live rows of an index as of a version. Undefined: the version is too old, or the owner changed the number all the time. */
export function rowsAt(
  { u32 }: Pick<SparseViews, 'u32'>,
  place: NonNullable<TermPlace>,
  version: number,
): number | undefined {
  if ('ordinal' in place) return isRowVisible(u32, place.ordinal, version) ? 1 : 0
  return rowsAsOf(u32, rowCountsOf(place.directory), version)
}

/** How often a lookup is repeated. An event moves entries for some microseconds at a time. */
const attemptsMax = 4

/** The terms of a field in a reader's thread. */
export class TermView {
  readonly #lookup: LookupWords
  readonly #vocabulary: SharedLookup
  readonly #words: (chunk: number) => Uint32Array | undefined
  readonly #pages: PagesView
  /** Everything that was read so far was read before what is loaded next. */
  readonly #settle: () => void

  constructor(
    vocabulary: SharedLookup,
    chunks: {
      readonly terms: (chunk: number) => Uint32Array | undefined
      readonly termPages: (chunk: number) => Uint32Array | undefined
    },
    settle: () => void,
  ) {
    this.#vocabulary = vocabulary
    this.#lookup = new LookupWords(vocabulary.words)
    this.#words = chunks.terms
    this.#pages = new PagesView(chunks.termPages)
    this.#settle = settle
  }

  /** The postings of an index. */
  placeOf(index: number): TermPlace | typeof changing {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { moves } = this.#lookup
      const term = this.#pages.find(this.#vocabulary.shape, hashOfIndex(index), (candidate) =>
        this.#hasIndex(candidate, index),
      )
      if (term >= 0) return this.#placeOfTerm(term, index)
      // Entries may have moved away from where they were looked for.
      this.#settle()
      const isWhole = moves % 2 === 0 && this.#lookup.moves === moves
      const isCurrent = term === -1 && this.#lookup.shapes === this.#vocabulary.shapes
      if (isWhole && isCurrent) return this.#vocabulary.shape.isChained ? changing : undefined
    }
    return changing
  }

  #hasIndex(term: number, index: number): boolean {
    const words = this.#words(chunkOfTerm(term))
    return words?.[wordOfTerm(term) + termWord.index] === index
  }

  /** A term whose index changed meanwhile has no posting that the version shows. */
  #placeOfTerm(term: number, index: number): TermPlace | typeof changing {
    const words = this.#words(chunkOfTerm(term))
    const at = wordOfTerm(term)
    if (words === undefined) return changing
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const place = Atomics.load(words, at + termWord.place)
      const bits = Atomics.load(words, at + termWord.weight)
      // The weight belongs to the place if the place is still the same.
      if (Atomics.load(words, at + termWord.place) !== place) continue
      if (Atomics.load(words, at + termWord.index) !== index) return undefined
      if (place === 0) return undefined
      return singleAt(place, bits) ?? { directory: place }
    }
    return changing
  }
}
