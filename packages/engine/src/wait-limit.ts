// How long a caller waits before it is rejected. It counts the time in which this process runs: while it is stopped, by a signal or with its
// machine, nothing that it waits for can happen either. A change of the system's date counts as no time.

/** The limit is checked this often. Of a stop, at most this much counts. */
const stepMs = 1_000

/** The time that one caller may wait. */
export class WaitLimit {
  readonly #nowMs: () => number
  #seenMs: number
  #leftMs: number

  /** `nowMs` is a monotonic clock. */
  constructor(limitMs: number, nowMs = () => performance.now()) {
    this.#nowMs = nowMs
    this.#seenMs = nowMs()
    this.#leftMs = limitMs
  }

  get isOver(): boolean {
    return this.#leftMs <= 0
  }

  /** Resolves when `change` settles, or when the limit is over. */
  wait(change: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    let timer: NodeJS.Timeout | undefined
    const step = (): void => {
      this.#count()
      if (this.isOver) resolve()
      else timer = setTimeout(step, Math.min(this.#leftMs, stepMs))
    }
    const end = (): void => {
      clearTimeout(timer)
      this.#count()
      resolve()
    }
    step()
    change.then(end, end)
    return promise
  }

  #count(): void {
    const nowMs = this.#nowMs()
    this.#leftMs -= Math.min(nowMs - this.#seenMs, stepMs)
    this.#seenMs = nowMs
  }
}
