// One database as its users see it: collections by name.
import { randomBytes } from 'node:crypto'
import type { Collection, Database } from './api.ts'
import type { Catalog, DatabaseEntry } from './catalog/catalog.ts'
import type { LocalCollection } from './collection.ts'
import type { EventDraft } from './commit.ts'
import { EngineError } from './errors.ts'
import { printed } from './ids.ts'
import type { Limits } from './limits.ts'
import type { Acknowledgement, CollectionDescription } from './object.ts'
import { parseDefinition } from './parse-definition.ts'

type CatalogDraft = Extract<EventDraft, { kind: 'collection-created' | 'collection-dropped' }>

/** What the engine lends its databases. */
export interface DatabaseHost {
  readonly catalog: Catalog
  readonly limits: Limits
  /** Names of collections on their way into the catalog; a name is reserved in the turn in which it is found free. */
  readonly creating: Set<string>
  loaded(id: number): LocalCollection | undefined
  /** An id never used before. */
  nextCollectionId(): number
  commit(makeDraft: () => CatalogDraft): Promise<Acknowledgement>
  checkOpen(): void
}

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

  async createCollection(raw: unknown): Promise<Collection> {
    const host = this.#host
    host.checkOpen()
    const { name, fields } = parseDefinition(raw)
    const reserved = `${this.#entry.id}/${name}`
    this.#checkFree(name, reserved)
    host.creating.add(reserved)
    try {
      const seed = randomBytes(8)
      await host.commit(() => ({
        kind: 'collection-created',
        collectionId: host.nextCollectionId(),
        databaseId: this.#entry.id,
        name,
        fields,
        hashSeed: { low: seed.readUInt32LE(0), high: seed.readUInt32LE(4) },
      }))
      return this.collection(name)
    } finally {
      host.creating.delete(reserved)
    }
  }

  collection(name: string): LocalCollection {
    this.#host.checkOpen()
    // A name that no collection can have is told apart from an absent one by nothing.
    const entry = this.#host.catalog.find(this.#entry.id, name)
    const collection = entry && this.#host.loaded(entry.id)
    if (collection) return collection
    throw new EngineError('collection_not_found', `there is no collection ${printed(name)}`, {
      field: 'collection',
      value: name,
    })
  }

  collections(): readonly CollectionDescription[] {
    this.#host.checkOpen()
    return this.#host.catalog.collections
      .filter((entry) => entry.databaseId === this.#entry.id)
      .flatMap((entry) => this.#host.loaded(entry.id)?.describe() ?? [])
  }

  async dropCollection(name: string): Promise<Acknowledgement> {
    const collection = this.collection(name)
    let shut = false
    const dropping = this.#host.commit(() => {
      // Again, now that it is this writer's turn: another drop may have come first.
      if (this.collection(name) !== collection)
        throw new EngineError('collection_not_found', `there is no collection ${printed(name)}`, { value: name })
      collection.checkOpen()
      collection.shut('dropped')
      shut = true
      return { kind: 'collection-dropped', collectionId: collection.entry.id }
    })
    return dropping.catch((error) => {
      if (shut) collection.reopen()
      throw error
    })
  }

  #checkFree(name: string, reserved: string): void {
    const { catalog, creating, limits } = this.#host
    if (catalog.find(this.#entry.id, name) || creating.has(reserved)) {
      throw new EngineError('collection_exists', `a collection ${printed(name)} exists already`, {
        field: 'name',
        value: name,
      })
    }
    if (catalog.collections.length + creating.size >= limits.collectionsMax) {
      throw new EngineError('limit_exceeded', `there are ${limits.collectionsMax} collections, which is the limit`, {
        field: 'name',
        value: name,
        limit: limits.collectionsMax,
      })
    }
  }
}
