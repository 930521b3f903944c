// Where records are in the store: the position before every nth group of records. Random access by sequence number alone is
// impossible, because a message alone does not show whether it counts.
import type { ChainPosition } from './frame-chain.ts'

/** So many messages lie between two positions of the index, at first. */
const spacingUsual = 64
/** With more positions, every second one is dropped: 4,096 positions take about 400 KiB. */
const positionsMax = 4096

/** Positions of a log, in order. */
export class ChainIndex {
  #positions: ChainPosition[] = []
  #spacing: number

  constructor(spacing = spacingUsual) {
    this.#spacing = spacing
  }

  /** Notes the position before a group of records. Positions are noted in order; a position at or before the newest one is ignored. */
  note(position: ChainPosition): void {
    const newest = this.#positions.at(-1)
    if (newest !== undefined && position.seq < newest.seq + this.#spacing) return
    this.#positions.push(position)
    if (this.#positions.length <= positionsMax) return
    this.#positions = this.#positions.filter((_, i) => i % 2 === 0)
    this.#spacing *= 2
  }

  /** Returns the newest position before the record; undefined when the index begins after it. */
  before(lsn: number): ChainPosition | undefined {
    let low = 0
    let high = this.#positions.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#positions[middle]?.lsn ?? 0) < lsn) low = middle + 1
      else high = middle
    }
    return this.#positions[low - 1]
  }

  /** Forgets the positions before message `seq`, which were trimmed. */
  forgetBefore(seq: number): void {
    this.#positions = this.#positions.filter((position) => position.seq + 1 >= seq)
  }
}
