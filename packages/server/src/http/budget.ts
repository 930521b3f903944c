// Limits what concurrent requests occupy: bytes of their bodies, bytes of their replies, and the number of requests. A request above the
// limit gets an error and can be retried.
import { ServerError } from './errors.ts'

export interface Budget {
  /** Takes a part of the budget. Returns the function that releases it, which may be called more than once. */
  take(amount: number): () => void
  /** Returns an empty share. */
  open(): Share
  readonly taken: number
}

/** The part of a budget that one request has taken. */
export interface Share {
  /** Enlarges the share, if it is smaller. Throws ServerError overloaded, and leaves the share unchanged. */
  growTo(amount: number): void
  /** Idempotent. */
  release(): void
}

export function createBudget(max: number, what: 'request bodies' | 'large replies' | 'writes' | 'reads'): Budget {
  let taken = 0
  const open = (): Share => {
    let held = 0
    return {
      growTo(amount) {
        if (amount <= held) return
        if (taken + amount - held > max) {
          throw new ServerError('overloaded', `too many ${what} at one time; try again shortly`, { limit: max })
        }
        taken += amount - held
        held = amount
      },
      release() {
        taken -= held
        held = 0
      },
    }
  }
  return {
    get taken() {
      return taken
    },
    open,
    take(amount) {
      const share = open()
      share.growTo(amount)
      return share.release
    },
  }
}
