// What a server returns about databases and their tokens.

/** `rw` reads and writes, `r` only reads. */
export type TokenType = 'rw' | 'r'

/** A database. The tokens of an inactive one are rejected. */
export interface DatabaseInfo {
  readonly name: string
  readonly type: string
  readonly isActive: boolean
  readonly createdAt: Date
}

/** A token without its value, which only its creation returns. */
export interface TokenInfo {
  readonly name: string
  readonly type: TokenType
  readonly createdAt: Date
}
