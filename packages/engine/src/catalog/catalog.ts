// Which databases and collections exist: a fold over the catalog's events. Names live in Maps; on disk only ids appear.
import type { CollectionDefinition } from '../definition.ts'
import { assert } from '../errors.ts'
import type { CatalogEvent } from '../events/event.ts'
import type { HashSeed } from '../memory/id-hash.ts'

export interface DatabaseEntry {
  readonly id: number
  readonly name: string
}

export interface CollectionEntry {
  readonly id: number
  readonly databaseId: number
  readonly definition: CollectionDefinition
  readonly createdAtMs: number
  readonly lsnCreated: number
  readonly hashSeed: HashSeed
}

/** The catalog as a manifest holds it. */
export interface CatalogState {
  /** The newest catalog event in it. It may be later than the checkpoint that holds this state. */
  readonly lsn: number
  /** Ids are never given out twice, so a record of a dropped collection can never reach one of the same name. */
  readonly nextCollectionId: number
  readonly databases: readonly DatabaseEntry[]
  readonly collections: readonly CollectionEntry[]
}

/** A new directory: one database, `default`, which plain deployments use. */
export const emptyCatalog: CatalogState = {
  lsn: 0,
  nextCollectionId: 1,
  databases: [{ id: 1, name: 'default' }],
  collections: [],
}

export class Catalog {
  #lsn: number
  #nextCollectionId: number
  readonly #databases = new Map<string, DatabaseEntry>()
  readonly #collections = new Map<number, CollectionEntry>()
  readonly #names = new Map<string, CollectionEntry>()

  constructor(state: CatalogState = emptyCatalog) {
    this.#lsn = state.lsn
    this.#nextCollectionId = state.nextCollectionId
    for (const database of state.databases) this.#databases.set(database.name, database)
    for (const collection of state.collections) this.#add(collection)
  }

  /** The newest catalog event applied. */
  get lsn(): number {
    return this.#lsn
  }

  get nextCollectionId(): number {
    return this.#nextCollectionId
  }

  get databases(): readonly DatabaseEntry[] {
    return [...this.#databases.values()]
  }

  get collections(): readonly CollectionEntry[] {
    return [...this.#collections.values()]
  }

  database(name: string): DatabaseEntry | undefined {
    return this.#databases.get(name)
  }

  find(databaseId: number, name: string): CollectionEntry | undefined {
    return this.#names.get(nameKey(databaseId, name))
  }

  byId(id: number): CollectionEntry | undefined {
    return this.#collections.get(id)
  }

  apply(lsn: number, event: CatalogEvent): void {
    this.#lsn = lsn
    if (event.kind === 'collection-created') {
      const { collectionId: id, databaseId, name, fields, hashSeed, timeMs: createdAtMs } = event
      assert(
        id >= this.#nextCollectionId && !this.find(databaseId, name),
        `collection ${id} is new, and so is its name`,
      )
      this.#nextCollectionId = id + 1
      this.#add({ id, databaseId, definition: { name, fields }, createdAtMs, lsnCreated: lsn, hashSeed })
    } else {
      const entry = this.#collections.get(event.collectionId)
      assert(entry, `collection ${event.collectionId} exists when it is dropped`)
      this.#collections.delete(entry.id)
      this.#names.delete(nameKey(entry.databaseId, entry.definition.name))
    }
  }

  state(): CatalogState {
    return {
      lsn: this.#lsn,
      nextCollectionId: this.#nextCollectionId,
      databases: this.databases,
      collections: this.collections,
    }
  }

  #add(entry: CollectionEntry): void {
    this.#collections.set(entry.id, entry)
    this.#names.set(nameKey(entry.databaseId, entry.definition.name), entry)
  }
}

/** Names hold no "/", so the key is unambiguous. */
function nameKey(databaseId: number, name: string): string {
  return `${databaseId}/${name}`
}
