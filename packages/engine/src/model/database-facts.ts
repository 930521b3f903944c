// Properties of a database and its tokens that events contain.

/** The type of a database: size limits belong to it, which the server enforces. Numbered in this order. */
export const databaseTypes = ['starter', 'pro', 'scale', 'enterprise'] as const
export type DatabaseType = (typeof databaseTypes)[number]
/** Read and write, or only read. Numbered in this order. */
export const tokenKinds = ['rw', 'r'] as const
export type TokenKind = (typeof tokenKinds)[number]

export interface TokenFacts {
  /** Unique inside the database; a label for users. */
  readonly name: string
  readonly kind: TokenKind
  /** SHA-256 of the whole token, in hexadecimal. The token itself is not stored. */
  readonly hash: string
}
