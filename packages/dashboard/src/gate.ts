// Sign-in: reads what the server requires and verifies a token. Until then only health is requested.
import { signal } from '@preact/signals'
import { client } from './api/client.ts'
import { cluster } from './api/cluster.ts'
import { AnnalError } from './api/request.ts'
import { type Health, health, info, stats } from './api/server.ts'
import { forgetConsole } from './pages/console/console-store.ts'
import { type Access, access, forget, remember, rememberedToken } from './session.ts'

export type Gate =
  | { readonly kind: 'checking' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'starting'; readonly progress: Health['progress'] }
  | { readonly kind: 'failed'; readonly reasons: readonly string[] }
  /** A node of a cluster that has left service, and whose cluster the token may see. */
  | { readonly kind: 'out-of-service' }
  | { readonly kind: 'token'; readonly error?: Error }
  | { readonly kind: 'in' }

export const gate = signal<Gate>({ kind: 'checking' })

/** States that may end without the user. */
const passing: ReadonlySet<Gate['kind']> = new Set(['unreachable', 'starting', 'out-of-service'])
const retryMs = 1_500
let timer: ReturnType<typeof setTimeout> | undefined

/** Determines whether the server is reachable, ready and open, and repeats the check while waiting can help. */
export async function checkServer(): Promise<void> {
  clearTimeout(timer)
  const token = rememberedToken()
  gate.value = await stateOfServer(token)
  if (passing.has(gate.value.kind)) timer = setTimeout(() => void checkServer(), retryMs)
}

async function stateOfServer(token: string | undefined): Promise<Gate> {
  let state: Health
  try {
    state = await health(token === undefined ? {} : { token })
  } catch {
    return { kind: 'unreachable' }
  }
  try {
    if (state.status === 'starting') return { kind: 'starting', progress: state.progress }
    if (hasFailed(state)) return await stateOfFailed(state, token)
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

function hasFailed({ status }: Health): boolean {
  return status === 'failed' || status === 'closed'
}

/** A node that has left service shows its cluster. Throws the server's error if a token is required, or the token is invalid. */
async function stateOfFailed({ reasons = [] }: Health, token: string | undefined): Promise<Gate> {
  try {
    const { role } = await cluster(token === undefined ? {} : { token })
    if (role !== 'out-of-service') return { kind: 'failed', reasons }
    access.value = token === undefined ? { kind: 'open' } : { kind: 'token', token }
    return { kind: 'out-of-service' }
  } catch (error) {
    if (error instanceof AnnalError && error.status === 401) throw error
    return { kind: 'failed', reasons }
  }
}

/** Throws the server's error if the token is invalid. */
export async function signIn(token: string, { keep }: { readonly keep: boolean }): Promise<void> {
  const state = await health({ token })
  const next: Gate = hasFailed(state) ? await stateOfFailed(state, token) : { kind: 'in' }
  if (next.kind === 'in') access.value = await accessWith(token)
  if (keep) remember(token)
  gate.value = next
}

export function signOut(): void {
  forgetConsole()
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
