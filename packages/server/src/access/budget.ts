// Limits what concurrent requests occupy: bytes of their bodies, bytes of their replies, and the number of requests. A request above the
// limit gets an error and can be retried.
import { ServerError } from '../errors.ts'

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

/** The number behind a budget. Threads that share a limit share this number (shared-amounts.ts). */
export interface Amount {
  readonly taken: number
  /** Returns false, and takes nothing, if the sum would exceed `max`. */
  take(amount: number, max: number): boolean
  give(amount: number): void
}

/** What a budget limits, as its error names it. */
export type Budgeted =
  | 'request bodies'
  | 'request bodies that wait for providers of vectors'
  | 'large replies'
  | 'writes'
  | 'reads'

export function createBudget(max: number, what: Budgeted, amount: Amount = localAmount()): Budget {
  const open = (): Share => {
    let held = 0
    return {
      growTo(wanted) {
        if (wanted <= held) return
        if (!amount.take(wanted - held, max)) {
          throw new ServerError('overloaded', `too many ${what} at one time; try again shortly`, { limit: max })
        }
        held = wanted
      },
      release() {
        if (held === 0) return
        amount.give(held)
        held = 0
      },
    }
  }
  return {
    get taken() {
      return amount.taken
    },
    open,
    take(wanted) {
      const share = open()
      share.growTo(wanted)
      return share.release
    },
  }
}

function localAmount(): Amount {
  let taken = 0
  return {
    get taken() {
      return taken
    },
    take(amount, max) {
      if (taken + amount > max) return false
      taken += amount
      return true
    },
    give(amount) {
      taken -= amount
    },
  }
}
