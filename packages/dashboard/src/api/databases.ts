// Databases and their tokens. The root token reaches all of them, the token of a database its own tokens.
import { type CallOptions, call, segment } from './request.ts'

export interface Database {
  readonly db_name: string
  readonly db_type: string
  readonly is_active: boolean
  /** Seconds since 1970, or a date as text. */
  readonly created_at: number | string
}

export interface Token {
  readonly name: string
  readonly token_type: 'rw' | 'r'
  readonly created_at: number
}

const control = { scope: 'control' } as const
const base = '/api/v2/admin/dbs'
const pathOf = (name: string) => `${base}/${segment(name)}`

export const listDatabases = async (options?: CallOptions) =>
  (await call<{ dbs: readonly Database[] }>('GET', base, { ...control, ...options })).dbs
export const createDatabase = (name: string, type: string) =>
  call<{ db_token: string }>('POST', base, { ...control, body: { db_name: name, db_type: type } })
export const deleteDatabase = (name: string) => call<object>('DELETE', pathOf(name), control)
export const setActive = (name: string, active: boolean) =>
  call<object>('POST', `${pathOf(name)}/${active ? 'activate' : 'deactivate'}`, control)
export const setType = (name: string, type: string) =>
  call<object>('PUT', `${pathOf(name)}/type`, { ...control, body: { db_type: type } })

export const listTokens = async (database: string, options?: CallOptions) =>
  (await call<{ tokens: readonly Token[] }>('GET', `${pathOf(database)}/tokens`, { ...control, ...options })).tokens
export const createToken = (database: string, name: string, type: Token['token_type']) =>
  call<{ db_token: string }>('POST', `${pathOf(database)}/tokens`, { ...control, body: { name, token_type: type } })
export const deleteToken = (database: string, name: string) =>
  call<object>('DELETE', `${pathOf(database)}/tokens/${segment(name)}`, control)
