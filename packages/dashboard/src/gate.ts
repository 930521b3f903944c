// Sign-in: reads what the server requires and verifies a token. Until then only health is requested.
import { signal } from '@preact/signals'
import { client } from './api/client.ts'
import { AnnalError } from './api/request.ts'
import { type Health, health, info, stats } from './api/server.ts'
import { type Access, access, forget, remember, rememberedToken } from './session.ts'

export type Gate =
  | { readonly kind: 'checking' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'starting'; readonly progress: Health['progress'] }
  | { readonly kind: 'failed'; readonly reasons: readonly string[] }
  | { readonly kind: 'token'; readonly error?: Error }
  | { readonly kind: 'in' }

export const gate = signal<Gate>({ kind: 'checking' })

const retryMs = 1_500
let timer: ReturnType<typeof setTimeout> | undefined

/** Determines whether the server is reachable, ready and open, and repeats the check while waiting can help. */
export async function checkServer(): Promise<void> {
  clearTimeout(timer)
  const token = rememberedToken()
  gate.value = await stateOfServer(token)
  if (gate.value.kind === 'unreachable' || gate.value.kind === 'starting') {
    timer = setTimeout(() => void checkServer(), retryMs)
  }
}

async function stateOfServer(token: string | undefined): Promise<Gate> {
  try {
    const state = await health(token === undefined ? {} : { token })
    if (state.status === 'starting') return { kind: 'starting', progress: state.progress }
    if (state.status === 'failed' || state.status === 'closed') return { kind: 'failed', reasons: state.reasons ?? [] }
  } catch {
    return { kind: 'unreachable' }
  }
  try {
    access.value = token === undefined ? await openAccess() : await accessWith(token)
    return { kind: 'in' }
  } catch (error) {
    if (!(error instanceof AnnalError)) throw error
    if (error.code === 'starting') return { kind: 'starting', progress: undefined }
    if (error.status === 401 && token === undefined) return { kind: 'token' }
    forget()
    return { kind: 'token', error }
  }
}

/** Throws the server's error if the token is invalid. */
export async function signIn(token: string, { keep }: { readonly keep: boolean }): Promise<void> {
  access.value = await accessWith(token)
  if (keep) remember(token)
  gate.value = { kind: 'in' }
}

export function signOut(): void {
  forget()
  gate.value = { kind: 'token' }
}

async function openAccess(): Promise<Access> {
  await stats()
  return { kind: 'open' }
}

async function accessWith(token: string): Promise<Access> {
  const { mode } = await info({ token })
  if (mode === 'plain') return { kind: 'token', token }
  // Only the root token reads figures of the whole server; a database token gets the reply without them.
  const { lsn } = await stats({ token })
  if (lsn === undefined) return { kind: 'token', token }
  const dbs = await client('control', token).databases.list()
  return { kind: 'root', token, database: dbs[0]?.name }
}
