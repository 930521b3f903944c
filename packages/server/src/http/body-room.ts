// The part of the budgets of all bodies that one body takes. A body with Content-Length takes that amount before its first byte is read. A
// body without it takes the size of each part when the part arrives, so that it never takes more than the client sent.
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
  /** Releases everything; the room takes nothing afterwards. Idempotent. */
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
