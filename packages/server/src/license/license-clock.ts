// The time by which licenses expire. It never runs backward: setting the system clock back does not extend a license.
import type { Engine } from '@annal/engine'

/** The engine, and the clocks that tests replace. */
export interface LicenseClockOptions {
  /** Throws while the server has no engine. */
  engine(): Engine
  /** The system time in milliseconds since 1970. */
  readonly now?: () => number
  /** A monotonic time in milliseconds. */
  readonly elapsed?: () => number
}

/** Setting in the log: the latest time that was noted, in milliseconds since 1970. */
const seenKey = 'license-time-seen'
/** Minimum difference between two noted times. */
const seenStepMs = 3_600_000

/** A clock that is never earlier than any time in the log. */
export class LicenseClock {
  readonly #options: Required<LicenseClockOptions>
  /** The newest time in the log when the clock was first read, and the monotonic time of that moment. */
  #seen: { readonly ms: number; readonly elapsedMs: number } | undefined

  constructor({ engine, now = Date.now, elapsed = () => performance.now() }: LicenseClockOptions) {
    this.#options = { engine, now, elapsed }
  }

  /** Milliseconds since 1970: the latest of the system time, the time of the newest record, and the time seen at the start plus the time since. */
  nowMs(): number {
    const { engine, now, elapsed } = this.#options
    this.#seen ??= { ms: this.#notedMs(), elapsedMs: elapsed() }
    return Math.max(now(), engine().timeMs, this.#seen.ms + elapsed() - this.#seen.elapsedMs)
  }

  /** Appends the time to the log unless the log has a time less than an hour ago. */
  async note(): Promise<void> {
    const nowMs = this.nowMs()
    if (nowMs >= this.#notedMs() + seenStepMs) {
      await this.#options.engine().control.putSetting(seenKey, String(Math.floor(nowMs)))
    }
  }

  #notedMs(): number {
    const engine = this.#options.engine()
    return Math.max(engine.timeMs, Number(engine.control.setting(seenKey) ?? 0))
  }
}
