// Operations of the root token: databases, their tokens, and the license.
import type { JsonObject } from './record.ts'
import type { CallOptions, Transport } from './transport.ts'

export type TokenType = 'rw' | 'r'

export interface DatabaseInfo {
  readonly name: string
  readonly type: string
  readonly isActive: boolean
  readonly createdAt: Date
}

export interface TokenInfo {
  readonly name: string
  readonly type: TokenType
  readonly createdAt: Date
}

/** Tokens of the database of the client's token or, with a root token, of the named database. */
export class Tokens {
  readonly #transport: Transport
  readonly #database: string | undefined

  constructor(transport: Transport, database: string | undefined) {
    this.#transport = transport
    this.#database = database
  }

  /** The token is returned only once. `r` may only read. */
  create(name: string, type: TokenType = 'rw', options?: CallOptions): Promise<string> {
    return this.#transport.call('createToken', { database: this.#database, name, type }, options)
  }

  list(options?: CallOptions): Promise<readonly TokenInfo[]> {
    return this.#transport.call('listTokens', { database: this.#database }, options)
  }

  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteToken', { database: this.#database, name }, options)
  }
}

/** Requires the root token. */
export class Databases {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Returns the database's first token, which is shown only once. */
  create(name: string, type = 'enterprise', options?: CallOptions): Promise<string> {
    return this.#transport.call('createDatabase', { database: name, type }, options)
  }

  list(options?: CallOptions): Promise<readonly DatabaseInfo[]> {
    return this.#transport.call('listDatabases', undefined, options)
  }

  info(name: string, options?: CallOptions): Promise<DatabaseInfo> {
    return this.#transport.call('databaseInfo', { database: name }, options)
  }

  /** Deletes the database and everything in it. */
  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteDatabase', { database: name }, options)
  }

  async activate(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('setDatabaseActive', { database: name, active: true }, options)
  }

  /** Its tokens are rejected until it is activated again. Nothing is deleted. */
  async deactivate(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('setDatabaseActive', { database: name, active: false }, options)
  }

  async setType(name: string, type: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('setDatabaseType', { database: name, type }, options)
  }

  /** The names of its collections. */
  collections(name: string, options?: CallOptions): Promise<readonly string[]> {
    return this.#transport.call('listDatabaseCollections', { database: name }, options)
  }

  async deleteCollection(name: string, collection: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteDatabaseCollection', { database: name, collection }, options)
  }

  tokens(name: string): Tokens {
    return new Tokens(this.#transport, name)
  }
}

export class License {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Undefined if no license is active. */
  async current(options?: CallOptions): Promise<JsonObject | undefined> {
    const { license } = await this.#transport.call('info', undefined, options)
    // JSON.parse returns JSON, and a license is an object or null.
    return license === null || typeof license !== 'object' ? undefined : (license as JsonObject)
  }

  /** Starts the trial, once per data directory. Requires the root token. Resolves to the server's message. */
  generate(email: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('generateLicense', { email }, options)
  }

  /** Accepts the contents of a license file. A valid license is active at once. */
  validate(contents: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('validateLicense', { contents }, options)
  }
}
