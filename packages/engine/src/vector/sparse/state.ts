// What a sparse field consists of.
import { PostingLists } from './lists.ts'
import { SparseMemory } from './memory.ts'
import { Vocabulary } from './vocabulary.ts'

export interface SparseState {
  readonly memory: SparseMemory
  readonly lists: PostingLists
  readonly vocabulary: Vocabulary
  /** Every ordinal that ever had a row is below it. */
  end: number
  /** Number of live rows. */
  rows: number
}

/** `readers` is the number of reader threads. */
export function emptyState(readers = 0): SparseState {
  const memory = new SparseMemory(readers)
  return { memory, lists: new PostingLists(memory), vocabulary: new Vocabulary(), end: 0, rows: 0 }
}
