// The catalog as stored in a manifest.

import type { HashSeed } from '../memory/id-hash.ts'
import type { DatabaseType, TokenFacts } from '../model/database-facts.ts'
import type { BranchParent } from '../model/event.ts'
import type { CollectionSchema } from '../model/schema.ts'

export interface DatabaseEntry {
  readonly id: number
  readonly name: string
  readonly type: DatabaseType
  /** The data of an inactive database stays on disk, and the server does not serve it. */
  readonly active: boolean
  readonly createdAtMs: number
}

export interface TokenEntry extends TokenFacts {
  readonly databaseId: number
  readonly createdAtMs: number
}

/** The position of a consumer of the change feed. */
export interface CursorEntry {
  readonly databaseId: number
  readonly name: string
  /** It has processed every change up to this LSN. */
  readonly lsn: number
  /** Time of the record that said so. */
  readonly updatedAtMs: number
}

export interface CollectionEntry {
  readonly id: number
  readonly databaseId: number
  readonly definition: CollectionSchema
  readonly createdAtMs: number
  readonly lsnCreated: number
  readonly hashSeed: HashSeed
  /** The image of the restore that created the collection, if any. */
  readonly restored?: RestoredFrom
  /** LSN since which it has its name. Absent if it always had it. */
  readonly lsnNamed?: number
  /** Present in branches. */
  readonly parent?: BranchParent
}

/** A name that leads to a collection of its database. */
export interface AliasEntry {
  readonly databaseId: number
  readonly name: string
  readonly collectionId: number
  /** LSN since which it leads there, and the time of that record. */
  readonly lsn: number
  readonly timeMs: number
}

/** A deleted collection that an existing one descends from. */
export interface FormerParent {
  readonly id: number
  readonly databaseId: number
  /** Its last name. */
  readonly name: string
  readonly createdAtMs: number
  readonly deletedAtMs: number
  readonly parent?: BranchParent
}

export interface RestoredFrom {
  readonly importId: string
  readonly imageSha256: string
  readonly digest: string
}

/** An image that a record of the log refers to. */
export interface CatalogImport {
  readonly id: string
  /** LSN of that record. */
  readonly lsn: number
  /** When its collection was deleted. Absent while the collection exists, and for deletions recorded by earlier versions. */
  readonly deletedAtMs?: number
}

export interface CatalogState {
  /** LSN of the newest catalog event it reflects. It may be later than the checkpoint that holds this state. */
  readonly lsn: number
  /** Ids are never reused, so a record of a deleted collection can never affect one of the same name. */
  readonly nextCollectionId: number
  readonly nextDatabaseId: number
  readonly databases: readonly DatabaseEntry[]
  readonly tokens: readonly TokenEntry[]
  readonly settings: readonly (readonly [key: string, value: string])[]
  readonly collections: readonly CollectionEntry[]
  /** Absent while there are none. */
  readonly cursors?: readonly CursorEntry[]
  /** Absent if there are none, as in catalogs of earlier versions. */
  readonly aliases?: readonly AliasEntry[]
  /** Absent if there are none. */
  readonly formerParents?: readonly FormerParent[]
  /** Images that the log or its archive may still refer to. */
  readonly imports?: readonly CatalogImport[]
}

export const defaultDatabase = 'default'

/** The catalog of a new directory: one database, `default`. */
export const emptyCatalog: CatalogState = {
  lsn: 0,
  nextCollectionId: 1,
  nextDatabaseId: 2,
  databases: [{ id: 1, name: defaultDatabase, type: 'enterprise', active: true, createdAtMs: 0 }],
  tokens: [],
  settings: [],
  collections: [],
}

/** Manifests of format 1 know only the database `default`, and neither tokens nor settings. */
export function catalogOfFormat1(state: Pick<CatalogState, 'lsn' | 'nextCollectionId' | 'collections'>): CatalogState {
  const { lsn, nextCollectionId, collections } = state
  return { ...emptyCatalog, lsn, nextCollectionId, collections }
}
