// The control plane: databases, their tokens, and the settings of the directory.

import type { DatabaseDescription } from './database.ts'
import type { DatabaseType, TokenFacts, TokenKind } from './database-facts.ts'
import type { ControlEvent } from './event.ts'
import type { Acknowledgement } from './object.ts'
import type { WriteOptions } from './requests.ts'

/** A change of a database or of its tokens. */
export interface ControlChange {
  readonly kind: Exclude<ControlEvent['kind'], 'setting-put' | 'request-answered' | 'cursor-put' | 'cursor-dropped'>
  /** Name of the database. */
  readonly database: string
}

/**
 * Each call is one record of the log, durable when its promise resolves; the calls run one after another. Reads reflect
 * the end of the log, also while it is replayed; writes during a replay are refused with `collection_loading`.
 */
export interface ControlPlane {
  /**
   * Calls `listener` after each change of a database or of its tokens is applied. The change is acknowledged when the returned promise
   * resolves, so that a program that caches access can forget it first. The promise must not reject.
   *
   * @example
   * ```ts
   * engine.control.onChange(async ({ kind, database }) => {
   *   if (kind === 'token-dropped') console.log(`a token of ${database} was deleted`)
   * })
   * ```
   */
  onChange(listener: (change: ControlChange) => Promise<void>): void
  /**
   * Lists the databases; `default` is always there.
   *
   * @example
   * ```ts
   * for (const { name, type, active } of engine.control.databases()) console.log(name, type, active)
   * ```
   */
  databases(): readonly DatabaseDescription[]
  /**
   * Creates a database, with its first token when one is given. Throws invalid_argument, database_exists, token_exists,
   * limit_exceeded.
   *
   * @example
   * ```ts
   * await engine.control.createDatabase({ name: 'music', type: 'pro' })
   * ```
   */
  createDatabase(
    options: {
      readonly name: string
      readonly type?: DatabaseType
      readonly token?: TokenFacts
    },
    write?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Deletes a database with all its collections and tokens at once. `default` cannot be deleted. Throws
   * database_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * await engine.control.deleteDatabase('music')
   * ```
   */
  deleteDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteDatabase. */
  dropDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Turns a database off or on. Throws database_not_found.
   *
   * @example
   * ```ts
   * await engine.control.setDatabaseActive('music', false)
   * ```
   */
  setDatabaseActive(
    name: string,
    active: boolean,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Changes the type of a database, which says its size limits. Throws database_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * await engine.control.setDatabaseType('music', 'enterprise')
   * ```
   */
  setDatabaseType(
    name: string,
    type: DatabaseType,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Lists the tokens without their hashes. Throws database_not_found.
   *
   * @example
   * ```ts
   * for (const { name, kind } of engine.control.tokens('music')) console.log(name, kind)
   * ```
   */
  tokens(database: string): readonly TokenDescription[]
  /**
   * Stores a token by its hash. Throws database_not_found, token_exists, invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * import { createHash, randomBytes } from 'node:crypto'
   *
   * const token = randomBytes(32).toString('hex')
   * const hash = createHash('sha256').update(token).digest('hex')
   * await engine.control.putToken('music', { name: 'website', kind: 'r', hash })
   * ```
   */
  putToken(database: string, token: TokenFacts, options?: WriteOptions): Promise<TokenDescription & Acknowledgement>
  /**
   * Throws database_not_found, token_not_found.
   *
   * @example
   * ```ts
   * await engine.control.deleteToken('music', 'website')
   * ```
   */
  deleteToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteToken. */
  dropToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Finds the token with this SHA-256, in hexadecimal. The time of the lookup depends on the hash alone.
   *
   * @example
   * ```ts
   * import { createHash } from 'node:crypto'
   *
   * function ownerOf(token: string) {
   *   return engine.control.findToken(createHash('sha256').update(token).digest('hex'))
   * }
   * ```
   */
  findToken(hash: string): TokenOwner | undefined
  /**
   * A fact stored for the owner of the directory; the engine does not interpret it.
   *
   * @example
   * ```ts
   * const theme = engine.control.setting('theme')
   * ```
   */
  setting(key: string): string | undefined
  /**
   * Stores a setting. Throws invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * await engine.control.putSetting('theme', 'dark')
   * ```
   */
  putSetting(key: string, value: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Hash of all of the above and of the list of collections, in hexadecimal.
   *
   * @example
   * ```ts
   * const digest = engine.control.digest()
   * ```
   */
  digest(): string
}

/** A token without its hash. */
export interface TokenDescription {
  readonly name: string
  readonly kind: TokenKind
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** A token with the database that it belongs to. */
export interface TokenOwner {
  readonly database: DatabaseDescription
  readonly token: TokenDescription
}
