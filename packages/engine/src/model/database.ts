// What a database and its tokens are made of.

/** What a database is good for: limits of its size belong to it, which whoever serves it enforces. Numbered in this order. */
export const databaseTypes = ['starter', 'pro', 'scale', 'enterprise'] as const
export type DatabaseType = (typeof databaseTypes)[number]
/** Read and write, or only read. Numbered in this order. */
export const tokenKinds = ['rw', 'r'] as const
export type TokenKind = (typeof tokenKinds)[number]

export interface TokenFacts {
  /** Unique inside the database; for people. */
  readonly name: string
  readonly kind: TokenKind
  /** SHA-256 of the whole token, hexadecimal. The token itself is nowhere. */
  readonly hash: string
}
