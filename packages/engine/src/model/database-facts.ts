// Properties of a database and its tokens that events contain.

/** The type of a database: size limits belong to it, which the server enforces. Numbered in this order. */
export const databaseTypes = ['starter', 'pro', 'scale', 'enterprise'] as const
/** The quota class of a database. */
export type DatabaseType = (typeof databaseTypes)[number]
/** Read and write, or only read. Numbered in this order. */
export const tokenKinds = ['rw', 'r'] as const
/** What a token may do: read and write (`rw`), or only read (`r`). */
export type TokenKind = (typeof tokenKinds)[number]

/** A token as the log stores it. */
export interface TokenFacts {
  /** Unique inside the database; a label for users. */
  readonly name: string
  readonly kind: TokenKind
  /** SHA-256 of the whole token, in hexadecimal. The token itself is not stored. */
  readonly hash: string
}
