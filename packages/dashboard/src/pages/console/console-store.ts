// What the console keeps in the browser: the tabs until the browser tab is closed, and the newest requests for longer. Signing out
// deletes both. Replies are not kept.
import { signal } from '@preact/signals'
import { isRecord, keptValue } from '../../kept.ts'

export const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const
export type Method = (typeof methods)[number]

export interface ConsoleRequest {
  readonly method: Method
  readonly path: string
  readonly body: string
  readonly scope: 'data' | 'control'
}

export interface ConsoleTab extends ConsoleRequest {
  /** Identifies a tab while it is open. */
  readonly number: number
}

export interface PastRequest extends ConsoleRequest {
  readonly status: number
  /** Milliseconds since 1970. */
  readonly at: number
}

export const tabsMax = 12
const pastMax = 50
/** Longer bodies are data rather than requests, and would fill the storage. */
const bodyLengthMax = 20_000
/** Bodies of these paths have secrets. */
const secret = /^\/api\/v[12]\/license/

function isRequest(value: unknown): value is ConsoleRequest {
  return (
    isRecord(value) &&
    methods.some((method) => method === value.method) &&
    typeof value.path === 'string' &&
    typeof value.body === 'string' &&
    (value.scope === 'data' || value.scope === 'control')
  )
}

const keptTabs = keptValue<readonly ConsoleRequest[]>(
  () => sessionStorage,
  'console-tabs',
  (stored) => (Array.isArray(stored) ? stored.filter(isRequest).slice(0, tabsMax) : []),
)
const keptPast = keptValue<readonly PastRequest[]>(
  () => localStorage,
  'console-history',
  (stored) =>
    Array.isArray(stored)
      ? stored
          .filter(
            (one): one is PastRequest =>
              isRequest(one) &&
              'status' in one &&
              typeof one.status === 'number' &&
              'at' in one &&
              typeof one.at === 'number',
          )
          .slice(0, pastMax)
      : [],
)

let tabsMade = 0

export function newTab(request: Partial<ConsoleRequest> = {}): ConsoleTab {
  tabsMade += 1
  return { ...{ method: 'GET', path: '/api/v2/stats', body: '', scope: 'data' }, ...request, number: tabsMade }
}

export function readTabs(): readonly ConsoleTab[] {
  return keptTabs.read().map(newTab)
}

/** A body that is too long, or has secrets, is not kept. */
export function keepTabs(tabs: readonly ConsoleTab[]): void {
  keptTabs.write(tabs.map(({ number: _, ...request }) => withoutLargeBody(request)))
}

const changes = signal(0)

/** Newest first. */
export function pastRequests(): readonly PastRequest[] {
  changes.value
  return keptPast.read()
}

/** A request that is sent again moves to the front. */
export function keepRequest({ method, path, body, scope }: ConsoleRequest, status: number, at: number): void {
  const request = withoutLargeBody({ method, path, body, scope })
  const others = keptPast.read().filter((one) => !isSame(one, request))
  keptPast.write([{ ...request, status, at }, ...others].slice(0, pastMax))
  changes.value += 1
}

export function forgetPast(): void {
  keptPast.forget()
  changes.value += 1
}

export function forgetConsole(): void {
  keptTabs.forget()
  forgetPast()
}

function withoutLargeBody<T extends ConsoleRequest>(request: T): T {
  return request.body.length > bodyLengthMax || secret.test(request.path) ? { ...request, body: '' } : request
}

function isSame(a: ConsoleRequest, b: ConsoleRequest): boolean {
  return a.method === b.method && a.path === b.path && a.body === b.body && a.scope === b.scope
}
