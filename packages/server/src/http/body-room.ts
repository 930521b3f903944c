// The room that one body has in the budgets of all bodies. Content-Length is taken before the first byte is read; a body without one
// takes room for each part when it arrives, so that it never holds more than it sent.
import type { Budget } from './budget.ts'
import { bodyBytesMax } from './limits.ts'

/** Bodies above the common limit have a share of their own, so that uploads cannot crowd out reads. */
export interface BodyBudgets {
  readonly small: Budget
  readonly large: Budget
}

export interface BodyRoom {
  /** Called with the bytes of a body before they are kept. Throws ServerError overloaded. */
  growTo(bytes: number): void
  /** Gives everything back; the room takes nothing afterwards. Idempotent. */
  release(): void
}

export function createBodyRoom({ small, large }: BodyBudgets): BodyRoom {
  let share = small.open()
  let isLarge = false
  let isReleased = false
  return {
    growTo(bytes) {
      if (isReleased) return
      if (isLarge || bytes <= bodyBytesMax) return share.growTo(bytes)
      const next = large.open()
      next.growTo(bytes)
      share.release()
      share = next
      isLarge = true
    },
    release() {
      isReleased = true
      share.release()
    },
  }
}
