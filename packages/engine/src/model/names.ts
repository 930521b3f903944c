// What names of collections lead to: aliases, branches, and promotion.
import type { Moment } from './backups.ts'

/** A name that leads to a collection of its database. */
export interface AliasDescription {
  readonly name: string
  /** Name of the collection. */
  readonly collection: string
  /** LSN since which the alias leads there. */
  readonly lsn: number
  /** Time of that record in milliseconds since 1970. */
  readonly changedAt: number
}

/** Which collection a promoted one replaces. */
export interface Promotion {
  /** Name of the collection that is replaced. */
  readonly over: string
  /** Its name afterwards: a free one, or that of the promoted collection. */
  readonly keepAs: string
}

/** A new branch. */
export interface BranchRequest {
  readonly name: string
  /** The branch has the content as of this moment; now by default. */
  readonly asOf?: Moment | undefined
}

/** A collection in a tree of branches. */
export interface BranchDescription {
  readonly id: number
  /** The last name of a deleted collection. */
  readonly name: string
  /** The collection that it is a branch of; absent in the first one. */
  readonly parentId?: number
  /** It has the content of its parent as of this record. */
  readonly parentLsn?: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Present in a deleted collection, which is listed as long as one of its descendants exists. */
  readonly deletedAt?: number
  /** Absent in a deleted collection. */
  readonly objects?: number
}
