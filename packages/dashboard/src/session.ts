// The access mode of the server and the token of the session. The token is kept in memory and, if the user chooses, in the session
// storage of this tab; it is sent in one header and nowhere else.
import { signal } from '@preact/signals'

export type Access =
  | { readonly kind: 'open' }
  /** The token of a plain server, or of one database. */
  | { readonly kind: 'token'; readonly token: string }
  /** The root token. It administers the server and selects a database by name. */
  | { readonly kind: 'root'; readonly token: string; readonly database: string | undefined }

const storageKey = 'annal.token'

export const access = signal<Access>({ kind: 'open' })

/** The Authorization header of a call. The scope `control` is for calls that require the root token. */
export function authorization(scope: 'data' | 'control' = 'data'): string | undefined {
  const now = access.value
  if (now.kind === 'open') return undefined
  if (now.kind === 'root' && scope === 'data' && now.database !== undefined) return `root/${now.database}:${now.token}`
  return now.token
}

export function rememberedToken(): string | undefined {
  return sessionStorage.getItem(storageKey) ?? undefined
}

export function remember(token: string): void {
  sessionStorage.setItem(storageKey, token)
}

export function forget(): void {
  sessionStorage.removeItem(storageKey)
  access.value = { kind: 'open' }
}

export function chooseDatabase(database: string | undefined): void {
  const now = access.value
  if (now.kind === 'root') access.value = { ...now, database }
}
