// One database as its users see it: collections by name.
import { randomBytes } from 'node:crypto'
import type { MemoryGuard } from './admission/memory-guard.ts'
import { DatabaseBackups } from './backup/database-backups.ts'
import type { EngineBackups } from './backup/engine-backups.ts'
import { lsnsOf, type PastOf } from './backup/past.ts'
import { withPastReplica } from './backup/past-replica.ts'
import type { DatabaseEntry } from './catalog/catalog-state.ts'
import { followAlias } from './collection/alias-handle.ts'
import type { LocalCollection } from './collection/collection.ts'
import type { CommitOptions, EventDraft } from './commit.ts'
import { describeDatabase, refuseDatabase } from './control.ts'
import { codeDiskErrors } from './disk-errors.ts'
import type { Embedder } from './embed/embedder.ts'
import { EngineError } from './errors.ts'
import type { ChangeFeed } from './feed/change-feed.ts'
import type { FeedCursors } from './feed/feed-cursors.ts'
import { parseChanges } from './feed/parse-changes.ts'
import { DatabaseHistory } from './history/database-history.ts'
import type { LogBook } from './history/log-book.ts'
import { checkHasFields, parseDefinition } from './input/definition.ts'
import { type Limits, memoryOfField } from './limits.ts'
import type { PastCollection } from './model/as-of.ts'
import type { ChangeStream, ChangesRequest, Cursors } from './model/changes.ts'
import type { Collection } from './model/collection.ts'
import type { Database, DatabaseDescription } from './model/database.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf } from './model/definition.ts'
import { parseName, printed } from './model/ids.ts'
import type { AsOf, AsOfOptions } from './model/moment.ts'
import type { AliasDescription, BranchDescription, BranchRequest, Promotion } from './model/names.ts'
import type { Acknowledgement, CollectionDescription } from './model/object.ts'
import type { RestoreOptions, WriteOptions } from './model/requests.ts'
import { type CollectionSchema, rulesNewest, ttlOf, withRules } from './model/schema.ts'
import { Naming, type NamingHost, refuseCollection, refuseTaken } from './naming.ts'
import { LocalPastCollection, type PastDoor } from './past/past-collection.ts'
import { keyed } from './requests/keyed.ts'
import type { Claim } from './requests/request-keys.ts'

type CatalogDraft = Extract<EventDraft, { kind: 'collection-created' | 'collection-restored' | 'collection-dropped' }>

/** The engine's functions that databases use. */
export interface DatabaseHost extends NamingHost {
  readonly limits: Limits
  readonly embedder: Embedder
  readonly memory: MemoryGuard
  /** Returns an id that was never used before. */
  nextCollectionId(): number
  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement>
  readonly backups: EngineBackups
  readonly book: LogBook
  readonly feed: ChangeFeed
  readonly cursors: FeedCursors
  readonly past: PastDoor
  checkOpen(): void
  /** Throws `unsupported_in_cluster` where backups are not possible. */
  checkBackups(): void
  /** Throws where the past cannot be read while this engine appends nothing. */
  checkHistory(): void
  /** Throws while this engine appends nothing. */
  checkWritable(): void
}

/** The rules in the digest of a request that creates a collection. They stay the same, so that a repetition after an update is recognized. */
const rulesOfRequests = 4

/** A database of an engine. */
export class LocalDatabase implements Database {
  readonly #entry: DatabaseEntry
  readonly #host: DatabaseHost
  readonly #naming: Naming

  constructor(entry: DatabaseEntry, host: DatabaseHost) {
    this.#entry = entry
    this.#host = host
    this.#naming = new Naming(entry.id, host, () => {
      host.checkOpen()
      this.#checkThere()
    })
  }

  get name(): string {
    return this.#entry.name
  }

  describe(): DatabaseDescription {
    this.#host.checkOpen()
    return describeDatabase(this.#checkThere())
  }

  async createCollection<const D extends CollectionDefinition>(
    definition: D & ExactDefinition<D>,
    options?: WriteOptions,
  ): Promise<Collection<FieldsOf<D>>> {
    this.#host.checkOpen()
    const parsed = parseDefinition(definition)
    const { name } = parsed
    const fields = parsed.fields.map((field) => withRules(field, rulesNewest))
    const schema = { ...parsed, fields }
    this.#checkThere()
    const parts = () => {
      const asKept = parsed.fields.map((field) => withRules(field, rulesOfRequests))
      return ['createCollection', name, JSON.stringify(asKept), ...Object.values(ttlOf(parsed)).map(String)]
    }
    const call = { databaseId: this.#entry.id, parts }
    await keyed(this.#host.keys, options, call, (claim) => this.#create(schema, claim))
    return typed<D>(this.#find(name))
  }

  async #create({ name, ...given }: CollectionSchema, claim: Claim | undefined): Promise<Acknowledgement> {
    const host = this.#host
    const fields = host.embedder.withModels(given.fields)
    const schema = { ...given, fields }
    return this.#reserving(name, async () => {
      host.memory.check('the collection', { growth: fields.length * memoryOfField })
      const seed = randomBytes(8)
      return host.commit(
        () => {
          // Checked again in this writer's turn: the database may have been deleted first.
          this.#checkThere()
          return {
            kind: 'collection-created',
            collectionId: host.nextCollectionId(),
            databaseId: this.#entry.id,
            name,
            ...schema,
            hashSeed: { low: seed.readUInt32LE(0), high: seed.readUInt32LE(4) },
          }
        },
        { claim, facts: { fields, ...ttlOf(schema) } },
      )
    })
  }

  get backups(): DatabaseBackups {
    const host = this.#host
    return new DatabaseBackups({
      database: this.#entry,
      host: host.backups.host,
      backups: host.backups.jobs,
      keys: host.keys,
      collection: (name) => this.#find(name),
      collectionIdAt: (name, lsn) => this.#collectionIdAt(name, lsn),
      reserving: (wanted, field, action) => {
        const name = parseName(wanted, field)
        return this.#reserving(name, () => action(name), field)
      },
      checkOpen: () => {
        host.checkOpen()
        host.checkBackups()
        this.#checkThere()
      },
      checkWritable: () => host.checkWritable(),
    })
  }

  get history(): DatabaseHistory {
    const host = this.#host
    const { host: imports, jobs } = host.backups
    const database = this.#entry
    const checkOpen = () => {
      host.checkOpen()
      host.checkHistory()
      this.#checkThere()
    }
    return new DatabaseHistory({
      ...{ database, jobs, checkOpen },
      book: host.book,
      collectionIdAt: (name, lsn) => this.#collectionIdAt(name, lsn),
      keys: host.keys,
      collection: (name) => this.#find(name),
      lsnsOf: ([from, to]) => lsnsOf(imports.side, from, to),
      withPast: ({ id, name }, moment, watch, use) => {
        const past: PastOf = {
          database: database.name,
          collection: name,
          collectionIdAt: async () => id,
        }
        return host.backups.alone(() => withPastReplica(imports, past, moment, watch, use))
      },
      checkWritable: () => {
        checkOpen()
        host.checkBackups()
        host.checkWritable()
      },
    })
  }

  get cursors(): Cursors {
    const { cursors } = this.#host
    const check = () => {
      this.#host.checkOpen()
      return this.#checkThere().id
    }
    return {
      list: () => cursors.list(check()),
      acknowledge: async (name, lsn) => cursors.acknowledge(check(), name, lsn),
      delete: async (name, options) => {
        const databaseId = check()
        const call = { databaseId, parts: () => ['deleteCursor', String(name)] }
        return keyed(this.#host.keys, options, call, (claim) => cursors.delete(databaseId, name, claim))
      },
    }
  }

  changes(request?: ChangesRequest): ChangeStream {
    this.#host.checkOpen()
    const { id } = this.#checkThere()
    const wanted = parseChanges(request)
    const from = wanted.cursor === undefined ? wanted.from : this.#host.cursors.placeOf(id, wanted.cursor, wanted.from)
    return this.#host.feed.stream(id, { ...wanted, from }, () => {
      this.#host.checkOpen()
      this.#checkThere()
    })
  }

  collection<const D extends string | CollectionDefinition>(
    nameOrDefinition: D & ExactDefinition<D>,
  ): Collection<FieldsOf<D>> {
    if (typeof nameOrDefinition === 'string') return typed<D>(this.#handle(nameOrDefinition))
    const wanted = parseDefinition(nameOrDefinition)
    const collection = this.#handle(wanted.name)
    checkHasFields(collection.definition, wanted)
    return typed<D>(collection)
  }

  asOf(name: string, asOf: AsOf, options?: AsOfOptions): Promise<PastCollection> {
    this.#host.checkOpen()
    const { id: databaseId, name: database } = this.#checkThere()
    return LocalPastCollection.open(this.#host.past, { databaseId, database, collection: name }, asOf, options)
  }

  /** Id of the collection that this name or alias led to just after a record. */
  async #collectionIdAt(name: string, lsn: number): Promise<number> {
    const found = await this.#host.book.collectionAt(this.#entry.id, name, lsn)
    return found ?? refuseCollection(name, 'collection', ` at LSN ${lsn}`)
  }

  #find(name: string): LocalCollection {
    this.#host.checkOpen()
    this.#checkThere()
    // An invalid collection name gets the same answer as an absent collection.
    // During a replay, names mean what they mean at the end of the log, not at the position of the replay.
    const entry = this.#host.catalogAhead.resolve(this.#entry.id, name) ?? refuseCollection(name, 'collection')
    const collection = this.#host.loaded(entry.id)
    if (collection) return collection
    const details = { field: 'collection', value: name }
    throw new EngineError('collection_loading', `collection ${printed(name)} is still being loaded; try again`, details)
  }

  /** A handle of a collection stays with it, one of an alias follows the alias. */
  #handle(name: string): LocalCollection {
    const isAlias = this.#host.catalogAhead.alias(this.#entry.id, name) !== undefined
    return isAlias ? followAlias(() => this.#find(name)) : this.#find(name)
  }

  aliases(): readonly AliasDescription[] {
    return this.#naming.aliases()
  }

  putAlias(
    name: string,
    collection: string,
    options?: WriteOptions,
  ): Promise<Acknowledgement & Pick<AliasDescription, 'name' | 'collection'>> {
    return this.#naming.putAlias(name, collection, options)
  }

  deleteAlias(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#naming.deleteAlias(name, options)
  }

  promote(name: string, promotion: Promotion, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#naming.promote(name, promotion, options)
  }

  branches(name: string): readonly BranchDescription[] {
    return this.#naming.branches(this.#find(name).entry.id)
  }

  branch(
    name: string,
    request: BranchRequest,
    options?: RestoreOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    return this.backups.branch(name, request, options)
  }

  collections(): readonly CollectionDescription[] {
    this.#host.checkOpen()
    this.#checkThere()
    return this.#host.catalog
      .collectionsOf(this.#entry.id)
      .flatMap((entry) => this.#host.loaded(entry.id)?.describe() ?? [])
  }

  usage(): { readonly collections: number; readonly objects: number } {
    const { catalog, creating } = this.#host
    const { id } = this.#checkThere()
    let collections = 0
    let objects = 0
    for (const entry of catalog.collections) {
      if (entry.databaseId !== id) continue
      collections++
      objects += this.#host.loaded(entry.id)?.objects ?? 0
    }
    for (const reserved of creating) if (reserved.startsWith(`${id}/`)) collections++
    return { collections, objects }
  }

  dropCollection(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    return this.deleteCollection(name, options)
  }

  async deleteCollection(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    const call = { databaseId: this.#entry.id, parts: () => ['deleteCollection', String(name)] }
    return keyed(this.#host.keys, options, call, (claim) => this.#delete(name, claim))
  }

  async #delete(name: string, claim: Claim | undefined): Promise<Acknowledgement> {
    const collection = this.#find(name)
    this.#checkNoAliases(collection)
    let shut = false
    const makeDraft = () => {
      // Checked again in this writer's turn: another deletion may have come first.
      if (this.#find(name) !== collection) refuseCollection(name, 'collection')
      this.#checkNoAliases(collection)
      collection.checkOpen()
      collection.shut('dropped')
      shut = true
      return { kind: 'collection-dropped', collectionId: collection.entry.id } as const
    }
    const dropping = this.#host.commit(makeDraft, { claim })
    return dropping.catch((error) => {
      if (shut) collection.reopen()
      throw error
    })
  }

  #checkNoAliases({ entry, name }: LocalCollection): void {
    const leading = this.#host.catalog.aliasesOf(this.#entry.id).filter(({ collectionId }) => collectionId === entry.id)
    if (leading.length === 0) return
    const aliases = leading.map((alias) => alias.name)
    const message = `collection ${printed(name)} has aliases: ${aliases.slice(0, 10).join(', ')}; delete or switch them first`
    throw new EngineError('collection_has_aliases', message, { field: 'collection', value: name, aliases })
  }

  /** Throws when the database was deleted; a later one of the same name is a different database. */
  #checkThere(): DatabaseEntry {
    return this.#host.catalogAhead.databaseById(this.#entry.id) ?? refuseDatabase(this.#entry.name)
  }

  /** In the turn of the call the name is either reserved or refused. */
  async #reserving<T>(name: string, action: () => Promise<T>, field = 'name'): Promise<T> {
    const reserved = `${this.#entry.id}/${name}`
    this.#checkFree(name, reserved, field)
    this.#host.creating.add(reserved)
    try {
      return await action()
    } finally {
      this.#host.creating.delete(reserved)
    }
  }

  #checkFree(name: string, reserved: string, field: string): void {
    const { catalog, creating, naming, limits } = this.#host
    if (catalog.find(this.#entry.id, name) || creating.has(reserved)) refuseTaken('collection_exists', name, field)
    if (catalog.alias(this.#entry.id, name) || naming.has(reserved)) refuseTaken('alias_exists', name, field)
    if (catalog.collections.length + creating.size >= limits.collectionsMax) {
      throw new EngineError('limit_exceeded', `there are already ${limits.collectionsMax} collections, the limit`, {
        field,
        value: name,
        limit: limits.collectionsMax,
      })
    }
  }
}

codeDiskErrors(LocalDatabase)

/** A collection that has the fields of D. */
function typed<D extends string | CollectionDefinition>(collection: LocalCollection): Collection<FieldsOf<D>> {
  // Types of fields exist only for the compiler. A LocalCollection takes any field and checks it against its schema.
  return collection as unknown as Collection<FieldsOf<D>>
}
