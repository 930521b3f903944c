// The control plane: databases, their tokens and the directory's settings. Each change is one record of the log,
// created when all earlier changes are applied, so that its checks still hold.
import type { Catalog } from './catalog/catalog.ts'
import { type DatabaseEntry, defaultDatabase, type TokenEntry } from './catalog/catalog-state.ts'
import type { LocalCollection } from './collection/collection.ts'
import type { CommitOptions, EventDraft } from './commit.ts'
import { codeDiskErrors } from './disk-errors.ts'
import { EngineError } from './errors.ts'
import { oneOf } from './input/definition.ts'
import { databasesMax, settingsMax, settingValueBytesMax, tokensOfDatabaseMax } from './limits.ts'
import type { ControlChange, ControlPlane, TokenDescription, TokenOwner } from './model/control.ts'
import type { DatabaseDescription } from './model/database.ts'
import { type DatabaseType, databaseTypes, type TokenFacts, tokenKinds } from './model/database-facts.ts'
import type { ControlEvent } from './model/event.ts'
import { checkObject, parseName, printed } from './model/ids.ts'
import type { Acknowledgement } from './model/object.ts'
import type { RecordedRequest, WriteOptions } from './model/requests.ts'
import { keyed } from './requests/keyed.ts'
import { type Claim, controlPlane, type KeptRequests } from './requests/request-keys.ts'

type ControlDraft = Extract<EventDraft, { kind: ControlEvent['kind'] }>

type DatabaseDraft = Exclude<
  ControlDraft,
  { kind: 'setting-put' | 'request-answered' | 'cursor-put' | 'cursor-dropped' }
>

/** The engine's functions that the control plane uses. */
export interface ControlHost {
  readonly catalog: Catalog
  /** The state at the end of the log, also while the log is replayed. */
  readonly catalogAhead: Catalog
  loaded(id: number): LocalCollection | undefined
  readonly keys: KeptRequests
  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commitAlone(makeDraft: () => ControlDraft, options?: CommitOptions): Promise<Acknowledgement>
  checkOpen(): void
}

/** The control plane of an engine. */
export class LocalControl implements ControlPlane {
  readonly #host: ControlHost
  readonly #listeners: ((change: ControlChange) => Promise<void>)[] = []

  constructor(host: ControlHost) {
    this.#host = host
  }

  onChange(listener: (change: ControlChange) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  /** Calls the listeners for a change that another node made, when it is applied. */
  async announce(change: ControlChange): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener(change)))
  }

  databases(): readonly DatabaseDescription[] {
    return this.#read().databases.map(describeDatabase)
  }

  async createDatabase(
    options: {
      readonly name: string
      readonly type?: DatabaseType
      readonly token?: TokenFacts
    },
    write?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement> {
    checkObject(options, 'options')
    const name = parseName(options.name, 'name')
    const type = oneOf(databaseTypes, options.type ?? 'enterprise', 'type')
    const token = options.token && parseToken(options.token)
    const parts = ['createDatabase', name, type, JSON.stringify(token ?? null)]
    const made = { name, type, active: true }
    return this.#keyed(
      write,
      parts,
      (claim) => this.#createDatabase(name, type, token, claim),
      (recorded) => ({
        ...made,
        createdAt: recorded.timeMs,
        ...acknowledgementOf(recorded),
      }),
    )
  }

  async #createDatabase(
    name: string,
    type: DatabaseType,
    token: TokenFacts | undefined,
    claim: Claim | undefined,
  ): Promise<DatabaseDescription & Acknowledgement> {
    const acknowledged = await this.#commit(name, claim, () => {
      const { catalog } = this.#host
      if (catalog.database(name)) refuseTaken('database_exists', `a database ${printed(name)}`, name)
      refuseMore('databases', catalog.databases.length, databasesMax)
      if (token) this.#checkHash(token)
      const databaseId = catalog.nextDatabaseId
      return { kind: 'database-created', databaseId, name, type, ...(token && { token }) }
    })
    return { ...this.#described(name), ...acknowledged }
  }

  dropDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.deleteDatabase(name, options)
  }

  async deleteDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#keyed(options, ['deleteDatabase', name], (claim) => this.#deleteDatabase(name, claim))
  }

  async #deleteDatabase(name: string, claim: Claim | undefined): Promise<Acknowledgement> {
    let shut: readonly LocalCollection[] = []
    const dropping = this.#commit(name, claim, () => {
      const { id: databaseId } = this.#entry(name)
      if (name === defaultDatabase) {
        throw new EngineError(
          'invalid_argument',
          `the database "${defaultDatabase}" cannot be deleted; delete its collections instead`,
          {
            field: 'database',
            value: name,
          },
        )
      }
      const collectionIds = this.#host.catalog.collectionsOf(databaseId).map(({ id }) => id)
      shut = collectionIds.flatMap((id) => this.#host.loaded(id) ?? [])
      for (const collection of shut) collection.shut('dropped')
      return { kind: 'database-dropped', databaseId, collectionIds }
    })
    return dropping.catch((error) => {
      for (const collection of shut) collection.reopen()
      throw error
    })
  }

  async setDatabaseActive(
    name: string,
    active: boolean,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement> {
    return this.#change(name, options, ['setDatabaseActive', name, String(active)], ({ type }) => ({ type, active }))
  }

  async setDatabaseType(
    name: string,
    wanted: DatabaseType,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement> {
    const type = oneOf(databaseTypes, wanted, 'type')
    return this.#change(name, options, ['setDatabaseType', name, type], ({ active }) => ({ type, active }))
  }

  /** Sets the type of a database and whether it is active. The record of a call with a key has the description of the database. */
  #change(
    name: string,
    options: WriteOptions | undefined,
    parts: readonly string[],
    next: (entry: DatabaseEntry) => Pick<DatabaseEntry, 'type' | 'active'>,
  ): Promise<DatabaseDescription & Acknowledgement> {
    return this.#keyed(options, parts, async (claim) => {
      let described: DatabaseDescription | undefined
      const acknowledged = await this.#commit(name, claim, () => {
        const entry = this.#entry(name)
        const changes = next(entry)
        described = describeDatabase({ ...entry, ...changes })
        claim?.addFacts({ ...described })
        return { kind: 'database-changed', databaseId: entry.id, ...changes }
      })
      return { ...(described ?? this.#described(name)), ...acknowledged }
    })
  }

  tokens(database: string): readonly TokenDescription[] {
    const catalog = this.#read()
    return catalog.tokensOf(this.#entry(database, catalog).id).map(describeToken)
  }

  async putToken(
    database: string,
    raw: TokenFacts,
    options?: WriteOptions,
  ): Promise<TokenDescription & Acknowledgement> {
    const token = parseToken(raw)
    const { name, kind } = token
    const parts = ['putToken', database, name, kind, token.hash]
    return this.#keyed(
      options,
      parts,
      (claim) => this.#putToken(database, token, claim),
      (recorded) => ({
        ...{ name, kind, createdAt: recorded.timeMs },
        ...acknowledgementOf(recorded),
      }),
    )
  }

  async #putToken(
    database: string,
    token: TokenFacts,
    claim: Claim | undefined,
  ): Promise<TokenDescription & Acknowledgement> {
    const acknowledged = await this.#commit(database, claim, () => {
      const { catalog } = this.#host
      const { id: databaseId } = this.#entry(database)
      if (catalog.token(databaseId, token.name))
        refuseTaken('token_exists', `a token ${printed(token.name)}`, token.name)
      this.#checkHash(token)
      refuseMore('tokens of this database', catalog.tokensOf(databaseId).length, tokensOfDatabaseMax)
      return { kind: 'token-put', databaseId, token }
    })
    const made = this.#host.catalog.tokenByHash(token.hash)
    return made ? { ...describeToken(made), ...acknowledged } : refuseToken(token.name)
  }

  dropToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.deleteToken(database, name, options)
  }

  async deleteToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#keyed(options, ['deleteToken', database, name], (claim) =>
      this.#commit(database, claim, () => {
        const { id: databaseId } = this.#entry(database)
        const token = this.#host.catalog.token(databaseId, name) ?? refuseToken(name)
        return { kind: 'token-dropped', databaseId, name: token.name }
      }),
    )
  }

  findToken(hash: string): TokenOwner | undefined {
    const catalog = this.#read()
    const token = catalog.tokenByHash(hash)
    const entry = token && catalog.databaseById(token.databaseId)
    return token && entry && { database: describeDatabase(entry), token: describeToken(token) }
  }

  setting(key: string): string | undefined {
    return this.#read().settings.get(key)
  }

  async putSetting(key: string, value: string, options?: WriteOptions): Promise<Acknowledgement> {
    parseName(key, 'key')
    if (typeof value !== 'string') {
      const message = `value must be a string, got ${printed(value)}`
      throw new EngineError('invalid_argument', message, { field: 'value', value: printed(value) })
    }
    const bytes = Buffer.byteLength(value)
    if (bytes > settingValueBytesMax) {
      const details = { field: 'value', value: bytes, limit: settingValueBytesMax }
      throw new EngineError(
        'limit_exceeded',
        `value has ${bytes} bytes, at most ${settingValueBytesMax} are allowed`,
        details,
      )
    }
    return this.#keyed(options, ['putSetting', key, value], (claim) =>
      this.#host.commitAlone(
        () => {
          const { settings } = this.#host.catalog
          if (!settings.has(key)) refuseMore('settings', settings.size, settingsMax)
          return { kind: 'setting-put', key, value }
        },
        { claim },
      ),
    )
  }

  digest(): string {
    return this.#read().digest()
  }

  /** Commits a change of a database or of its tokens, and announces it before it is acknowledged. */
  async #commit(database: string, claim: Claim | undefined, makeDraft: () => DatabaseDraft): Promise<Acknowledgement> {
    let kind: DatabaseDraft['kind'] | undefined
    try {
      return await this.#host.commitAlone(
        () => {
          const draft = makeDraft()
          kind = draft.kind
          return draft
        },
        { claim },
      )
    } finally {
      // Also after an error, because then the change may be applied.
      const change = kind === undefined ? undefined : { kind, database }
      if (change !== undefined) await this.announce(change)
    }
  }

  /** Runs a write once if the call has a request key; `parts` are the input of the call. */
  #keyed<R extends Acknowledgement>(
    options: WriteOptions | undefined,
    parts: readonly string[],
    write: (claim: Claim | undefined) => Promise<R>,
    repeated?: (recorded: RecordedRequest) => R,
  ): Promise<R> {
    return keyed(this.#host.keys, options, { databaseId: controlPlane, parts: () => parts }, write, repeated)
  }

  #read(): Catalog {
    this.#host.checkOpen()
    return this.#host.catalogAhead
  }

  #entry(name: string, catalog = this.#host.catalog): DatabaseEntry {
    return catalog.database(name) ?? refuseDatabase(name)
  }

  #described(name: string): DatabaseDescription {
    return describeDatabase(this.#entry(name))
  }

  /** Secrets are random, so a duplicate means that the same secret was given twice. */
  #checkHash({ name, hash }: TokenFacts): void {
    if (this.#host.catalog.tokenByHash(hash)) refuseTaken('token_exists', 'a token with this secret', name)
  }
}

codeDiskErrors(LocalControl)

/** The public description of a database. */
export function describeDatabase(entry: DatabaseEntry): DatabaseDescription {
  const { name, type, active, createdAtMs: createdAt } = entry
  return { name, type, active, createdAt }
}

/** Throws database_not_found. */
export function refuseDatabase(name: string): never {
  throw new EngineError('database_not_found', `there is no database ${printed(name)}`, {
    field: 'database',
    value: name,
  })
}

function acknowledgementOf({ lsn, durable }: Acknowledgement): Acknowledgement {
  return { lsn, durable }
}

function refuseToken(name: string): never {
  throw new EngineError('token_not_found', `there is no token ${printed(name)}`, { field: 'name', value: name })
}

function refuseTaken(code: 'database_exists' | 'token_exists', what: string, value: string): never {
  throw new EngineError(code, `${what} already exists`, { field: 'name', value })
}

function refuseMore(what: string, count: number, limit: number): void {
  if (count < limit) return
  throw new EngineError('limit_exceeded', `there are already ${limit} ${what}, the limit`, { field: 'name', limit })
}

function describeToken({ name, kind, createdAtMs: createdAt }: TokenEntry): TokenDescription {
  return { name, kind, createdAt }
}

function parseToken(token: TokenFacts): TokenFacts {
  checkObject(token, 'token')
  const { name, kind, hash } = token
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}(?![\s\S])/.test(hash))
    throw new EngineError('invalid_argument', 'hash must be a SHA-256 in 64 hexadecimal digits', { field: 'hash' })
  return { name: parseName(name, 'name'), kind: oneOf(tokenKinds, kind, 'kind'), hash }
}
