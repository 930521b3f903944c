// Rebuilds give live objects new ordinals, in the same order. A cursor of a scroll may have an ordinal from before a rebuild, and this finds
// its place. It is derived and in memory only: a start from a checkpoint knows no rebuild.
import { type Bitmap, bitsIn } from '../memory/bitmap.ts'

/** Rebuilds that a replica knows. Each takes one bit for each ordinal that existed before it. */
const renumberingsMax = 4

/** One rebuild. */
interface Renumbering {
  /** Of the replica before it. */
  readonly generation: number
  /** Its live ordinals. */
  readonly live: Bitmap
}

/** The last rebuilds of one collection. */
export class Renumberings {
  /** Oldest first, without a gap. */
  readonly #list: readonly Renumbering[]

  constructor(list: readonly Renumbering[] = []) {
    this.#list = list
  }

  /** With one more rebuild. */
  with(last: Renumbering): Renumberings {
    return new Renumberings([...this.#list, last].slice(-renumberingsMax))
  }

  /**
   * The place in the order of ordinals now that `ordinal` was in a generation: as many live objects come before it. Undefined: the
   * rebuilds since are not known.
   */
  placeNow(ordinal: number, generation: number): number | undefined {
    const first = this.#list.findIndex((one) => one.generation === generation)
    if (first < 0) return undefined
    return this.#list.slice(first).reduce((place, { live }) => countBelow(live.words, place), ordinal)
  }

  bytes(): number {
    return this.#list.reduce((sum, { live }) => sum + live.bytes(), 0)
  }
}

function countBelow(words: Uint32Array, end: number): number {
  const whole = Math.min(words.length, end >>> 5)
  let count = 0
  for (let i = 0; i < whole; i++) count += bitsIn(words[i] as number)
  const last = words[whole] ?? 0
  return count + bitsIn(last & ((1 << (end & 31)) - 1))
}
