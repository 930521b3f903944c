// Limits what concurrent requests hold: bytes of their bodies, bytes of their replies, and the requests themselves. A request above the
// limit gets an error and can be retried.
import { ServerError } from './errors.ts'

export interface Budget {
  /** Takes so much and returns how to give it back, which may be called more than once. */
  take(amount: number): () => void
  readonly taken: number
}

export function createBudget(max: number, what: 'request bodies' | 'large replies' | 'writes' | 'questions'): Budget {
  let taken = 0
  return {
    get taken() {
      return taken
    },
    take(amount) {
      if (taken + amount > max) {
        throw new ServerError('overloaded', `too many ${what} at one time; try again shortly`, { limit: max })
      }
      taken += amount
      let held = true
      return () => {
        if (held) taken -= amount
        held = false
      }
    },
  }
}
