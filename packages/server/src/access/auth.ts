// Decides from the Authorization header alone who asks, before a body is read. Only hashes are compared and looked up, so that
// the time it takes says nothing about the token.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Database } from '@annal/engine'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from '../http/errors.ts'
import { type Attempts, createAttempts } from './attempts.ts'

/** The caller: the owner of a plain deployment, the root token, or a user of one database. */
export type Principal =
  | { readonly kind: 'owner' }
  | { readonly kind: 'root' }
  | { readonly kind: 'member'; readonly database: Database; readonly mayWrite: boolean }

export interface Guard {
  /** Throws authorization_required, invalid_token, too_many_attempts, database_inactive, database_not_found (root alone), starting. */
  check(header: string | undefined, address: string): Principal
  /**
   * Whether the caller may know how the server as a whole is. A wrong token counts and is delayed as in `check`, without a word
   * about it.
   */
  mayKnowAll(header: string | undefined, address: string): Promise<boolean>
  /** Resolves when a wrong token may be answered. */
  delay(): Promise<void>
}

export interface GuardOptions {
  readonly authToken: string | undefined
  /** Given: databases have tokens of their own, and `authToken` counts for nothing. */
  readonly rootToken: string | undefined
  readonly slot: EngineSlot
  readonly attempts?: Attempts
}

export function createGuard({ authToken, rootToken, slot, attempts = createAttempts() }: GuardOptions): Guard {
  if (rootToken !== undefined) return guardWith(rootTokens(rootToken, slot), attempts)
  if (authToken !== undefined) return guardWith(authTokens(authToken), attempts)
  // Without a token everybody passes and the header is not even looked at: published clients send junk there.
  return { check: () => owner, mayKnowAll: async () => true, delay: async () => undefined }
}

/** Enough of a token's hash to tell tokens apart in a log, and too little to find the token. */
export function tokenId(header: string | undefined): string | undefined {
  return header === undefined || header === '' ? undefined : sha256(tokenIn(header)).toString('hex').slice(0, 12)
}

/** The stored form of a token, from which the token cannot be computed. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex')
}

const owner: Principal = { kind: 'owner' }
const root: Principal = { kind: 'root' }

/**
 * The one token that a person chose, and the tokens that the server generated, which cannot be guessed and whose failures are not
 * counted.
 */
interface Tokens {
  /** Reads the header; `digest` is of what is to be compared. */
  read(token: string): PresentedToken
  readonly chosen: Buffer
}

interface PresentedToken {
  readonly digest: Buffer
  /** Whose the token is if it is the chosen one. Throws where that names a database that is not there. */
  ofChosen(): Principal
  /** Whose the token is if the server made it; undefined when it did not. Throws starting while it cannot know. */
  ofMade(): Principal | undefined
}

function authTokens(authToken: string): Tokens {
  return {
    chosen: sha256(authToken),
    read: (token) => ({ digest: sha256(token), ofChosen: () => owner, ofMade: () => undefined }),
  }
}

function rootTokens(rootToken: string, slot: EngineSlot): Tokens {
  return {
    chosen: sha256(rootToken),
    read(token) {
      const wanted = /^root\/([^:]*):(.*)$/s.exec(token)
      const digest = sha256(wanted?.[2] ?? token)
      return {
        digest,
        ofChosen: () => (wanted === null ? root : member(slot, wanted[1] ?? '', true)),
        ofMade() {
          // While the log is not read yet, only what has the form of a made token may be one; the rest is judged without it.
          if (wanted !== null || (!slot.isOpen() && !madeForm.test(token))) return undefined
          const found = slot.engine().control.findToken(digest.toString('hex'))
          return found && member(slot, found.database.name, found.token.kind === 'rw')
        },
      }
    },
  }
}

/** `<database>:<32 random bytes>`. */
const madeForm = /^[^:]+:[A-Za-z0-9_-]{43}$/

/** Holds on to the database as it is now: one that takes its name before the request ends is another. */
function member(slot: EngineSlot, name: string, mayWrite: boolean): Principal {
  const database = slot.database(name)
  if (database.describe().active) return { kind: 'member', database, mayWrite }
  throw new ServerError('database_inactive', `the database "${name}" is deactivated`, {
    field: 'database',
    value: name,
  })
}

function guardWith({ read, chosen }: Tokens, attempts: Attempts): Guard {
  // What is not compared costs the same whether it is right or wrong, and is refused alike.
  const judge = (token: string, address: string): Principal | 'wrong' | 'unchecked' => {
    const { digest, ofMade, ofChosen } = read(token)
    const made = ofMade()
    if (made !== undefined) return made
    const mayFail = attempts.mayFail(address)
    if (!mayFail && !attempts.remembers(address)) return 'unchecked'
    if (timingSafeEqual(digest, chosen)) {
      attempts.succeeded(address)
      return ofChosen()
    }
    if (!mayFail) return 'unchecked'
    attempts.failed(address)
    return 'wrong'
  }
  return {
    check(header, address) {
      if (header === undefined || header === '') {
        throw new ServerError('authorization_required', 'Authorization header required')
      }
      const found = judge(tokenIn(header), address)
      if (found === 'unchecked') throw new ServerError('too_many_attempts', 'too many wrong tokens; wait a minute')
      if (found === 'wrong') throw new ServerError('invalid_token', 'Invalid token')
      return found
    },
    async mayKnowAll(header, address) {
      if (header === undefined || header === '') return false
      try {
        const found = judge(tokenIn(header), address)
        if (found === 'wrong') await attempts.delay()
        return typeof found !== 'string' && found.kind !== 'member'
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error
        // No authentication yet, or a database that was deleted: such a caller may not read figures of the whole server.
        return false
      }
    },
    delay: () => attempts.delay(),
  }
}

/** The raw token, or `Bearer` and the token. */
function tokenIn(header: string): string {
  return header.replace(/^bearer +/i, '')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
