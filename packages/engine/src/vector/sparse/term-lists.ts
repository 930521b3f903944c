// The postings of each term, and its number of live rows. Most terms of a large vocabulary have one posting: it is stored in the vocabulary
// itself, without a list, and counts if its row is alive. A second posting makes a list of both, and a list that is left with one posting is
// removed. The bytes on disk are the same in both cases.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { PostingLists, Postings, SinglePosting } from './lists.ts'
import { alive, type SparseMemory } from './memory.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface TermState {
  readonly memory: SparseMemory
  readonly vocabulary: Vocabulary
  readonly lists: PostingLists
}

/** Adds postings of rows that are born with `version`, ascending. */
export function addPostings(state: TermState, term: number, added: Postings, version: number): void {
  const { vocabulary, lists } = state
  const before = vocabulary.directory(term)
  const single = vocabulary.single(term)
  const count = added.ordinals.length
  if (single === undefined && before === 0 && count === 1) {
    vocabulary.setSingle(term, singleOf(added))
    return
  }
  const directory = single === undefined ? lists.add(before, added) : lists.make(single, added)
  if (single !== undefined) startRows(state, directory, single, version)
  // Before readers find the list.
  lists.setRows(directory, version, lists.rows(directory) + count)
  if (directory !== before) vocabulary.setDirectory(term, directory)
}

/** The rows of a new list are those of the posting that the term had before. */
function startRows({ memory, lists }: TermState, directory: number, { ordinal }: SinglePosting, version: number): void {
  const [birth, death] = [memory.birth(ordinal), memory.death(ordinal)]
  if (death !== alive) lists.startRows(directory, death, 0)
  else if (birth !== version) lists.startRows(directory, birth, 1)
  // Born by the same event.
  else lists.setRows(directory, version, 1)
}

/** A row of the term is removed with `version`. */
export function removeRow({ vocabulary, lists }: TermState, term: number, version: number): void {
  const directory = vocabulary.directory(term)
  if (directory !== 0) lists.setRows(directory, version, lists.rows(directory) - 1)
}

/** Number of live rows of a term as of the newest event. */
export function rowsOf({ memory, vocabulary, lists }: TermState, term: number): number {
  const single = vocabulary.single(term)
  if (single === undefined) return lists.rows(vocabulary.directory(term))
  return memory.hasRow(single.ordinal) ? 1 : 0
}

/** Takes postings out, ascending, as far as they are there. False when none is left. */
export function removePostings({ vocabulary, lists }: TermState, term: number, ordinals: Uint32Array): boolean {
  const single = vocabulary.single(term)
  if (single !== undefined) return !ordinals.includes(single.ordinal)
  const before = vocabulary.directory(term)
  const directory = lists.remove(before, ordinals)
  const left = lists.takeSingle(directory)
  if (left !== undefined) vocabulary.setSingle(term, left)
  else if (directory !== before) vocabulary.setDirectory(term, directory)
  return directory !== 0
}

/** Restores the blocks of a term that has none, and the number of its live rows. */
export function restorePostings(
  { vocabulary, lists }: TermState,
  term: number,
  blocks: readonly Postings[],
  rows: number,
): void {
  const [first] = blocks
  assert(first !== undefined, 'a list has blocks')
  if (blocks.length === 1 && first.ordinals.length === 1) {
    vocabulary.setSingle(term, singleOf(first))
    return
  }
  const directory = lists.restore(blocks)
  lists.startRows(directory, 0, rows)
  vocabulary.setDirectory(term, directory)
}

function singleOf({ ordinals, weights }: Postings): SinglePosting {
  return { ordinal: elementAt(ordinals, 0), weight: elementAt(weights, 0) }
}
