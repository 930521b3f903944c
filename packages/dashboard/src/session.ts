// Who is asking: what the server wants to be told, and the token while it is known. The token lives in memory, and in this
// tab's session storage where the user wishes so; it goes into one header and nowhere else.
import { signal } from '@preact/signals'

export type Access =
  | { readonly kind: 'open' }
  /** The one token of a plain server, or the token of one database. */
  | { readonly kind: 'token'; readonly token: string }
  /** The root token: administers, and works in a database by naming it. */
  | { readonly kind: 'root'; readonly token: string; readonly database: string | undefined }

const storageKey = 'annal.token'

export const access = signal<Access>({ kind: 'open' })

/** The Authorization header of a call: `control` for what only the root token may do. */
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
