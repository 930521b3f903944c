// Waiting for a store that does not answer: the same call again, after a pause that grows, until the log is closed.
import type { Clock } from '../clock.ts'
import { WalError } from '../errors.ts'
import { retryPauseMaxMs, retryPauseMinMs } from '../limits.ts'
import { StoreUnavailable } from './frame-store.ts'

/** How the parts of one log wait for its store. */
export class Patience {
  readonly #clock: Clock
  readonly #onChange: (isAvailable: boolean) => void
  #isAvailable = true
  #isEnded = false
  readonly #wakers = new Set<() => void>()

  constructor(clock: Clock, onChange: (isAvailable: boolean) => void) {
    this.#clock = clock
    this.#onChange = onChange
  }

  /** Calls `act` until the store answers. Throws any other error, and `outcome_unknown` when waiting ends. */
  async until<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const value = await act()
        this.#note(true)
        return value
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        this.#note(false)
      }
      await this.pause(attempt)
    }
  }

  /** Waits before the next attempt. Throws `outcome_unknown` when waiting has ended. */
  async pause(attempt: number): Promise<void> {
    this.#refuseEnded()
    const delayMs = Math.min(retryPauseMaxMs, retryPauseMinMs * 2 ** Math.min(attempt, 16))
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#wakers.delete(wake)
        cancel()
        resolve()
      }
      const cancel = this.#clock.after(delayMs, wake)
      this.#wakers.add(wake)
    })
    this.#refuseEnded()
  }

  /** Ends all waiting, now and later. */
  end(): void {
    this.#isEnded = true
    for (const wake of [...this.#wakers]) wake()
  }

  #note(isAvailable: boolean): void {
    if (isAvailable === this.#isAvailable) return
    this.#isAvailable = isAvailable
    this.#onChange(isAvailable)
  }

  #refuseEnded(): void {
    if (!this.#isEnded) return
    throw new WalError(
      'outcome_unknown',
      'the log was closed before its store answered; whether the record is in the log shows when it is opened again',
    )
  }
}
