// Operations of the root token: databases, their tokens, and the license.
import type { DatabaseInfo, TokenInfo, TokenType } from './database-info.ts'
import type { JsonObject } from './model.ts'
import type { CallOptions, Transport, WriteOptions } from './transport.ts'

/** Tokens of the database of the client's token or, with a root token, of the named database. */
export class Tokens {
  readonly #transport: Transport
  readonly #database: string | undefined

  constructor(transport: Transport, database: string | undefined) {
    this.#transport = transport
    this.#database = database
  }

  /**
   * Creates a token, which is returned only once. `r` may only read.
   *
   * @example
   * ```ts
   * const token = await client.tokens.create('website', 'r')
   * ```
   */
  create(name: string, type: TokenType = 'rw', options?: CallOptions): Promise<string> {
    return this.#transport.call('createToken', { database: this.#database, name, type }, options)
  }

  /**
   * Lists the tokens without their values.
   *
   * @example
   * ```ts
   * for (const { name, type } of await client.tokens.list()) console.log(name, type)
   * ```
   */
  list(options?: CallOptions): Promise<readonly TokenInfo[]> {
    return this.#transport.call('listTokens', { database: this.#database }, options)
  }

  /**
   * Deletes a token. Requests that have it are rejected from then on.
   *
   * @example
   * ```ts
   * await client.tokens.delete('website')
   * ```
   */
  async delete(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteToken', { database: this.#database, name }, options)
  }
}

/** Requires the root token. */
export class Databases {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a database and returns its first token, which is shown only once.
   *
   * @example
   * ```ts
   * const token = await client.databases.create('music', 'pro')
   * ```
   */
  create(name: string, type = 'enterprise', options?: CallOptions): Promise<string> {
    return this.#transport.call('createDatabase', { database: name, type }, options)
  }

  /**
   * Lists the databases.
   *
   * @example
   * ```ts
   * for (const { name, type, isActive } of await client.databases.list()) console.log(name, type, isActive)
   * ```
   */
  list(options?: CallOptions): Promise<readonly DatabaseInfo[]> {
    return this.#transport.call('listDatabases', undefined, options)
  }

  /**
   * Describes a database.
   *
   * @example
   * ```ts
   * const { type, isActive } = await client.databases.info('music')
   * ```
   */
  info(name: string, options?: CallOptions): Promise<DatabaseInfo> {
    return this.#transport.call('databaseInfo', { database: name }, options)
  }

  /**
   * Deletes the database and everything in it.
   *
   * @example
   * ```ts
   * await client.databases.delete('music')
   * ```
   */
  async delete(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteDatabase', { database: name }, options)
  }

  /**
   * Accepts the tokens of the database again.
   *
   * @example
   * ```ts
   * await client.databases.activate('music')
   * ```
   */
  async activate(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('setDatabaseActive', { database: name, active: true }, options)
  }

  /**
   * Its tokens are rejected until it is activated again. Nothing is deleted.
   *
   * @example
   * ```ts
   * await client.databases.deactivate('music')
   * ```
   */
  async deactivate(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('setDatabaseActive', { database: name, active: false }, options)
  }

  /**
   * Changes the type of a database, which says its size limits.
   *
   * @example
   * ```ts
   * await client.databases.setType('music', 'enterprise')
   * ```
   */
  async setType(name: string, type: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('setDatabaseType', { database: name, type }, options)
  }

  /**
   * Lists the names of its collections.
   *
   * @example
   * ```ts
   * const names = await client.databases.collections('music')
   * ```
   */
  collections(name: string, options?: CallOptions): Promise<readonly string[]> {
    return this.#transport.call('listDatabaseCollections', { database: name }, options)
  }

  /**
   * Deletes a collection of the database and all its objects.
   *
   * @example
   * ```ts
   * await client.databases.deleteCollection('music', 'songs')
   * ```
   */
  async deleteCollection(name: string, collection: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteDatabaseCollection', { database: name, collection }, options)
  }

  /**
   * The tokens of the database.
   *
   * @example
   * ```ts
   * const token = await client.databases.tokens('music').create('website', 'r')
   * ```
   */
  tokens(name: string): Tokens {
    return new Tokens(this.#transport, name)
  }
}

/** The license of a server in enterprise mode. `client.license`. */
export class License {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * The active license; undefined if there is none.
   *
   * @example
   * ```ts
   * const license = await client.license.current()
   * ```
   */
  async current(options?: CallOptions): Promise<JsonObject | undefined> {
    const { license } = await this.#transport.call('info', undefined, options)
    // JSON.parse returns JSON, and a license is an object or null.
    return license === null || typeof license !== 'object' ? undefined : (license as JsonObject)
  }

  /**
   * Starts the trial, once per data directory. Requires the root token. Resolves to the server's message.
   *
   * @example
   * ```ts
   * console.log(await client.license.generate('ada@example.com'))
   * ```
   */
  generate(email?: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('generateLicense', { email }, options)
  }

  /**
   * Accepts the contents of a license file. A valid license is active at once.
   *
   * @example
   * ```ts
   * import { readFileSync } from 'node:fs'
   *
   * console.log(await client.license.validate(readFileSync('annal.license', 'utf8')))
   * ```
   */
  validate(contents: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('validateLicense', { contents }, options)
  }
}
