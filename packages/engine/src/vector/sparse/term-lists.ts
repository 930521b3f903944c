// The postings of each term. Most terms of a large vocabulary have one: it stands in the vocabulary itself, and takes no list. A second
// one makes a list of both, and a list that is left with one posting is given up. What is written down does not tell the two apart.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { PostingLists, Postings, SinglePosting } from './lists.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface TermState {
  readonly vocabulary: Vocabulary
  readonly lists: PostingLists
}

/** Adds postings that are not there yet, ascending. */
export function addPostings({ vocabulary, lists }: TermState, term: number, added: Postings): void {
  const directory = vocabulary.directory(term)
  const single = vocabulary.single(term)
  if (single !== undefined) vocabulary.setDirectory(term, lists.make(single, added))
  else if (directory === 0 && added.ordinals.length === 1) vocabulary.setSingle(term, singleOf(added))
  else vocabulary.setDirectory(term, lists.add(directory, added))
}

/** Takes postings out, ascending, as far as they are there. False when none is left. */
export function removePostings({ vocabulary, lists }: TermState, term: number, ordinals: Uint32Array): boolean {
  const single = vocabulary.single(term)
  if (single !== undefined) return !ordinals.includes(single.ordinal)
  const directory = lists.remove(vocabulary.directory(term), ordinals)
  const left = lists.takeSingle(directory)
  if (left === undefined) vocabulary.setDirectory(term, directory)
  else vocabulary.setSingle(term, left)
  return directory !== 0
}

/** Restores the blocks of a term that has none. */
export function restorePostings({ vocabulary, lists }: TermState, term: number, blocks: readonly Postings[]): void {
  const [first] = blocks
  assert(first !== undefined, 'a list has blocks')
  if (blocks.length === 1 && first.ordinals.length === 1) vocabulary.setSingle(term, singleOf(first))
  else vocabulary.setDirectory(term, lists.restore(blocks))
}

function singleOf({ ordinals, weights }: Postings): SinglePosting {
  return { ordinal: elementAt(ordinals, 0), weight: elementAt(weights, 0) }
}
