// Decides from the Authorization header alone who asks, before a body is read. Only hashes are compared and looked up, so that
// the time it takes says nothing about the token.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Database } from '@annal/engine'
import type { EngineSlot } from './engine-slot.ts'
import { ServerError } from './errors.ts'
import { authAddressesMax, authFailuresMax, authWindowMs } from './limits.ts'

/** Who asks: the owner of a plain deployment, the root token, or somebody inside one database. */
export type Principal =
  | { readonly kind: 'owner' }
  | { readonly kind: 'root' }
  | { readonly kind: 'member'; readonly database: Database; readonly mayWrite: boolean }

export interface Guard {
  /** Throws authorization_required, invalid_token, too_many_attempts, database_inactive, database_not_found (root alone), starting. */
  check(header: string | undefined, address: string): Principal
  /** Whether it is somebody who may know how the server as a whole is. A wrong token counts as in `check`, and is not told. */
  mayKnowAll(header: string | undefined, address: string): boolean
}

export interface GuardOptions {
  readonly authToken: string | undefined
  /** Given: databases have tokens of their own, and `authToken` counts for nothing. */
  readonly rootToken: string | undefined
  readonly slot: EngineSlot
  readonly now?: () => number
}

export function createGuard({ authToken, rootToken, slot, now = Date.now }: GuardOptions): Guard {
  if (rootToken !== undefined) return guardWith(rootJudge(rootToken, slot), now)
  if (authToken !== undefined) return guardWith(ownerJudge(authToken), now)
  // Without a token everybody passes and the header is not even looked at: published clients send junk there.
  return { check: () => owner, mayKnowAll: () => true }
}

/** Enough of a token's hash to tell tokens apart in a log, and too little to find the token. */
export function tokenId(header: string | undefined): string | undefined {
  return header === undefined || header === '' ? undefined : sha256(tokenIn(header)).toString('hex').slice(0, 12)
}

/** How a token is kept: nobody can make the token of it. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex')
}

const owner: Principal = { kind: 'owner' }
const root: Principal = { kind: 'root' }

/** Undefined for a token that is nobody's. */
type Judge = (token: string) => Principal | undefined

function ownerJudge(authToken: string): Judge {
  const expected = sha256(authToken)
  return (token) => (timingSafeEqual(sha256(token), expected) ? owner : undefined)
}

function rootJudge(rootToken: string, slot: EngineSlot): Judge {
  const expected = sha256(rootToken)
  return (token) => {
    const wanted = /^root\/([^:]*):(.*)$/s.exec(token)
    const digest = sha256(wanted?.[2] ?? token)
    if (timingSafeEqual(digest, expected)) return wanted === null ? root : member(slot, wanted[1] ?? '', true)
    if (wanted !== null) return undefined
    const found = slot.engine().control.findToken(digest.toString('hex'))
    return found && member(slot, found.database.name, found.token.kind === 'rw')
  }
}

/** Holds on to the database as it is now: one that takes its name before the request ends is another. */
function member(slot: EngineSlot, name: string, mayWrite: boolean): Principal {
  const database = slot.database(name)
  if (database.describe().active) return { kind: 'member', database, mayWrite }
  throw new ServerError('database_inactive', `the database "${name}" is deactivated`, {
    field: 'database',
    value: name,
  })
}

function guardWith(judge: Judge, now: () => number): Guard {
  const failures = createFailureCounter(now)
  return {
    check(header, address) {
      if (header === undefined || header === '') {
        throw new ServerError('authorization_required', 'Authorization header required')
      }
      if (failures.exhausted(address)) {
        throw new ServerError('too_many_attempts', 'too many wrong tokens from this address; wait a minute')
      }
      const principal = judge(tokenIn(header))
      if (principal !== undefined) return principal
      failures.add(address)
      throw new ServerError('invalid_token', 'Invalid token')
    },
    mayKnowAll(header, address) {
      if (header === undefined || header === '' || failures.exhausted(address)) return false
      try {
        const principal = judge(tokenIn(header))
        if (principal === undefined) failures.add(address)
        return principal !== undefined && principal.kind !== 'member'
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error
        // No answer yet, or a database that is no more: nobody who knows all.
        return false
      }
    },
  }
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
