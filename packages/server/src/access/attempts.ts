// Limits how often a token that a person chose can be guessed: ten failures per minute for one address and a hundred for the server,
// whatever addresses and tokens are used. Above that, only addresses that recently used the right token are compared. A failure is
// answered after one second. Knows no tokens.

import {
  authAddressesMax,
  authDelayedMax,
  authDelayMs,
  authFailuresMax,
  authFailuresOfServerMax,
  authRefreshMs,
  authRememberedMs,
  authWindowMs,
} from '../http/limits.ts'
import { addressKey } from './addresses.ts'

export interface Attempts {
  /** Whether another failure from this address is within the rates. */
  mayFail(address: string): boolean
  failed(address: string): void
  succeeded(address: string): void
  /** Whether the right token came from this address within the last 24 hours. */
  remembers(address: string): boolean
  /** Resolves after a second; at once when too many wait already, and for all when the server stops. */
  delay(): Promise<void>
  stop(): void
}

export interface AttemptsOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
  /** Calls `then` after so many milliseconds. */
  readonly later?: (then: () => void, ms: number) => void
}

export function createAttempts({ now = () => performance.now(), later = setLater }: AttemptsOptions = {}): Attempts {
  // Failures beyond the rates are never added, so that there are at most a hundred however many addresses take part.
  let failures: { readonly timeMs: number; readonly address: string }[] = []
  const successes = new Map<string, number>()
  const waiting = new Set<() => void>()
  const recent = () => {
    const begin = now() - authWindowMs
    // In the order of their times: the first is the oldest.
    if (failures[0] !== undefined && failures[0].timeMs <= begin)
      failures = failures.filter(({ timeMs }) => timeMs > begin)
    return failures
  }
  return {
    mayFail(address) {
      const all = recent()
      if (all.length < authFailuresMax) return true
      if (all.length >= authFailuresOfServerMax) return false
      const key = addressKey(address)
      return all.reduce((count, failure) => (failure.address === key ? count + 1 : count), 0) < authFailuresMax
    },
    failed(address) {
      recent().push({ timeMs: now(), address: addressKey(address) })
    },
    succeeded(address) {
      const key = addressKey(address)
      const successMs = successes.get(key)
      if (successMs !== undefined && now() - successMs < authRefreshMs) return
      // In the order of their last success, so that the first is the one to forget.
      successes.delete(key)
      successes.set(key, now())
      const oldest = successes.keys().next().value
      if (successes.size > authAddressesMax && oldest !== undefined) successes.delete(oldest)
    },
    remembers(address) {
      const successMs = successes.get(addressKey(address))
      return successMs !== undefined && now() - successMs <= authRememberedMs
    },
    delay() {
      if (waiting.size >= authDelayedMax) return Promise.resolve()
      return new Promise((resolve) => {
        const end = () => {
          waiting.delete(end)
          resolve()
        }
        waiting.add(end)
        later(end, authDelayMs)
      })
    },
    stop() {
      for (const end of waiting) end()
    },
  }
}

function setLater(then: () => void, ms: number): void {
  setTimeout(then, ms).unref()
}
