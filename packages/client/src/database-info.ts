// What a server returns about databases and their tokens.

export type TokenType = 'rw' | 'r'

export interface DatabaseInfo {
  readonly name: string
  readonly type: string
  readonly isActive: boolean
  readonly createdAt: Date
}

export interface TokenInfo {
  readonly name: string
  readonly type: TokenType
  readonly createdAt: Date
}
