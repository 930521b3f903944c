// Calls of a minute: their number is bounded in every minute, and they are spread over it.

const minuteMs = 60_000

export class CallRate {
  readonly #burst: number
  readonly #everyMs: number
  #left: number
  #atMs = 0
  #pausedUntilMs = 0

  /** 0: no limit. */
  constructor(perMinute: number) {
    // What may come at once and what comes after it are together no more than the limit.
    this.#burst = perMinute === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(perMinute / 10))
    this.#everyMs = perMinute === 0 ? 0 : minuteMs / Math.max(1, perMinute - (perMinute >= 10 ? this.#burst : 0))
    this.#left = this.#burst
  }

  /** No call before this time: the provider requested a wait. */
  pause(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs)
  }

  /** Takes one call and returns 0, or returns how long to wait first. */
  take(nowMs: number): number {
    if (nowMs < this.#pausedUntilMs) return this.#pausedUntilMs - nowMs
    if (this.#everyMs === 0) return 0
    this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#atMs) / this.#everyMs)
    this.#atMs = nowMs
    // A sum of fractions may be a little less than a whole number.
    if (this.#left < 1 - 1e-9) return (1 - this.#left) * this.#everyMs
    this.#left -= 1
    return 0
  }
}
