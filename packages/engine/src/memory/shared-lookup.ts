// What threads need to look up entries of a hash table while its owner changes it: the shape of the table, and words that tell whether entries
// moved meanwhile.
import type { EntryMoves, PagesShape } from './hash-pages.ts'

/** Words that lookups of readers depend on. */
const lookupWord = { moves: 0, shapes: 1 } as const
const lookupWords = 16

/** The state of lookups, which the owner changes and readers compare. */
export class LookupWords {
  readonly words: Int32Array<SharedArrayBuffer>

  /** `shared` are the words of the owner, in a reader. */
  constructor(shared?: Int32Array<SharedArrayBuffer>) {
    this.words = shared ?? new Int32Array(new SharedArrayBuffer(lookupWords * 4))
  }

  /** Odd while entries move. */
  get moves(): number {
    return Atomics.load(this.words, lookupWord.moves)
  }

  /** Number of shapes that the table had before. */
  get shapes(): number {
    return Atomics.load(this.words, lookupWord.shapes)
  }

  turnMoves(): void {
    Atomics.add(this.words, lookupWord.moves, 1)
  }

  countShape(): void {
    Atomics.add(this.words, lookupWord.shapes, 1)
  }
}

/** What readers need to look up entries, besides the chunks. */
export interface SharedLookup {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly shape: PagesShape
  /** Number of shapes before this one. */
  readonly shapes: number
}

/** The lookup of a table, kept by its owner. */
export class OwnedLookup implements EntryMoves {
  readonly #words = new LookupWords()
  readonly #shapeNow: () => PagesShape
  #shared: SharedLookup | undefined

  /** `shapeNow` is called when entries have moved, and when the lookup is shared. */
  constructor(shapeNow: () => PagesShape) {
    this.#shapeNow = shapeNow
  }

  begin(): void {
    this.#words.turnMoves()
  }

  end(): void {
    const shape = this.#shapeNow()
    // Counted before the move ends: a reader that finds no move then finds the number.
    if (this.#shared !== undefined && shape !== this.#shared.shape) {
      this.#words.countShape()
      this.#shared = { ...this.#shared, shape, shapes: this.#words.shapes }
    }
    this.#words.turnMoves()
  }

  /** The same value until it changes. */
  get shared(): SharedLookup {
    // A table gets chained pages without another directory.
    const shape = this.#shapeNow()
    if (shape !== this.#shared?.shape) this.#shared = { words: this.#words.words, shape, shapes: this.#words.shapes }
    return this.#shared
  }
}
