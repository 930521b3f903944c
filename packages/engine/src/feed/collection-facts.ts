// The collections that records of the log name, also those that were deleted since: their database, name, and fields.
import type { Catalog } from '../catalog/catalog.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import type { Event } from '../events/event.ts'
import type { FieldSchema } from '../model/schema.ts'

/** A collection of the feed. */
export interface FedCollection {
  readonly databaseId: number
  readonly name: string
  /** Names, types and sizes never change. */
  readonly fields: readonly FieldSchema[]
}

/** Collections by their ids, which are never reused. */
export class CollectionFacts {
  readonly #known = new Map<number, FedCollection>()

  get(id: number): FedCollection | undefined {
    return this.#known.get(id)
  }

  learn(catalog: Pick<Catalog, 'collections'>): void {
    for (const entry of catalog.collections) this.add(entry)
  }

  add({ id, databaseId, definition }: Pick<CollectionEntry, 'id' | 'databaseId' | 'definition'>): void {
    if (!this.#known.has(id)) this.#known.set(id, { databaseId, ...definition })
  }

  /** Call it with every event, in the order of the log. */
  note(event: Event): void {
    if (event.kind !== 'collection-created' && event.kind !== 'collection-restored') return
    const { collectionId: id, databaseId, name, fields } = event
    this.add({ id, databaseId, definition: { name, fields } })
  }
}
