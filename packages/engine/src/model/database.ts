// One database: its description, its collections, and what belongs to all of them.
import type { PastCollection } from './as-of.ts'
import type { Backups } from './backups.ts'
import type { ChangeStream, ChangesRequest, Cursors } from './changes.ts'
import type { Collection } from './collection.ts'
import type { DatabaseType } from './database-facts.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf } from './definition.ts'
import type { History } from './history.ts'
import type { AsOf, AsOfOptions } from './moment.ts'
import type { AliasDescription, BranchDescription, BranchRequest, Promotion } from './names.ts'
import type { Acknowledgement, CollectionDescription } from './object.ts'
import type { RestoreOptions, WriteOptions } from './requests.ts'

/** The properties of a database. */
export interface DatabaseDescription {
  readonly name: string
  readonly type: DatabaseType
  /** The data of an inactive database stays on disk; a server refuses its tokens. */
  readonly active: boolean
  /** Milliseconds since 1970; 0 for `default`, which every directory begins with. */
  readonly createdAt: number
}

/** A named set of collections with its own backups, aliases, and tokens. */
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
   * Follows the changes of the database: first those that the log and its archive hold from an LSN on, then each new one when it is
   * durable and applied. In the order of the log, each at least once. Throws invalid_argument, invalid_filter, limit_exceeded; the
   * iterator throws feed_position_lost when the next changes are not held, and database_not_found when the database was deleted.
   *
   * @example
   * ```ts
   * for await (const change of database.changes({ from: 1, collections: ['films'] })) console.log(change.lsn, change.kind)
   * ```
   */
  changes(request?: ChangesRequest): ChangeStream
  /** Places of consumers of the change feed, kept in the log. */
  readonly cursors: Cursors
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
   * Opens the collection that had this name at a moment, also if it was deleted since. Resolves when the moment is loaded. Throws
   * collection_not_found, moment_unreachable, moment_loading, invalid_argument.
   *
   * @example
   * ```ts
   * const past = await database.asOf('films', { lsn: 120 })
   * const film = await past.get('alien')
   * ```
   */
  asOf(name: string, asOf: AsOf, options?: AsOfOptions): Promise<PastCollection>
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
   * Lists the aliases.
   *
   * @example
   * ```ts
   * for (const { name, collection } of database.aliases()) console.log(`${name} leads to ${collection}`)
   * ```
   */
  aliases(): readonly AliasDescription[]
  /**
   * Creates an alias, or switches it to another collection. Every call that takes the name of a collection takes an alias. What
   * `collection` returns for one follows it: each call goes to the collection that the alias leads to at that moment. Throws
   * collection_not_found, collection_exists, invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * await database.putAlias('live', 'films_2')
   * ```
   */
  putAlias(
    name: string,
    collection: string,
    options?: WriteOptions,
  ): Promise<Acknowledgement & Pick<AliasDescription, 'name' | 'collection'>>
  /**
   * Deletes an alias; its collection stays. Throws alias_not_found.
   *
   * @example
   * ```ts
   * await database.deleteAlias('live')
   * ```
   */
  deleteAlias(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Creates a collection with the content of another one as of now or of an earlier moment, and records where it comes from. Progress
   * and errors are those of `backups.clone` and `backups.restorePast`. `contentLsn` is the newest record that it reflects.
   *
   * @example
   * ```ts
   * await database.branch('films', { name: 'films_trial' })
   * await database.branch('films', { name: 'films_before', asOf: { lsn: 1200 } })
   * ```
   */
  branch(
    name: string,
    request: BranchRequest,
    options?: RestoreOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }>
  /**
   * Lists a collection with everything that has a common ancestor with it, in the order of creation. Throws collection_not_found.
   *
   * @example
   * ```ts
   * for (const { name, parentId, parentLsn } of database.branches('films')) console.log(name, parentId, parentLsn)
   * ```
   */
  branches(name: string): readonly BranchDescription[]
  /**
   * Gives a collection the name and the aliases of another one, which is kept under a new name. All names change at once. Throws
   * collection_not_found, collection_exists, alias_exists, collection_loading, invalid_argument.
   *
   * @example
   * ```ts
   * await database.promote('films_trial', { over: 'films', keepAs: 'films_old' })
   * ```
   */
  promote(name: string, promotion: Promotion, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Deletes a collection with everything in it. Throws collection_not_found, collection_has_aliases.
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
