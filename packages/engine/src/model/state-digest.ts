// What engines on one log compare.

/** The digest of one part of the state after a record. */
export interface StateDigest {
  /** The id of a collection; 0 for the catalog. */
  readonly part: number
  /** The name of the collection; undefined for the catalog. */
  readonly name?: string
  /** The newest record that changed the part, or a later one. */
  readonly lsn: number
  /** Equal for equal states. */
  readonly digest: string
}
