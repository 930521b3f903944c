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
} from '../limits.ts'
import { addressKey } from './addresses.ts'

export interface Attempts {
  /** Whether the limits allow another failure from this address. */
  mayFail(address: string): boolean
  failed(address: string): void
  succeeded(address: string): void
  /** Whether the right token came from this address within the last 24 hours. */
  remembers(address: string): boolean
  /** For how many milliseconds another success from this address changes nothing; 0 or less if it would. */
  quietMs(address: string): number
  /** Calls `listener` with the key of an address that is no longer remembered. */
  onForgotten(listener: (addressOfKey: string) => void): void
  /** Resolves after one second, or immediately if too many calls are waiting. `stop` resolves all waiting calls. */
  delay(): Promise<void>
  stop(): void
}

export interface AttemptsOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
  /** Calls `then` after `ms` milliseconds. */
  readonly later?: (then: () => void, ms: number) => void
}

export function createAttempts({ now = () => performance.now(), later = setLater }: AttemptsOptions = {}): Attempts {
  // Failures above the limits are not added, so the list has at most a hundred entries, whatever the number of addresses.
  let failures: { readonly timeMs: number; readonly address: string }[] = []
  const successes = new Map<string, number>()
  const waiting = new Set<() => void>()
  const listeners: ((addressOfKey: string) => void)[] = []
  const recent = () => {
    const begin = now() - authWindowMs
    // The list is in the order of time: the first failure is the oldest.
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
      // The map is in the order of the last successes, so its first address is the one to forget.
      successes.delete(key)
      successes.set(key, now())
      const oldest = successes.keys().next().value
      if (successes.size <= authAddressesMax || oldest === undefined) return
      successes.delete(oldest)
      for (const listener of listeners) listener(oldest)
    },
    remembers(address) {
      const successMs = successes.get(addressKey(address))
      return successMs !== undefined && now() - successMs <= authRememberedMs
    },
    quietMs(address) {
      const successMs = successes.get(addressKey(address))
      return successMs === undefined ? 0 : successMs + authRefreshMs - now()
    },
    onForgotten: (listener) => void listeners.push(listener),
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
