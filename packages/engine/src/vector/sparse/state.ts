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

export function emptyState(): SparseState {
  const memory = new SparseMemory()
  return { memory, lists: new PostingLists(memory), vocabulary: new Vocabulary(), end: 0, rows: 0 }
}
