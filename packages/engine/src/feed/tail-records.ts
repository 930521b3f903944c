// The newest records of the log in memory, decoded once for all consumers: from `lsnFirst` on without a gap, up to a number of bytes.
import { feedTailBytesMax } from '../limits.ts'
import type { FeedRecord } from './feed-view.ts'

export class TailRecords {
  readonly #bytesMax: number
  #records: FeedRecord[] = []
  #bytes = 0
  #lsnFirst = 1
  #lsnLast = 0

  constructor(bytesMax = feedTailBytesMax) {
    this.#bytesMax = bytesMax
  }

  /** Every record from this LSN to `lsnLast` is here; none if it is greater. */
  get lsnFirst(): number {
    return this.#lsnFirst
  }

  get lsnLast(): number {
    return this.#lsnLast
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds the records up to `lsnLast` that follow, and drops the oldest ones that are too many. */
  add(records: readonly FeedRecord[], lsnLast: number): void {
    for (const record of records) {
      this.#records.push(record)
      this.#bytes += record.bytes
    }
    this.#lsnLast = lsnLast
    let dropped = 0
    while (this.#bytes > this.#bytesMax) {
      const { lsn, bytes } = this.#records[dropped++] as FeedRecord
      this.#bytes -= bytes
      this.#lsnFirst = lsn + 1
    }
    if (dropped > 0) this.#records.splice(0, dropped)
  }

  /** Drops all records. Those between the two LSNs will not be added. */
  skipTo({ lsnLast, lsnFirst }: { readonly lsnLast: number; readonly lsnFirst: number }): void {
    this.#records = []
    this.#bytes = 0
    this.#lsnFirst = lsnFirst
    this.#lsnLast = lsnLast
  }

  /** The records from an LSN on, which must not be below `lsnFirst`. */
  from(lsn: number): readonly FeedRecord[] {
    let [low, high] = [0, this.#records.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#records[middle] as FeedRecord).lsn < lsn) low = middle + 1
      else high = middle
    }
    return this.#records.slice(low)
  }
}
