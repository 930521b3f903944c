// How far a follower is behind: it remembers where the log ended at a time, and notes when it has applied everything up to there.
import { MissingStreamError } from './missing-stream.ts'

/** What freshness is computed from. */
export interface FreshnessSources {
  /** Sequence of the last message of the log. Rejects if the log does not answer, and with MissingStreamError if it does not exist. */
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
/** A log is taken as shorter or missing only after this many looks and this time, because a single NATS server may be behind. */
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
  #shorter: { readonly looks: number; readonly sinceMs: number; readonly isMissing: boolean } | undefined

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
    } catch (error) {
      if (error instanceof MissingStreamError && before > 0) this.#noteShorter(timeMs, { isMissing: true })
      return
    }
    // The answer is old, so it does not show that this node has everything.
    if (seq < before) return this.#noteShorter(timeMs, { isMissing: false })
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

  /** Set if the log no longer has what this node has read. `shorter`: it was rolled back or damaged. `missing`: it does not exist. */
  get loss(): 'shorter' | 'missing' | undefined {
    if (this.#shorter === undefined) return undefined
    const { looks, sinceMs, isMissing } = this.#shorter
    if (looks < shorterLooks || this.#sources.nowMs() - sinceMs < shorterMs) return undefined
    return isMissing ? 'missing' : 'shorter'
  }

  #noteShorter(timeMs: number, { isMissing }: { readonly isMissing: boolean }): void {
    const { looks, sinceMs } = this.#shorter ?? { looks: 0, sinceMs: timeMs }
    this.#shorter = { looks: looks + 1, sinceMs, isMissing }
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
