// Decides from the Authorization header alone, before a body is read. Only hashes are compared, so that the time it takes
// says nothing about the token.
import { createHash, timingSafeEqual } from 'node:crypto'
import { ServerError } from './errors.ts'
import { authAddressesMax, authFailuresMax, authWindowMs } from './limits.ts'

export interface Guard {
  /** Throws authorization_required, invalid_token or too_many_attempts. */
  check(header: string | undefined, address: string): void
  /** Whether the header would pass; counts nothing. */
  passes(header: string | undefined): boolean
}

/** Without a token everybody passes and the header is not even looked at: published clients send junk there. */
export function createGuard(token: string | undefined, now: () => number = Date.now): Guard {
  if (token === undefined) return { check: () => undefined, passes: () => true }
  const expected = sha256(token)
  const failures = createFailureCounter(now)
  const passes = (header: string | undefined): boolean =>
    header !== undefined && timingSafeEqual(sha256(tokenIn(header)), expected)
  return {
    passes,
    check(header, address) {
      if (header === undefined || header === '') {
        throw new ServerError('authorization_required', 'Authorization header required')
      }
      if (failures.exhausted(address)) {
        throw new ServerError('too_many_attempts', 'too many wrong tokens from this address; wait a minute')
      }
      if (passes(header)) return
      failures.add(address)
      throw new ServerError('invalid_token', 'Invalid token')
    },
  }
}

/** Enough of a token's hash to tell tokens apart in a log, and too little to find the token. */
export function tokenId(header: string | undefined): string | undefined {
  return header === undefined || header === '' ? undefined : sha256(tokenIn(header)).toString('hex').slice(0, 12)
}

/** The raw token, or `Bearer` and the token. */
function tokenIn(header: string): string {
  return header.replace(/^bearer +/i, '')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function createFailureCounter(now: () => number) {
  const windows = new Map<string, { readonly until: number; failures: number }>()
  return {
    exhausted(address: string): boolean {
      const window = windows.get(address)
      return window !== undefined && window.until > now() && window.failures >= authFailuresMax
    },
    add(address: string): void {
      const window = windows.get(address)
      if (window !== undefined && window.until > now()) {
        window.failures += 1
        return
      }
      windows.delete(address)
      windows.set(address, { until: now() + authWindowMs, failures: 1 })
      const oldest = windows.keys().next().value
      if (windows.size > authAddressesMax && oldest !== undefined) windows.delete(oldest)
    },
  }
}
