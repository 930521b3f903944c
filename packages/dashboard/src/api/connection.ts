// How requests reach the server that the page came from. The client sends them.
import type { HttpOptions } from '@annal/client'
import { noteRead } from './own-reads.ts'

const readTimeoutMs = 60_000
/** For requests that work on a whole collection: a person waits for them as long as they want. */
export const workTimeoutMs = 86_400_000

/** Cookies and caches have no part in the dashboard. */
const fetchAlone: typeof fetch = (input, init) => fetch(input, { ...init, cache: 'no-store', credentials: 'omit' })

/** Reads that a page sends automatically, which the list of the newest requests leaves out. */
const fetchForPage: typeof fetch = async (input, init) => {
  const response = await fetchAlone(input, init)
  const { method, url } = new Request(input, { method: init?.method ?? 'GET' })
  if (method === 'GET') noteRead(method, new URL(url).pathname)
  return response
}

/** Nothing is sent again: a page shows a failure at once and offers to retry, and what it reads regularly comes again. */
export function connectionWith(token: string | undefined, { byHand = false } = {}): HttpOptions {
  const fetch = byHand ? fetchAlone : fetchForPage
  return { url: location.origin, token, fetch, retriesMax: 0, timeoutMs: readTimeoutMs }
}
