// One database: its description, its collections, and what belongs to all of them.
import type { Backups } from './backups.ts'
import type { Collection } from './collection.ts'
import type { DatabaseType } from './database-facts.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf } from './definition.ts'
import type { History } from './history.ts'
import type { Acknowledgement, CollectionDescription } from './object.ts'
import type { WriteOptions } from './requests.ts'

export interface DatabaseDescription {
  readonly name: string
  readonly type: DatabaseType
  /** The data of an inactive database stays on disk; a server refuses its tokens. */
  readonly active: boolean
  /** Milliseconds since 1970; 0 for `default`, which every directory begins with. */
  readonly createdAt: number
}

export interface Database {
  readonly name: string
  /**
   * Properties of the database. Throws database_not_found when it was deleted.
   *
   * @example
   * ```ts
   * const { type, active } = database.describe()
   * ```
   */
  describe(): DatabaseDescription
  readonly backups: Backups
  readonly history: History
  /**
   * Creates a collection and returns it with the types of its fields. A definition that is written out is checked by the compiler; one
   * from elsewhere is checked here. Throws invalid_argument, collection_exists, limit_exceeded.
   *
   * @example
   * ```ts
   * const films = await database.createCollection({
   *   name: 'films',
   *   fields: [{ name: 'plot', type: 'vector', params: { dimension: 3, spaceType: 'cosine' } }],
   * })
   * ```
   */
  createCollection<const D extends CollectionDefinition>(
    definition: D & ExactDefinition<D>,
    options?: WriteOptions,
  ): Promise<Collection<FieldsOf<D>>>
  /**
   * Returns a collection by name, with the types of its fields where its definition is given. Throws collection_not_found, and for a
   * definition field_not_found or invalid_argument where the collection has no such fields.
   *
   * @example
   * ```ts
   * const films = database.collection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
   * const any = database.collection('films')
   * ```
   */
  collection<const D extends string | CollectionDefinition>(
    nameOrDefinition: D & ExactDefinition<D>,
  ): Collection<FieldsOf<D>>
  /**
   * Describes all collections.
   *
   * @example
   * ```ts
   * for (const { name, objects } of database.collections()) console.log(name, objects)
   * ```
   */
  collections(): readonly CollectionDescription[]
  /**
   * Number of collections, with those being created or restored, and of objects in all of them. Costs little.
   *
   * @example
   * ```ts
   * const { collections, objects } = database.usage()
   * ```
   */
  usage(): { readonly collections: number; readonly objects: number }
  /**
   * Deletes a collection with everything in it. Throws collection_not_found.
   *
   * @example
   * ```ts
   * await database.deleteCollection('films')
   * ```
   */
  deleteCollection(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteCollection. */
  dropCollection(name: string, options?: WriteOptions): Promise<Acknowledgement>
}
