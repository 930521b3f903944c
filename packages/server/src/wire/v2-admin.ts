// Databases and tokens as /api/v2 speaks of them.
import { randomBytes } from 'node:crypto'
import {
  type DatabaseDescription,
  type DatabaseType,
  databaseTypes,
  type TokenDescription,
  type TokenFacts,
  type TokenKind,
  tokenKinds,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { tokenHash } from '../access/auth.ts'
import { invalidArgument } from '../http/errors.ts'
import type { Infer } from './schema.ts'

const databaseType = Type.String({ description: `One of ${databaseTypes.join(', ')}; case-insensitive.` })

export const createDatabaseBody = Type.Object(
  {
    db_name: Type.String({ description: 'Unique name: letters, digits, underscore, hyphen.' }),
    db_type: Type.Optional(databaseType),
  },
  { $id: 'CreateDatabase' },
)
export type CreateDatabaseBody = Infer<typeof createDatabaseBody>

export const databaseTypeBody = Type.Object({ db_type: databaseType }, { $id: 'DatabaseType' })
export type DatabaseTypeBody = Infer<typeof databaseTypeBody>

export const createTokenBody = Type.Object(
  {
    name: Type.String({ description: 'Unique among the tokens of the database.' }),
    token_type: Type.Optional(Type.String({ description: 'rw (default), or r for reads and searches only.' })),
  },
  { $id: 'CreateToken' },
)
export type CreateTokenBody = Infer<typeof createTokenBody>

export const databaseParam = Type.Object({ database: Type.String({ description: 'Name of the database.' }) })
export const databaseChildParams = Type.Object({
  database: Type.String({ description: 'Name of the database.' }),
  name: Type.String({ description: 'Name of the collection or token.' }),
})

/** The first token of a database, which its creation makes. */
export const firstTokenName = 'default'
const secretBytes = 32

export interface MintedToken {
  /** Returned once and not stored. */
  readonly secret: string
  readonly facts: TokenFacts
}

/** No second colon, which the published clients would take for a region. */
export function mintToken(database: string, name: string, kind: TokenKind): MintedToken {
  const secret = `${database}:${randomBytes(secretBytes).toString('base64url')}`
  return { secret, facts: { name, kind, hash: tokenHash(secret) } }
}

export function readDatabaseType(value: string | undefined): DatabaseType {
  const wanted = value?.toLowerCase() ?? 'enterprise'
  return databaseTypes.find((type) => type === wanted) ?? refuse('db_type', value, databaseTypes)
}

export function readTokenKind(value: string | undefined): TokenKind {
  return tokenKinds.find((kind) => kind === (value ?? 'rw')) ?? refuse('token_type', value, tokenKinds)
}

export function databaseInfo({ name, type, active, createdAt }: DatabaseDescription) {
  return { db_name: name, db_type: capitalised(type), is_active: active, created_at: Math.floor(createdAt / 1_000) }
}

export function tokenInfo({ name, kind, createdAt }: TokenDescription) {
  return { name, token_type: kind, created_at: Math.floor(createdAt / 1_000) }
}

/** As published clients know the types of databases. */
export function capitalised(type: string): string {
  return type.slice(0, 1).toUpperCase() + type.slice(1)
}

function refuse(field: string, value: unknown, limit: readonly string[]): never {
  throw invalidArgument(`${field} must be one of ${limit.join(', ')}`, { field, value, limit })
}
