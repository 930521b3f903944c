// Databases and their tokens: for the root token, and for a database its own tokens.
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
const at = (name: string) => `${base}/${segment(name)}`

export const listDatabases = async (options?: CallOptions) =>
  (await call<{ dbs: readonly Database[] }>('GET', base, { ...control, ...options })).dbs
export const createDatabase = (name: string, type: string) =>
  call<{ db_token: string }>('POST', base, { ...control, body: { db_name: name, db_type: type } })
export const deleteDatabase = (name: string) => call<object>('DELETE', at(name), control)
export const setActive = (name: string, active: boolean) =>
  call<object>('POST', `${at(name)}/${active ? 'activate' : 'deactivate'}`, control)
export const setType = (name: string, type: string) =>
  call<object>('PUT', `${at(name)}/type`, { ...control, body: { db_type: type } })

export const listTokens = async (database: string, options?: CallOptions) =>
  (await call<{ tokens: readonly Token[] }>('GET', `${at(database)}/tokens`, { ...control, ...options })).tokens
export const createToken = (database: string, name: string, type: Token['token_type']) =>
  call<{ db_token: string }>('POST', `${at(database)}/tokens`, { ...control, body: { name, token_type: type } })
export const deleteToken = (database: string, name: string) =>
  call<object>('DELETE', `${at(database)}/tokens/${segment(name)}`, control)
