// Databases and tokens in /api/v2.
import { randomBytes } from 'node:crypto'
import {
  type Acknowledgement,
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
import { invalidArgument } from '../errors.ts'
import type { Infer } from './schema.ts'

const databaseType = Type.String({ description: `One of ${databaseTypes.join(', ')}; case-insensitive.` })

/** Body that creates a database. */
export const createDatabaseBody = Type.Object(
  {
    db_name: Type.String({ description: 'Unique name: letters, digits, underscore, hyphen.' }),
    db_type: Type.Optional(databaseType),
  },
  { $id: 'CreateDatabase' },
)
export type CreateDatabaseBody = Infer<typeof createDatabaseBody>

/** Body that sets the type of a database. */
export const databaseTypeBody = Type.Object({ db_type: databaseType }, { $id: 'DatabaseType' })
export type DatabaseTypeBody = Infer<typeof databaseTypeBody>

/** Body that creates a token. */
export const createTokenBody = Type.Object(
  {
    name: Type.String({ description: 'Unique among the tokens of the database.' }),
    token_type: Type.Optional(Type.String({ description: 'rw (default), or r for reads and searches only.' })),
  },
  { $id: 'CreateToken' },
)
export type CreateTokenBody = Infer<typeof createTokenBody>

/** Path parameter of a database. */
export const databaseParam = Type.Object({ database: Type.String({ description: 'Name of the database.' }) })
/** Path parameters of a collection or token of a database. */
export const databaseChildParams = Type.Object({
  database: Type.String({ description: 'Name of the database.' }),
  name: Type.String({ description: 'Name of the collection or token.' }),
})

/** Name of the token that is created with a database. */
export const firstTokenName = 'default'
const secretBytes = 32

/** A new token: its secret for the caller, and what the engine stores. */
export interface MintedToken {
  /** Returned once and never stored. */
  readonly secret: string
  readonly facts: TokenFacts
}

/** A token contains one colon only, because the published clients would read a third part as a region. */
export function mintToken(database: string, name: string, kind: TokenKind): MintedToken {
  const secret = `${database}:${randomBytes(secretBytes).toString('base64url')}`
  return { secret, facts: { name, kind, hash: tokenHash(secret) } }
}

/** The type of a database; enterprise by default. Throws invalid_argument. */
export function readDatabaseType(value: string | undefined): DatabaseType {
  const wanted = value?.toLowerCase() ?? 'enterprise'
  return databaseTypes.find((type) => type === wanted) ?? refuse('db_type', value, databaseTypes)
}

/** The kind of a token; rw by default. Throws invalid_argument. */
export function readTokenKind(value: string | undefined): TokenKind {
  return tokenKinds.find((kind) => kind === (value ?? 'rw')) ?? refuse('token_type', value, tokenKinds)
}

/** The description of a database. */
export function databaseInfo({ name, type, active, createdAt }: DatabaseDescription) {
  return { db_name: name, db_type: capitalize(type), is_active: active, created_at: Math.floor(createdAt / 1_000) }
}

/** The description of a database after a change, with the record of the change. */
export function databaseChange(changed: DatabaseDescription & Acknowledgement) {
  const { lsn, durable } = changed
  return { ...databaseInfo(changed), lsn, durable }
}

/** The description of a token, without its secret. */
export function tokenInfo({ name, kind, createdAt }: TokenDescription) {
  return { name, token_type: kind, created_at: Math.floor(createdAt / 1_000) }
}

/** Published clients expect the type of a database with a capital letter. */
export function capitalize(type: string): string {
  return type.slice(0, 1).toUpperCase() + type.slice(1)
}

function refuse(field: string, value: unknown, limit: readonly string[]): never {
  throw invalidArgument(`${field} must be one of ${limit.join(', ')}`, { field, value, limit })
}
