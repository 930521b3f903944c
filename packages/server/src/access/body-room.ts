// The part of the budgets of all bodies that one body takes. A body with Content-Length takes that amount before its first byte is read. A
// body without it takes the size of each part when the part arrives, so that it never takes more than the client sent.

import { bodyBytesMax, bodyBytesQueryMax } from '../limits.ts'
import type { Budget } from './budget.ts'

/** Bodies above the common limit have shares of their own, so that they cannot crowd out small ones. */
export interface BodyBudgets {
  readonly small: Budget
  /** Of queries, which are in memory as a whole. */
  readonly queries: Budget
  /** Of uploads, which are read while they arrive. */
  readonly large: Budget
  /** For bodies that wait for providers of vectors, of any size. */
  readonly embedding: Budget
}

export interface BodyRoom {
  /** Called with the bytes of a body before they are kept. Throws ServerError overloaded. */
  growTo(bytes: number): void
  /** Called when the body was read and waits for a provider. From then on it takes nothing from other bodies. Throws ServerError overloaded. */
  waitForProvider(): void
  /** Releases everything; the room takes nothing afterwards. Idempotent. */
  release(): void
}

/** `routeBytesMax` is the largest body of the route. */
export function createBodyRoom({ small, queries, large, embedding }: BodyBudgets, routeBytesMax: number): BodyRoom {
  let budget = small
  let share = small.open()
  let held = 0
  let isReleased = false
  const moveTo = (other: Budget, bytes: number): void => {
    const next = other.open()
    next.growTo(bytes)
    share.release()
    share = next
    budget = other
  }
  return {
    growTo(bytes) {
      if (isReleased) return
      if (budget === small && bytes > bodyBytesMax) moveTo(routeBytesMax > bodyBytesQueryMax ? large : queries, bytes)
      else share.growTo(bytes)
      held = Math.max(held, bytes)
    },
    waitForProvider() {
      if (!isReleased && budget !== embedding) moveTo(embedding, held)
    },
    release() {
      isReleased = true
      share.release()
    },
  }
}
