// One database as its users see it: collections by name.
import { randomBytes } from 'node:crypto'
import { DatabaseBackups } from './backup/database-backups.ts'
import type { EngineBackups } from './backup/engine-backups.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { DatabaseEntry } from './catalog/catalog-state.ts'
import type { LocalCollection } from './collection/collection.ts'
import type { CommitOptions, EventDraft } from './commit.ts'
import { describeDatabase, refuseDatabase } from './control.ts'
import { EngineError } from './errors.ts'
import { DatabaseHistory } from './history/database-history.ts'
import { checkHasFields, parseDefinition } from './input/definition.ts'
import type { Limits } from './limits.ts'
import type { Collection } from './model/collection.ts'
import type { Database, DatabaseDescription } from './model/database.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf } from './model/definition.ts'
import { parseName, printed } from './model/ids.ts'
import type { Acknowledgement, CollectionDescription } from './model/object.ts'
import type { WriteOptions } from './model/requests.ts'
import { type FieldSchema, rulesNewest, withRules } from './model/schema.ts'
import { keyed } from './requests/keyed.ts'
import type { Claim, KeptRequests } from './requests/request-keys.ts'

type CatalogDraft = Extract<EventDraft, { kind: 'collection-created' | 'collection-restored' | 'collection-dropped' }>

/** The engine's functions that databases use. */
export interface DatabaseHost {
  readonly catalog: Catalog
  /** The state at the end of the log, also while the log is replayed. */
  readonly catalogAhead: Catalog
  readonly limits: Limits
  /** Names of collections that are being created; a name is reserved in the turn in which it is found free. */
  readonly creating: Set<string>
  loaded(id: number): LocalCollection | undefined
  /** Returns an id that was never used before. */
  nextCollectionId(): number
  readonly keys: KeptRequests
  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement>
  readonly backups: EngineBackups
  checkOpen(): void
  /** Throws `unsupported_in_cluster` for what reads or writes files that other nodes do not have. */
  checkOwnFiles(what: string): void
}

/** A database of an engine. */
export class LocalDatabase implements Database {
  readonly #entry: DatabaseEntry
  readonly #host: DatabaseHost

  constructor(entry: DatabaseEntry, host: DatabaseHost) {
    this.#entry = entry
    this.#host = host
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
    const { name, fields: schemas } = parseDefinition(definition)
    const fields = schemas.map((field) => withRules(field, rulesNewest))
    this.#checkThere()
    const parts = () => ['createCollection', name, JSON.stringify(fields)]
    const call = { databaseId: this.#entry.id, parts }
    await keyed(this.#host.keys, options, call, (claim) => this.#create(name, fields, claim))
    return typed<D>(this.#find(name))
  }

  #create(name: string, fields: readonly FieldSchema[], claim: Claim | undefined): Promise<Acknowledgement> {
    const host = this.#host
    return this.#reserving(name, async () => {
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
            fields,
            hashSeed: { low: seed.readUInt32LE(0), high: seed.readUInt32LE(4) },
          }
        },
        { claim, facts: { fields } },
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
      collectionIdAt: async (name, lsn) => {
        const found = await host.backups.book.collectionAt(this.#entry.id, name, lsn)
        return found ?? refuseCollection(name, ` at LSN ${lsn}`)
      },
      reserving: (wanted, action) => {
        const name = parseName(wanted, 'target')
        return this.#reserving(name, () => action(name))
      },
      checkOpen: () => {
        host.checkOpen()
        host.checkOwnFiles('backups, restores, and clones')
        this.#checkThere()
      },
    })
  }

  get history(): DatabaseHistory {
    const { backups } = this.#host
    return new DatabaseHistory(this.#entry.id, backups.book, () => {
      this.#host.checkOpen()
      this.#host.checkOwnFiles('the list of past events')
      this.#checkThere()
    })
  }

  collection<const D extends string | CollectionDefinition>(
    nameOrDefinition: D & ExactDefinition<D>,
  ): Collection<FieldsOf<D>> {
    if (typeof nameOrDefinition === 'string') return typed<D>(this.#find(nameOrDefinition))
    const wanted = parseDefinition(nameOrDefinition)
    const collection = this.#find(wanted.name)
    checkHasFields(collection.definition, wanted)
    return typed<D>(collection)
  }

  #find(name: string): LocalCollection {
    this.#host.checkOpen()
    this.#checkThere()
    // An invalid collection name gets the same answer as an absent collection.
    const entry = this.#host.catalog.find(this.#entry.id, name)
    const collection = entry && this.#host.loaded(entry.id)
    if (collection) return collection
    const details = { field: 'collection', value: name }
    // During a replay the end of the log decides which collections exist, not the position of the replay.
    if (this.#host.catalogAhead.find(this.#entry.id, name))
      throw new EngineError(
        'collection_loading',
        `collection ${printed(name)} is still being loaded; try again`,
        details,
      )
    return refuseCollection(name)
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
    let shut = false
    const makeDraft = () => {
      // Checked again in this writer's turn: another deletion may have come first.
      if (this.#find(name) !== collection) refuseCollection(name)
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

  /** Throws when the database was deleted; a later one of the same name is a different database. */
  #checkThere(): DatabaseEntry {
    return this.#host.catalogAhead.databaseById(this.#entry.id) ?? refuseDatabase(this.#entry.name)
  }

  /** In the turn of the call the name is either reserved or refused. */
  async #reserving<T>(name: string, action: () => Promise<T>): Promise<T> {
    const reserved = `${this.#entry.id}/${name}`
    this.#checkFree(name, reserved)
    this.#host.creating.add(reserved)
    try {
      return await action()
    } finally {
      this.#host.creating.delete(reserved)
    }
  }

  #checkFree(name: string, reserved: string): void {
    const { catalog, creating, limits } = this.#host
    if (catalog.find(this.#entry.id, name) || creating.has(reserved)) {
      throw new EngineError('collection_exists', `a collection ${printed(name)} already exists`, {
        field: 'name',
        value: name,
      })
    }
    if (catalog.collections.length + creating.size >= limits.collectionsMax) {
      throw new EngineError('limit_exceeded', `there are already ${limits.collectionsMax} collections, the limit`, {
        field: 'name',
        value: name,
        limit: limits.collectionsMax,
      })
    }
  }
}

/** A collection that has the fields of D. */
function typed<D extends string | CollectionDefinition>(collection: LocalCollection): Collection<FieldsOf<D>> {
  // Types of fields exist only for the compiler. A LocalCollection takes any field and checks it against its schema.
  return collection as unknown as Collection<FieldsOf<D>>
}

function refuseCollection(name: string, when = ''): never {
  const details = { field: 'collection', value: name }
  throw new EngineError('collection_not_found', `there is no collection ${printed(name)}${when}`, details)
}
