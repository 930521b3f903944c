// How far a follower is behind: it remembers where the log ended at a time, and notes when it has applied everything up to there.

/** What freshness is computed from. */
export interface FreshnessSources {
  /** The last message of the log, as of the call. Rejects if the log does not answer. */
  readonly last: () => Promise<number>
  /** The newest message and record that this node has read. */
  readonly read: () => { readonly seq: number; readonly lsn: number }
  readonly lsnApplied: () => number
  /** A monotonic time in milliseconds. */
  readonly nowMs: () => number
}

interface Mark {
  readonly timeMs: number
  readonly seq: number
  /** The newest record when the message had been read. */
  lsn: number | undefined
}

/** Marks that wait; with more, every second one is dropped. */
const marksMax = 64
/** A log that ends before what this node has read is believed after so many looks, and this time, since one server may be behind. */
const shorterLooks = 5
/** A server that led the stream, and was cut off, may answer for 5 s. */
const shorterMs = 6_000

/** The freshness of one node. */
export class Freshness {
  readonly #sources: FreshnessSources
  #marks: Mark[] = []
  #freshAtMs = Number.NEGATIVE_INFINITY
  #answeredAtMs: number
  /** The looks in a row that found the log shorter, and when the first of them was. */
  #shorter: { readonly looks: number; readonly sinceMs: number } | undefined

  constructor(sources: FreshnessSources) {
    this.#sources = sources
    this.#answeredAtMs = sources.nowMs()
  }

  /** Whether this node has ever had everything that was in the log. */
  get isKnown(): boolean {
    return this.stalenessMs < Number.POSITIVE_INFINITY
  }

  /** Looks where the log ends. Does nothing if it does not answer. */
  async look(): Promise<void> {
    const timeMs = this.#sources.nowMs()
    const before = this.#sources.read().seq
    let seq: number
    try {
      seq = await this.#sources.last()
    } catch {
      return
    }
    if (seq < before) {
      // The answer is old, so it does not show that this node has everything.
      const { looks, sinceMs } = this.#shorter ?? { looks: 0, sinceMs: timeMs }
      this.#shorter = { looks: looks + 1, sinceMs }
      return
    }
    this.#shorter = undefined
    this.#answeredAtMs = timeMs
    this.#marks.push({ timeMs, seq, lsn: undefined })
    if (this.#marks.length > marksMax) this.#marks = this.#marks.filter((_, i) => i % 2 === 1)
    this.#settle()
  }

  /** Milliseconds since this node had everything that was in the log. Infinity before it first did. */
  get stalenessMs(): number {
    this.#settle()
    return this.#sources.nowMs() - this.#freshAtMs
  }

  /** Milliseconds since the log answered. */
  get silenceMs(): number {
    return this.#sources.nowMs() - this.#answeredAtMs
  }

  /** Whether the log ends before what this node has read: it was rolled back, or damaged. */
  get isLogShorter(): boolean {
    if (this.#shorter === undefined) return false
    const { looks, sinceMs } = this.#shorter
    return looks >= shorterLooks && this.#sources.nowMs() - sinceMs >= shorterMs
  }

  #settle(): void {
    const { read, lsnApplied } = this.#sources
    const { seq, lsn } = read()
    const applied = lsnApplied()
    while (this.#marks[0] !== undefined && this.#marks[0].seq <= seq) {
      const mark = this.#marks[0]
      mark.lsn ??= lsn
      if (applied < mark.lsn) return
      this.#freshAtMs = mark.timeMs
      this.#marks.shift()
    }
  }
}
