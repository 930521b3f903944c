// Seeded texts whose words have the frequencies of a language (Zipf): the word of rank r is in a text with a probability of about 1/r.
import { seededRandom } from '@annal/wal/testing'

/** Letters of a word: no word begins another one. */
const letters = 5

export interface RankedTexts {
  /** Number of texts with each word, by its rank. */
  readonly having: Uint32Array
  /** Ranks of the words of a text, in order. */
  words(row: number): Uint32Array
}

export function zipfTexts(options: {
  readonly rows: number
  readonly vocabulary: number
  readonly seed: number
}): RankedTexts {
  const { rows, vocabulary, seed } = options
  const random = seededRandom(seed).next
  const starts = new Float64Array(rows + 1)
  for (let row = 0; row < rows; row++) starts[row + 1] = (starts[row] as number) + 10 + Math.floor(51 * random())
  const all = new Uint32Array(starts[rows] as number)
  const having = new Uint32Array(vocabulary)
  const lastRow = new Int32Array(vocabulary).fill(-1)
  for (let row = 0; row < rows; row++) {
    for (let at = starts[row] as number; at < (starts[row + 1] as number); at++) {
      const word = Math.floor(vocabulary ** random()) - 1
      all[at] = word
      if (lastRow[word] === row) continue
      lastRow[word] = row
      having[word] = (having[word] as number) + 1
    }
  }
  return { having, words: (row) => all.subarray(starts[row], starts[row + 1]) }
}

/** The word of a rank. */
export function wordOf(rank: number): string {
  let word = ''
  let rest = rank
  for (let i = 0; i < letters; i++) {
    word = String.fromCharCode(97 + (rest % 26)) + word
    rest = Math.floor(rest / 26)
  }
  return word
}
