// A sparse field as of one moment, while writers continue. Blocks of postings only change by appending to the last one, and retired pieces
// are not reused while a reader may see them. So only the block addresses of a list that is about to change are saved, and the two versions
// of a row.
import { elementAt } from '../element-at.ts'
import type { Rest } from '../field.ts'
import { type Postings, postingsOf } from './lists.ts'
import type { SparseState } from './state.ts'
import { rowsOf } from './term-lists.ts'

/** Indices checked or sorted between two turns of the event loop. */
const indicesPerTurn = 2 ** 16

/** A list as of the cut. */
export interface ListCut {
  /** Number of live rows with the index. */
  readonly rows: number
  readonly blocks: number
  postings(): Iterable<Postings>
}

/** The indices of a field in ascending order, collected while writers continue. */
export class IndicesAhead {
  readonly #state: SparseState
  /** Indices that got a list or lost it meanwhile. */
  readonly #changed = new Set<number>()
  #sorted: Uint32Array = new Uint32Array(0)
  #released = false

  constructor(state: SparseState) {
    this.#state = state
  }

  async sort(rest: Rest): Promise<void> {
    const runs: Uint32Array[] = []
    const { vocabulary } = this.#state
    for (let from = 0; from < vocabulary.end && !this.#released; from += indicesPerTurn) {
      const run = vocabulary.indicesOf(from, from + indicesPerTurn).sort()
      runs.push(run)
      await rest(run.byteLength)
    }
    while (runs.length > 1 && !this.#released) {
      const run = mergeSorted(runs.shift() ?? none, runs.shift() ?? none)
      runs.push(run)
      await rest(run.byteLength)
    }
    this.#sorted = runs[0] ?? none
  }

  /** Must be called before a list begins or ends. */
  beforeChange(index: number): void {
    this.#changed.add(index)
  }

  release(): void {
    this.#released = true
  }

  /** The indices as of now. */
  finish(): Uint32Array {
    if (this.#changed.size === 0) return this.#sorted
    const { vocabulary } = this.#state
    const there = [...this.#changed].filter((index) => vocabulary.has(index))
    return mergeSorted(
      this.#sorted.filter((index) => !this.#changed.has(index)),
      Uint32Array.from(there).sort(),
    )
  }
}

export class SparseCut {
  readonly end: number
  readonly rows: number
  /** Total length of the live rows, if they are texts. */
  readonly length: number
  /** Ascending. */
  readonly indices: Uint32Array
  readonly #state: SparseState
  readonly #lists = new Map<number, ListCut>()
  /** Birth and death of each row. */
  readonly #versions = new Map<number, readonly [number, number]>()
  readonly #leave: () => void

  constructor(state: SparseState, indices: Uint32Array) {
    this.#state = state
    this.#leave = state.memory.enter()
    this.end = state.end
    this.rows = state.rows
    this.length = state.length
    this.indices = indices
  }

  beforeListChanges(index: number): void {
    if (!this.#lists.has(index) && this.#state.vocabulary.has(index)) this.#lists.set(index, this.#look(index))
  }

  beforeVersionsChange(ordinal: number): void {
    if (ordinal >= this.end || this.#versions.has(ordinal)) return
    const { memory } = this.#state
    this.#versions.set(ordinal, [memory.birth(ordinal), memory.death(ordinal)])
  }

  birth(ordinal: number): number {
    return this.#versions.get(ordinal)?.[0] ?? this.#state.memory.birth(ordinal)
  }
  death(ordinal: number): number {
    return this.#versions.get(ordinal)?.[1] ?? this.#state.memory.death(ordinal)
  }
  list(index: number): ListCut {
    return this.#lists.get(index) ?? this.#look(index)
  }

  release(): void {
    this.#leave()
  }

  #look(index: number): ListCut {
    const { vocabulary, lists } = this.#state
    const term = vocabulary.find(index)
    const rows = rowsOf(this.#state, term)
    const single = vocabulary.single(term)
    if (single !== undefined) return { rows, blocks: 1, postings: () => [postingsOf(single)] }
    const blocks = lists.blocksOf(vocabulary.directory(term))
    const lastCount = lists.postings(elementAt(blocks, blocks.length - 1)).ordinals.length
    return {
      rows,
      blocks: blocks.length,
      *postings() {
        for (const [place, block] of blocks.entries()) {
          const { ordinals, weights } = lists.postings(block)
          if (place < blocks.length - 1) yield { ordinals, weights }
          else yield { ordinals: ordinals.subarray(0, lastCount), weights: weights.subarray(0, lastCount) }
        }
      },
    }
  }
}

const none = new Uint32Array(0)

/** Merges two ascending arrays without common values. */
function mergeSorted(a: Uint32Array, b: Uint32Array): Uint32Array {
  const all = new Uint32Array(a.length + b.length)
  for (let i = 0, j = 0; i + j < all.length; ) {
    const left = j === b.length || (i < a.length && elementAt(a, i) < elementAt(b, j))
    const place = i + j
    all[place] = left ? elementAt(a, i++) : elementAt(b, j++)
  }
  return all
}
