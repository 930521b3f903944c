// A limit on the retries of all calls of a client together. When many calls fail at once, their retries are load in addition to the calls;
// without a limit, servers that come back are busy with retries.

/** Retries in reserve: a failover of a few seconds under hundreds of concurrent calls. */
const reserveMax = 500
/** Each call that succeeds allows this many retries. */
const retriesPerSuccess = 0.25
/** Allowed in addition, so that a client with few calls can retry each. */
const retriesPerSecond = 10

export class RetryBudget {
  #retries = reserveMax
  #atMs: number

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  /** False if no retry is left. */
  take(nowMs: number): boolean {
    this.#add(((nowMs - this.#atMs) / 1_000) * retriesPerSecond)
    this.#atMs = nowMs
    if (this.#retries < 1) return false
    this.#retries -= 1
    return true
  }

  succeeded(): void {
    this.#add(retriesPerSuccess)
  }

  #add(retries: number): void {
    this.#retries = Math.min(reserveMax, this.#retries + retries)
  }
}
