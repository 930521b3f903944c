// Compares the clock with the monotonic clock of the process. Only a clock that has run as the monotonic one for an hour may decide that
// something is deleted: a clock that jumps says nothing about when objects expire.

/** Both clocks, in milliseconds. */
export interface Clocks {
  /** Since 1970; may jump. */
  now(): number
  /** Since any moment; never jumps. */
  monotonic(): number
}

/** A difference between the clocks. */
export interface ClockJump {
  /** When it was noticed, by the clock. */
  readonly atMs: number
  /** Positive: the clock went forward. */
  readonly byMs: number
}

/** How long the clocks must agree. */
const steadyMs = 3_600_000
/** More than a clock drifts in an hour while it is being corrected. */
const agreementMs = 2_000

export class ClockWatch {
  readonly #clocks: Clocks
  /** Since when the clocks agree, by the monotonic one. */
  #steadySince: number
  /** What later times are compared with. Replaced each hour, so that a slow drift is not a jump. */
  #reference: { readonly now: number; readonly monotonic: number }
  #jump: ClockJump | undefined
  #jumps = 0

  constructor(clocks: Clocks) {
    this.#clocks = clocks
    this.#reference = read(clocks)
    this.#steadySince = this.#reference.monotonic
  }

  /** Compares the clocks. Call it more often than once a minute. */
  observe(): void {
    const now = read(this.#clocks)
    const before = this.#reference
    const byMs = now.now - before.now - (now.monotonic - before.monotonic)
    if (Math.abs(byMs) > agreementMs) {
      this.#jump = { atMs: now.now, byMs }
      this.#jumps++
      this.#reference = now
      this.#steadySince = now.monotonic
    } else if (now.monotonic - before.monotonic >= steadyMs) this.#reference = now
  }

  /** Whether the clocks have agreed for an hour. */
  get isSteady(): boolean {
    return this.#clocks.monotonic() - this.#steadySince >= steadyMs
  }

  /**
   * Whether what is older than `ageMs` may be removed. A clock that did not jump is also believed before it has been steady for an hour, unless it is
   * later than the newest record at the start by more than that age: all that is kept would be old at once.
   */
  agesBy(ageMs: number, timeAtStartMs: number): boolean {
    this.observe()
    if (this.isSteady || this.jump !== undefined) return this.isSteady
    return this.#clocks.now() - timeAtStartMs <= ageMs
  }

  /** The newest jump, until the clocks have agreed for an hour since. */
  get jump(): ClockJump | undefined {
    return this.isSteady ? undefined : this.#jump
  }

  /** Number of jumps so far. */
  get jumps(): number {
    return this.#jumps
  }
}

function read(clocks: Clocks): { readonly now: number; readonly monotonic: number } {
  return { now: clocks.now(), monotonic: clocks.monotonic() }
}
