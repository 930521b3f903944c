// Identifies the caller by the Authorization header alone, before a body is read. It compares and looks up only hashes, so that the
// time that this takes reveals nothing about the token.
import { createHash, hash, timingSafeEqual } from 'node:crypto'
import type { Database, TokenDescription } from '@annal/engine'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from '../errors.ts'
import { addressKey } from './addresses.ts'
import { type Attempts, createAttempts } from './attempts.ts'

/** The caller: the owner of a plain deployment, the root token, or a user of one database. `token` is its name in records; empty without one. */
export type Principal =
  | { readonly kind: 'owner'; readonly token: string }
  | { readonly kind: 'root' }
  | { readonly kind: 'member'; readonly database: Database; readonly mayWrite: boolean; readonly token: string }

export interface Guard {
  /** Throws authorization_required, invalid_token, too_many_attempts, database_inactive, database_not_found (root alone), starting. */
  check(header: string | undefined, address: string): Principal
  /**
   * Whether the caller may see the state of the whole server. A wrong token is counted and delayed as in `check`, but causes no
   * error.
   */
  mayKnowAll(header: string | undefined, address: string): Promise<boolean>
  /** Whether the token is one that the server generated, as far as it knows now. Counts nothing. */
  isMade(header: string | undefined): boolean
  /** Resolves when the reply to a wrong token may be sent. */
  delay(): Promise<void>
}

export interface GuardOptions {
  readonly authToken: string | undefined
  /** If set, databases have their own tokens, and `authToken` has no effect. */
  readonly rootToken: string | undefined
  readonly slot: EngineSlot
  readonly attempts?: Attempts
}

export function createGuard({ authToken, rootToken, slot, attempts = createAttempts() }: GuardOptions): Guard {
  if (rootToken !== undefined) return guardWith(rootTokens(rootToken, slot), attempts)
  if (authToken !== undefined) return guardWith(authTokens(authToken), attempts)
  // Without a token every caller is accepted, and the header is ignored, because published clients send arbitrary values in it.
  return { check: () => anyone, mayKnowAll: async () => true, isMade: () => false, delay: async () => undefined }
}

/** A part of a token's hash: long enough to distinguish tokens in a log, too short to find the token. */
export function tokenId(header: string | undefined): string | undefined {
  return header === undefined || header === '' ? undefined : sha256(tokenIn(header)).toString('hex').slice(0, 12)
}

/** Who the rate limit counts: the owner of the token if tokens identify callers, otherwise the address. */
export function callerOf(mode: TokenMode, header: string | undefined, address: string): string {
  return (mode === 'none' ? undefined : tokenId(header)) ?? addressKey(address)
}

/** The stored form of a token, from which the token cannot be computed. */
export function tokenHash(token: string): string {
  return sha256(token).toString('hex')
}

/** How a server identifies callers: by nothing, by one token, or by the root token and the tokens of databases. */
export type TokenMode = 'none' | 'one' | 'root'

export function tokenModeOf(config: {
  readonly authToken: string | undefined
  readonly rootToken: string | undefined
}): TokenMode {
  if (config.rootToken !== undefined) return 'root'
  return config.authToken === undefined ? 'none' : 'one'
}

/**
 * A key that is the same for two requests exactly if the guard decides the same about both until a token or a database changes; undefined
 * without a token where one is required. It contains the hash of the token. A chosen token is accepted by address (attempts.ts), so its
 * key has the address, as has that of a caller whose rate is limited by the address.
 */
export function callerKey(
  { mode, isRateLimited }: { readonly mode: TokenMode; readonly isRateLimited: boolean },
  header: string | undefined,
  address: () => string,
): string | undefined {
  if (mode === 'none') return isRateLimited ? `@${addressKey(address())}` : ''
  if (header === undefined || header === '') return undefined
  const token = tokenIn(header)
  const digest = hash('sha256', token, 'hex')
  return mode === 'root' && !chosenForm.test(token) ? digest : `${digest}@${addressKey(address())}`
}

/** Whether a key is of a chosen token from the address that `addressKey` returned. */
export function isChosenFrom(key: string, addressOfKey: string): boolean {
  return key !== '' && !key.startsWith('@') && key.endsWith(`@${addressOfKey}`)
}

/** Whether the caller of a key is accepted only while attempts.ts remembers its address. */
export function isChosen(key: string): boolean {
  return key.indexOf('@') > 0
}

const anyone: Principal = { kind: 'owner', token: '' }
const owner: Principal = { kind: 'owner', token: 'owner' }
const root: Principal = { kind: 'root' }

/**
 * The token that a person chose, and the tokens that the server generated. Generated tokens cannot be guessed, so their failures are not
 * counted.
 */
interface Tokens {
  /** Parses the header; `digest` is the hash of the part to compare. */
  read(token: string): PresentedToken
  readonly chosen: Buffer
}

interface PresentedToken {
  readonly digest: Buffer
  /** The principal of the chosen token. Throws if the token names a database that does not exist. */
  ofChosen(): Principal
  /** The principal of a token that the server generated, otherwise undefined. Throws starting if this is not known yet. */
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
      const wanted = chosenForm.exec(token)
      const digest = sha256(wanted?.[2] ?? token)
      return {
        digest,
        ofChosen: () => (wanted === null ? root : member(slot, wanted[1] ?? '', { kind: 'rw', name: 'root' })),
        ofMade() {
          // Until the log is read, only a text of the right form can be a generated token; all others are checked without the log.
          if (wanted !== null || (!slot.isOpen() && !madeForm.test(token))) return undefined
          const found = slot.engine().control.findToken(digest.toString('hex'))
          return found && member(slot, found.database.name, found.token)
        },
      }
    },
  }
}

/** The root token for one database. */
const chosenForm = /^root\/([^:]*):(.*)$/s

/** `<database>:<32 random bytes>`. */
const madeForm = /^[^:]+:[A-Za-z0-9_-]{43}$/

/** Refers to the current database: if it is deleted, another one with the same name is not accessible with this principal. */
function member(slot: EngineSlot, name: string, token: Pick<TokenDescription, 'kind' | 'name'>): Principal {
  const database = slot.database(name)
  if (database.describe().active) return { kind: 'member', database, mayWrite: token.kind === 'rw', token: token.name }
  throw new ServerError('database_inactive', `the database "${name}" is deactivated`, {
    field: 'database',
    value: name,
  })
}

function guardWith({ read, chosen }: Tokens, attempts: Attempts): Guard {
  // A token that is not compared takes the same time and gets the same error, whether it is right or wrong.
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
        // Authentication is not possible yet, or the database was deleted: the caller may not see the state of the whole server.
        return false
      }
    },
    isMade(header) {
      try {
        return header !== undefined && read(tokenIn(header)).ofMade() !== undefined
      } catch (error) {
        // It is known, and `check` refuses it with this error.
        if (error instanceof Error && 'code' in error) return true
        throw error
      }
    },
    delay: () => attempts.delay(),
  }
}

/** Removes the prefix `Bearer`, if there is one. */
function tokenIn(header: string): string {
  return header.replace(/^bearer +/i, '')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
