// The recent past of all collections: opens a window for each replica that serves, keeps the windows within the memory that they may have,
// and knows the records of recent times.
import type { Replica } from '../replica/replica.ts'

export interface RecentPastOptions {
  /** Milliseconds that windows reach back; 0: there are none. */
  readonly ageMsMax: number
  /** Memory of all windows; 0: there are none. */
  readonly bytesMax: number
}

/** A record and its time. */
export interface RecentRecord {
  readonly lsn: number
  readonly timeMs: number
}

const pruneEveryMs = 30_000
/** Times that are known. Records of one millisecond are one. */
const timesMax = 262_144

export class RecentPast {
  readonly #options: RecentPastOptions
  readonly #served = new Map<number, Replica>()
  /** The newest record of each time. */
  #times: RecentRecord[] = []
  /** Times of records up to this one are not known. */
  #lsnBefore = 0
  #pruning: NodeJS.Timeout | undefined
  /** The time of the newest record by the monotonic clock: windows are changed by the fold, which reads no clock. */
  #nowMs = 0
  /** Reads that windows answered. */
  reads = 0

  constructor(options: RecentPastOptions) {
    this.#options = options
  }

  /** A collection serves with this replica from now on, or does not serve. */
  serve(collectionId: number, replica: Replica | undefined): void {
    const { ageMsMax, bytesMax } = this.#options
    if (ageMsMax === 0 || bytesMax === 0) return
    const before = this.#served.get(collectionId)
    if (before === replica) return
    before?.window.close()
    this.#served.delete(collectionId)
    if (replica === undefined) return
    this.#served.set(collectionId, replica)
    this.#nowMs = performance.now()
    replica.openWindow({ ageMsMax, now: () => this.#nowMs, onGrown: () => this.#makeRoom() })
    this.#pruning ??= setInterval(() => this.#prune(), pruneEveryMs).unref()
  }

  /** Memory of all windows. */
  get bytes(): number {
    let sum = 0
    for (const { window } of this.#served.values()) sum += window.bytes
    return sum
  }

  /** The newest record before the process appends its own. */
  startAfter({ lsn, timeMs }: RecentRecord): void {
    this.#lsnBefore = lsn - 1
    this.#times = [{ lsn, timeMs }]
  }

  /** Called for each record, in their order. Times do not decrease. */
  note(lsn: number, timeMs: number): void {
    this.#nowMs = performance.now()
    if (this.#times.at(-1)?.timeMs === timeMs) this.#times.pop()
    this.#times.push({ lsn, timeMs })
    if (this.#times.length < timesMax) return
    this.#lsnBefore = this.#times[timesMax / 2 - 1]?.lsn ?? 0
    this.#times = this.#times.slice(timesMax / 2)
  }

  /** The newest record that is not later than a time, if that is known. */
  lsnAt(timeMs: number): number | undefined {
    const next = this.#firstThat((record) => record.timeMs > timeMs)
    return this.#times[next - 1]?.lsn
  }

  /** The time of a record, if it is known. */
  timeOf(lsn: number): number | undefined {
    return lsn > this.#lsnBefore ? this.#times[this.#firstThat((record) => record.lsn >= lsn)]?.timeMs : undefined
  }

  /** Ends all windows: moments before now are loaded from now on. */
  free(): void {
    for (const { window } of this.#served.values()) window.end()
  }

  close(): void {
    clearInterval(this.#pruning)
    for (const id of [...this.#served.keys()]) this.serve(id, undefined)
  }

  #firstThat(is: (record: RecentRecord) => boolean): number {
    let [low, high] = [0, this.#times.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (is(this.#times[middle] as RecentRecord)) high = middle
      else low = middle + 1
    }
    return low
  }

  #prune(): void {
    this.#nowMs = performance.now()
    for (const { window } of this.#served.values()) window.prune()
  }

  /** Ends windows until the others fit, the one that a read used least recently first. */
  #makeRoom(): void {
    const windows = Array.from(this.#served.values(), ({ window }) => ({ window, bytes: window.bytes }))
    let bytes = windows.reduce((sum, one) => sum + one.bytes, 0)
    if (bytes <= this.#options.bytesMax) return
    windows.sort((a, b) => a.window.usedAtMs - b.window.usedAtMs || b.bytes - a.bytes)
    for (const one of windows) {
      if (bytes <= this.#options.bytesMax) return
      one.window.end()
      bytes -= one.bytes
    }
  }
}
