// Where records are in the store: the place before every nth group of records. Random access by sequence number alone is
// impossible, because a message alone does not show whether it counts.
import type { ChainPlace } from './frame-chain.ts'

/** So many messages lie between two places of the index, at first. */
const spacingUsual = 64
/** With more places, every second one is dropped: 4,096 places take about 400 KiB. */
const placesMax = 4096

/** Places of a log, in order. */
export class ChainIndex {
  #places: ChainPlace[] = []
  #spacing: number

  constructor(spacing = spacingUsual) {
    this.#spacing = spacing
  }

  /** Notes the place before a group of records. Places are noted in order; a place at or before the newest one is ignored. */
  note(place: ChainPlace): void {
    const newest = this.#places.at(-1)
    if (newest !== undefined && place.seq < newest.seq + this.#spacing) return
    this.#places.push(place)
    if (this.#places.length <= placesMax) return
    this.#places = this.#places.filter((_, i) => i % 2 === 0)
    this.#spacing *= 2
  }

  /** Returns the newest place before the record; undefined when the index begins after it. */
  before(lsn: number): ChainPlace | undefined {
    let low = 0
    let high = this.#places.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#places[middle]?.lsn ?? 0) < lsn) low = middle + 1
      else high = middle
    }
    return this.#places[low - 1]
  }

  /** Forgets the places before message `seq`, which were trimmed. */
  forgetBefore(seq: number): void {
    this.#places = this.#places.filter((place) => place.seq + 1 >= seq)
  }
}
