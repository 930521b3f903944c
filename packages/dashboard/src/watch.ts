// What the frame shows on every page: the collections there are and how the server feels, asked every few seconds.
import { signal } from '@preact/signals'
import { type Collection, listCollections } from './api/collections.ts'
import { type Health, health, type Info, info } from './api/server.ts'

export const collections = signal<readonly Collection[] | undefined>(undefined)
export const collectionsError = signal<Error | undefined>(undefined)
export const serverHealth = signal<Health | undefined>(undefined)
export const serverInfo = signal<Info | undefined>(undefined)

const everyMs = 4_000
/** A long list is asked for less often: it is long to tell. */
const collectionsPerStep = 250

/** Asks now: after something was made or deleted. */
export async function refresh(): Promise<void> {
  await Promise.all([refreshCollections(), refreshHealth()])
}

async function refreshCollections(): Promise<void> {
  try {
    const listed = await listCollections()
    collections.value = [...listed].sort((a, b) => a.name.localeCompare(b.name))
    collectionsError.value = undefined
  } catch (error) {
    collectionsError.value = error instanceof Error ? error : new Error(String(error))
  }
}

async function refreshHealth(): Promise<void> {
  serverHealth.value = await health().catch(() => undefined)
  serverInfo.value ??= await info().catch(() => undefined)
}

/** What the server is changes rarely: asked anew after something changed it. */
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
