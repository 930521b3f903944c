// The number of live rows of a list as of a version, for searches of the newest version and of the one that is being applied, in any thread.
// Two pairs of words: each is a version and the number of rows from that version on. An event changes the pair of the older version, first
// to none, so that the other one stays readable.
//
//   | version u32 | rows u32 | version u32 | rows u32 |
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'

type Words = Uint32Array<SharedArrayBuffer>

/** No pair. No version is as large. */
const none = 0xffffffff
const pairWords = 2
/** A reader that finds the words changing this often has lost its core for several events. */
const attemptsMax = 4

/** Begins the counts at a position of the words. Nobody reads them yet. */
export function startRows(words: Words, at: number, version: number, rows: number): void {
  words[at] = version
  words[at + 1] = rows
  words[at + pairWords] = none
  words[at + pairWords + 1] = 0
}

/** Copies the counts to a place that nobody reads yet. */
export function copyRows(words: Words, from: number, to: number): void {
  words.copyWithin(to, from, from + 2 * pairWords)
}

export function newestRows(words: Words, at: number): number {
  return elementAt(words, newestPair(words, at) + 1)
}

/** The number of rows from `version` on, which must not be earlier than the newest. */
export function storeRows(words: Words, at: number, version: number, rows: number): void {
  const newest = newestPair(words, at)
  assert(elementAt(words, newest) <= version, 'rows are counted by events in order')
  if (words[newest] === version) {
    // No search sees the version yet.
    Atomics.store(words, newest + 1, rows)
    return
  }
  const pair = newest === at ? at + pairWords : at
  Atomics.store(words, pair, none)
  Atomics.store(words, pair + 1, rows)
  Atomics.store(words, pair, version)
}

/** Undefined: the version is too old, or the words changed all the time. */
export function rowsAsOf(words: Words, at: number, version: number): number | undefined {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const first = Atomics.load(words, at)
    const firstRows = Atomics.load(words, at + 1)
    const second = Atomics.load(words, at + pairWords)
    const secondRows = Atomics.load(words, at + pairWords + 1)
    // The versions of a pair only grow. If both are the same, all four words belong together.
    if (Atomics.load(words, at) !== first || Atomics.load(words, at + pairWords) !== second) continue
    if (first <= version && (second > version || first > second)) return firstRows
    return second <= version ? secondRows : undefined
  }
  return undefined
}

/** The position of the pair of the newer version. */
function newestPair(words: Words, at: number): number {
  const [first, second] = [elementAt(words, at), elementAt(words, at + pairWords)]
  if (first === none) return at + pairWords
  return second === none || first > second ? at : at + pairWords
}
