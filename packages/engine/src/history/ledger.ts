// Maps every collection, including deleted ones, to its database. It decides who may see a record.
import type { RecordFacts } from '../events/record-facts.ts'

export interface Owned {
  readonly id: number
  readonly databaseId: number
  readonly name: string
  readonly lsnCreated: number
  /** LSN of its deletion, when known. */
  readonly lsnDropped?: number
}

export class Ledger {
  readonly #collections = new Map<number, Owned>()

  add(collection: Owned): void {
    if (!this.#collections.has(collection.id)) this.#collections.set(collection.id, collection)
  }

  note({ lsn, catalog }: RecordFacts): void {
    if (catalog?.kind === 'collection-created' || catalog?.kind === 'collection-restored') {
      const { collectionId: id, databaseId, name } = catalog
      this.add({ id, databaseId, name, lsnCreated: lsn })
    } else if (catalog?.kind === 'collection-dropped') {
      const dropped = this.#collections.get(catalog.collectionId)
      if (dropped) this.#collections.set(dropped.id, { ...dropped, lsnDropped: lsn })
    }
  }

  byId(id: number): Owned | undefined {
    return this.#collections.get(id)
  }

  /** The collections of a database; with `name`, only those that ever had that name. */
  collectionsOf(databaseId: number, name?: string): readonly Owned[] {
    return [...this.#collections.values()].filter(
      (owned) => owned.databaseId === databaseId && (name === undefined || owned.name === name),
    )
  }
}
