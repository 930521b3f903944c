// What a sparse field consists of.
import { PostingLists } from './lists.ts'
import { SparseMemory } from './memory.ts'
import type { PostingForm } from './posting-form.ts'
import { Vocabulary } from './vocabulary.ts'

export interface SparseState {
  readonly form: PostingForm
  readonly memory: SparseMemory
  readonly lists: PostingLists
  readonly vocabulary: Vocabulary
  /** Every ordinal that ever had a row is below it. */
  end: number
  /** Number of live rows. */
  rows: number
  /** Total length of the live rows, if they are texts. */
  length: number
}

/** `readers` is the number of reader threads. */
export function emptyState(form: PostingForm, readers = 0, bytesMax?: number): SparseState {
  const memory = new SparseMemory(readers, bytesMax)
  return {
    form,
    memory,
    lists: new PostingLists(memory, form),
    vocabulary: new Vocabulary(),
    end: 0,
    rows: 0,
    length: 0,
  }
}
