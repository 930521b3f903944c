// What a server or an engine returns about the names of collections.

/** A name that leads to a collection. */
export interface AliasInfo {
  readonly name: string
  /** Name of the collection. */
  readonly collection: string
  /** LSN since which the alias leads there. */
  readonly lsn: number
  /** Time of that record. */
  readonly changedAt: Date
}

/** A moment of a collection: the state just after a record, or after the last record not later than a time. */
export type BranchMoment = { readonly lsn: number } | { readonly time: Date }

/** A collection in a tree of branches. */
export interface BranchInfo {
  readonly id: number
  /** The last name of a deleted collection. */
  readonly name: string
  /** The collection that it is a branch of; undefined in the first one. */
  readonly parentId?: number
  /** It has the content of its parent as of this record. */
  readonly parentLsn?: number
  readonly createdAt: Date
  /** Present in a deleted ancestor. */
  readonly deletedAt?: Date
  /** Absent in a deleted ancestor. */
  readonly objects?: number
}
