// State that the frame shows on every page: the collections and the health of the server, refreshed every few seconds.
import { signal } from '@preact/signals'
import { type Collection, listCollections } from './api/collections.ts'
import { AnnalError } from './api/request.ts'
import { type Health, health, type Info, info } from './api/server.ts'
import { checkServer } from './gate.ts'

export const collections = signal<readonly Collection[] | undefined>(undefined)
export const collectionsError = signal<Error | undefined>(undefined)
export const serverHealth = signal<Health | undefined>(undefined)
/** Whether the server is a node of a cluster, as far as this token may know. */
export const isClustered = signal(false)
export const serverInfo = signal<Info | undefined>(undefined)

const everyMs = 4_000
/** A long list is refreshed less often, because it is expensive to send. */
const collectionsPerStep = 250

/** Refreshes now, after a change. */
export async function refresh(): Promise<void> {
  await Promise.all([refreshCollections(), refreshHealth()])
}

async function refreshCollections(): Promise<void> {
  try {
    const listed = await listCollections()
    collections.value = [...listed].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
    collectionsError.value = undefined
  } catch (error) {
    collectionsError.value = error instanceof Error ? error : new Error(String(error))
    // The token was deleted, or the server requires one since it started again.
    if (error instanceof AnnalError && error.status === 401) await checkServer()
  }
}

async function refreshHealth(): Promise<void> {
  serverHealth.value = await health().catch(() => undefined)
  if (serverHealth.value !== undefined) isClustered.value = serverHealth.value.cluster !== undefined
  serverInfo.value ??= await info().catch(() => undefined)
}

/** The server information rarely changes; it is reloaded after a change. */
export async function refreshInfo(): Promise<void> {
  serverInfo.value = await info()
}

/** Runs until the returned function is called. */
export function watch(): () => void {
  let timer: ReturnType<typeof setTimeout>
  let ended = false
  const tick = async (): Promise<void> => {
    if (!document.hidden) await refresh()
    if (!ended)
      timer = setTimeout(() => void tick(), everyMs * (1 + (collections.value?.length ?? 0) / collectionsPerStep))
  }
  void tick()
  return () => {
    ended = true
    clearTimeout(timer)
    collections.value = undefined
    serverInfo.value = undefined
  }
}
