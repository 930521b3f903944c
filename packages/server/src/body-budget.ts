// Bounds the memory of all request bodies at one time. A request that does not fit is told to come back before its body is
// read.
import { ServerError } from './errors.ts'

export interface BodyBudget {
  /** Takes what the body may need and returns how to give it back, which may be called more than once. */
  take(bytes: number): () => void
  readonly inFlightBytes: number
}

export function createBodyBudget(bytesMax: number): BodyBudget {
  let taken = 0
  return {
    get inFlightBytes() {
      return taken
    },
    take(bytes) {
      if (taken + bytes > bytesMax) {
        throw new ServerError('overloaded', 'too many request bodies at one time; try again shortly', {
          limit: bytesMax,
        })
      }
      taken += bytes
      let held = true
      return () => {
        if (held) taken -= bytes
        held = false
      }
    },
  }
}
