// The databases, tokens, settings and collections, folded from the catalog's events. Names are kept in Maps; on disk
// only ids appear.

import { createHash } from 'node:crypto'
import { assert } from '../errors.ts'
import type { TokenFacts } from '../model/database-facts.ts'
import type {
  AliasPut,
  BranchParent,
  CatalogEvent,
  CollectionCreated,
  CollectionPromoted,
  CollectionRestored,
  DatabaseCreated,
  DatabaseDropped,
} from '../model/event.ts'
import { nameInKey } from '../model/ids.ts'
import { ttlOf } from '../model/schema.ts'
import {
  type AliasEntry,
  type CatalogImport,
  type CatalogState,
  type CollectionEntry,
  type CursorEntry,
  type DatabaseEntry,
  emptyCatalog,
  type FormerParent,
  type TokenEntry,
} from './catalog-state.ts'

export class Catalog {
  #lsn: number
  #nextCollectionId: number
  #nextDatabaseId: number
  readonly #databases = new Map<number, DatabaseEntry>()
  readonly #databaseIds = new Map<string, number>()
  readonly #collections = new Map<number, CollectionEntry>()
  readonly #collectionNames = new Map<string, CollectionEntry>()
  /** Keyed by database and name. */
  readonly #aliases = new Map<string, AliasEntry>()
  readonly #formerParents = new Map<number, FormerParent>()
  /** Number of branches of each collection, existing and remembered ones. */
  readonly #branches = new Map<number, number>()
  /** Keyed by database and name. */
  readonly #tokens = new Map<string, TokenEntry>()
  readonly #tokensByHash = new Map<string, TokenEntry>()
  readonly #settings: Map<string, string>
  readonly #cursors = new Map<string, CursorEntry>()
  readonly #imports = new Map<string, CatalogImport>()

  constructor(state: CatalogState = emptyCatalog) {
    this.#lsn = state.lsn
    this.#nextCollectionId = state.nextCollectionId
    this.#nextDatabaseId = state.nextDatabaseId
    this.#settings = new Map(state.settings)
    for (const database of state.databases) this.#addDatabase(database)
    for (const token of state.tokens) this.#addToken(token)
    for (const collection of state.collections) this.#addCollection(collection)
    for (const cursor of state.cursors ?? []) this.#cursors.set(nameKey(cursor.databaseId, cursor.name), cursor)
    for (const alias of state.aliases ?? []) this.#aliases.set(nameKey(alias.databaseId, alias.name), alias)
    for (const former of state.formerParents ?? []) this.#formerParents.set(former.id, former)
    for (const { parent } of [...state.collections, ...this.#formerParents.values()]) this.#countBranch(parent, 1)
    for (const image of state.imports ?? []) this.#imports.set(image.id, image)
  }

  /** LSN of the newest catalog event applied. */
  get lsn(): number {
    return this.#lsn
  }

  get nextCollectionId(): number {
    return this.#nextCollectionId
  }

  get nextDatabaseId(): number {
    return this.#nextDatabaseId
  }

  get databases(): readonly DatabaseEntry[] {
    return [...this.#databases.values()]
  }

  get collections(): readonly CollectionEntry[] {
    return [...this.#collections.values()]
  }

  get imports(): readonly CatalogImport[] {
    return [...this.#imports.values()]
  }

  /** Called when the files of an image are removed, because no record that refers to it can be replayed any more. */
  forgetImport(id: string): void {
    this.#imports.delete(id)
  }

  get settings(): ReadonlyMap<string, string> {
    return this.#settings
  }

  database(name: string): DatabaseEntry | undefined {
    return this.#databases.get(this.#databaseIds.get(name) ?? 0)
  }

  databaseById(id: number): DatabaseEntry | undefined {
    return this.#databases.get(id)
  }

  collectionsOf(databaseId: number): readonly CollectionEntry[] {
    return this.collections.filter((entry) => entry.databaseId === databaseId)
  }

  /** The collection of this name; not that of an alias. */
  find(databaseId: number, name: string): CollectionEntry | undefined {
    return this.#collectionNames.get(nameKey(databaseId, name))
  }

  alias(databaseId: number, name: string): AliasEntry | undefined {
    return this.#aliases.get(nameKey(databaseId, name))
  }

  aliasesOf(databaseId: number): readonly AliasEntry[] {
    return [...this.#aliases.values()].filter((alias) => alias.databaseId === databaseId)
  }

  /** The collection that a name or an alias leads to. */
  resolve(databaseId: number, name: string): CollectionEntry | undefined {
    return this.find(databaseId, name) ?? this.#collections.get(this.alias(databaseId, name)?.collectionId ?? 0)
  }

  /** Deleted collections that existing ones of the database descend from. */
  formerParentsOf(databaseId: number): readonly FormerParent[] {
    return [...this.#formerParents.values()].filter((parent) => parent.databaseId === databaseId)
  }

  byId(id: number): CollectionEntry | undefined {
    return this.#collections.get(id)
  }

  tokensOf(databaseId: number): readonly TokenEntry[] {
    return [...this.#tokens.values()].filter((token) => token.databaseId === databaseId)
  }

  cursorsOf(databaseId: number): readonly CursorEntry[] {
    return [...this.#cursors.values()].filter((cursor) => cursor.databaseId === databaseId)
  }

  cursor(databaseId: number, name: string): CursorEntry | undefined {
    return this.#cursors.get(nameKey(databaseId, name))
  }

  token(databaseId: number, name: string): TokenEntry | undefined {
    return this.#tokens.get(nameKey(databaseId, name))
  }

  tokenByHash(hash: string): TokenEntry | undefined {
    return this.#tokensByHash.get(hash)
  }

  apply(lsn: number, event: CatalogEvent): void {
    this.#lsn = lsn
    switch (event.kind) {
      case 'collection-created':
        this.#createCollection(lsn, event)
        break
      case 'collection-restored':
        this.#createCollection(lsn, event)
        this.#imports.set(event.importId, { id: event.importId, lsn })
        break
      case 'collection-dropped':
        this.#removeCollection(event.collectionId, event.timeMs)
        break
      case 'database-created':
        this.#createDatabase(event)
        break
      case 'database-dropped':
        this.#removeDatabase(event)
        break
      case 'database-changed':
        this.#addDatabase({ ...this.#require(event.databaseId), type: event.type, active: event.active })
        break
      case 'token-put':
        this.#putToken(this.#require(event.databaseId).id, event.token, event.timeMs)
        break
      case 'token-dropped':
        this.#removeToken(event.databaseId, event.name)
        break
      case 'setting-put':
        this.#settings.set(event.key, event.value)
        break
      case 'cursor-put': {
        const { databaseId, name, lsn: lsnProcessed, timeMs: updatedAtMs } = event
        this.#require(databaseId)
        this.#cursors.set(nameKey(databaseId, name), { databaseId, name, lsn: lsnProcessed, updatedAtMs })
        break
      }
      case 'cursor-dropped':
        assert(
          this.#cursors.delete(nameKey(event.databaseId, event.name)),
          `cursor ${event.name} exists when it is deleted`,
        )
        break
      case 'alias-put':
        this.#putAlias(lsn, event)
        break
      case 'alias-dropped':
        assert(
          this.#aliases.delete(nameKey(event.databaseId, event.name)),
          `alias ${event.name} exists when it is deleted`,
        )
        break
      case 'collection-promoted':
        this.#promote(lsn, event)
        break
      case 'request-answered':
    }
  }

  state(): CatalogState {
    return {
      lsn: this.#lsn,
      nextCollectionId: this.#nextCollectionId,
      nextDatabaseId: this.#nextDatabaseId,
      databases: this.databases,
      tokens: [...this.#tokens.values()],
      settings: [...this.#settings],
      collections: this.collections,
      // A digest without cursors is that of earlier versions.
      ...(this.#cursors.size > 0 && { cursors: [...this.#cursors.values()] }),
      ...(this.#aliases.size > 0 && { aliases: [...this.#aliases.values()] }),
      ...(this.#formerParents.size > 0 && { formerParents: [...this.#formerParents.values()] }),
      imports: this.imports,
    }
  }

  /** Hash of everything that a replay must reproduce, in hexadecimal. It excludes the list of images still kept. */
  digest(): string {
    return createHash('sha256')
      .update(JSON.stringify({ ...this.state(), imports: undefined }))
      .digest('hex')
  }

  #require(databaseId: number): DatabaseEntry {
    const entry = this.#databases.get(databaseId)
    assert(entry, `database ${databaseId} exists`)
    return entry
  }

  #createDatabase({ databaseId: id, name, type, token, timeMs: createdAtMs }: DatabaseCreated): void {
    assert(id >= this.#nextDatabaseId && !this.database(name), `database ${id} is new, and so is its name`)
    this.#nextDatabaseId = id + 1
    this.#addDatabase({ id, name, type, active: true, createdAtMs })
    if (token) this.#putToken(id, token, createdAtMs)
  }

  #addDatabase(entry: DatabaseEntry): void {
    this.#databases.set(entry.id, entry)
    this.#databaseIds.set(entry.name, entry.id)
  }

  #removeDatabase({ databaseId, collectionIds, timeMs }: DatabaseDropped): void {
    const { name } = this.#require(databaseId)
    for (const { name } of this.aliasesOf(databaseId)) this.#aliases.delete(nameKey(databaseId, name))
    for (const id of collectionIds) this.#removeCollection(id, timeMs)
    for (const token of this.tokensOf(databaseId)) this.#removeToken(databaseId, token.name)
    for (const { name: cursor } of this.cursorsOf(databaseId)) this.#cursors.delete(nameKey(databaseId, cursor))
    assert(this.collectionsOf(databaseId).length === 0, `database ${databaseId} is deleted with all its collections`)
    this.#databases.delete(databaseId)
    this.#databaseIds.delete(name)
  }

  #putToken(databaseId: number, { name, kind, hash }: TokenFacts, createdAtMs: number): void {
    assert(!this.token(databaseId, name) && !this.#tokensByHash.has(hash), `token ${name} is new`)
    this.#addToken({ databaseId, name, kind, hash, createdAtMs })
  }

  #addToken(token: TokenEntry): void {
    this.#tokens.set(nameKey(token.databaseId, token.name), token)
    this.#tokensByHash.set(token.hash, token)
  }

  #removeToken(databaseId: number, name: string): void {
    const token = this.token(databaseId, name)
    assert(token, `token ${name} exists when it is deleted`)
    this.#tokens.delete(nameKey(databaseId, name))
    this.#tokensByHash.delete(token.hash)
  }

  #createCollection(lsn: number, event: CollectionCreated | CollectionRestored): void {
    const { collectionId: id, databaseId, name } = event
    // A restore takes its id long before its record is written, so ids may arrive out of order.
    assert(
      !this.#collections.has(id) && this.#databases.has(databaseId) && !this.resolve(databaseId, name),
      `collection ${id} is new, so is its name, and its database exists`,
    )
    this.#nextCollectionId = Math.max(this.#nextCollectionId, id + 1)
    const entry = entryOf(lsn, event)
    this.#addCollection(entry)
    this.#countBranch(entry.parent, 1)
  }

  #addCollection(entry: CollectionEntry): void {
    this.#collections.set(entry.id, entry)
    this.#collectionNames.set(nameKey(entry.databaseId, entry.definition.name), entry)
  }

  #removeCollection(id: number, deletedAtMs: number): void {
    const entry = this.#collections.get(id)
    assert(entry, `collection ${id} exists when it is deleted`)
    assert(!this.#hasAliases(entry), `collection ${id} has no aliases when it is deleted`)
    this.#collections.delete(id)
    this.#keepAncestors(entry, deletedAtMs)
    this.#collectionNames.delete(nameKey(entry.databaseId, entry.definition.name))
    const image = this.#imports.get(entry.restored?.importId ?? '')
    if (image) this.#imports.set(image.id, { ...image, deletedAtMs })
  }

  #hasAliases({ id, databaseId }: CollectionEntry): boolean {
    return this.aliasesOf(databaseId).some(({ collectionId }) => collectionId === id)
  }

  #putAlias(lsn: number, { databaseId, name, targetId: collectionId, timeMs }: AliasPut): void {
    const isFree = !this.find(databaseId, name)
    const isThere = this.#collections.get(collectionId)?.databaseId === databaseId
    assert(isFree && isThere, `alias ${name} leads to a collection of its database, and no collection has its name`)
    this.#aliases.set(nameKey(databaseId, name), { databaseId, name, collectionId, lsn, timeMs })
  }

  #promote(lsn: number, { databaseId, promotedId, replacedId, keptAs, timeMs }: CollectionPromoted): void {
    const promoted = this.#collections.get(promotedId)
    const replaced = this.#collections.get(replacedId)
    assert(
      promoted?.databaseId === databaseId && replaced?.databaseId === databaseId && promoted !== replaced,
      `collections ${promotedId} and ${replacedId} exist when one replaces the other`,
    )
    for (const { definition } of [promoted, replaced])
      this.#collectionNames.delete(nameKey(databaseId, definition.name))
    assert(!this.resolve(databaseId, keptAs), `no collection or alias has the name ${keptAs}`)
    this.#addCollection(renamed(promoted, replaced.definition.name, lsn))
    this.#addCollection(renamed(replaced, keptAs, lsn))
    for (const alias of this.aliasesOf(databaseId))
      if (alias.collectionId === replacedId)
        this.#aliases.set(nameKey(databaseId, alias.name), { ...alias, collectionId: promotedId, lsn, timeMs })
  }

  /** A deleted collection is remembered as long as an existing one descends from it. */
  #keepAncestors({ id, databaseId, definition, createdAtMs, parent }: CollectionEntry, deletedAtMs: number): void {
    const former = { id, databaseId, name: definition.name, createdAtMs, deletedAtMs, ...(parent && { parent }) }
    this.#formerParents.set(id, former)
    for (let last: FormerParent | undefined = former; last && !this.#branches.has(last.id); ) {
      this.#formerParents.delete(last.id)
      this.#countBranch(last.parent, -1)
      last = this.#formerParents.get(last.parent?.id ?? 0)
    }
  }

  #countBranch(parent: BranchParent | undefined, change: 1 | -1): void {
    if (parent === undefined) return
    const count = (this.#branches.get(parent.id) ?? 0) + change
    if (count > 0) this.#branches.set(parent.id, count)
    else this.#branches.delete(parent.id)
  }
}

/** The catalog entry of a collection that a record created. */
export function entryOf(lsn: number, event: CollectionCreated | CollectionRestored): CollectionEntry {
  const { collectionId: id, databaseId, name, fields, hashSeed, timeMs: createdAtMs } = event
  const entry = {
    id,
    databaseId,
    definition: { name, fields, ...ttlOf('ttlSeconds' in event ? event : {}) },
    createdAtMs,
    lsnCreated: lsn,
    hashSeed,
  }
  if (event.kind === 'collection-created') return entry
  const { importId, imageSha256, digest, parent } = event
  return { ...entry, restored: { importId, imageSha256, digest }, ...(parent && { parent }) }
}

function renamed({ definition, ...entry }: CollectionEntry, name: string, lsnNamed: number): CollectionEntry {
  return { ...entry, definition: { ...definition, name }, lsnNamed }
}

/** Names contain no "/", so the key is unambiguous. */
function nameKey(databaseId: number, name: string): string {
  return `${databaseId}/${nameInKey(name)}`
}
