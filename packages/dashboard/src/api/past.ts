// The past of collections, the change feed, and names: the typed operations of the client with the token of the session.
import type {
  AliasInfo,
  BranchInfo,
  ChangeBatch,
  ChangesRequest,
  ObjectVersion,
  Undone,
  UndoRequest,
} from '@annal/client'
import { changeRoutes, historyRoutes, nameRoutes, routedTransport } from '@annal/client/http'
import { authorization } from '../session.ts'
import { connectionWith, workTimeoutMs } from './connection.ts'
import type { Filter } from './objects.ts'
import { call } from './request.ts'

export type { AliasInfo, BranchInfo, Change, ObjectVersion, Undone, UndoRequest } from '@annal/client'

const routes = { ...changeRoutes, ...historyRoutes, ...nameRoutes }
const transport = () => routedTransport(connectionWith(authorization()), routes)

/** More versions than a person reads. */
const versionsMax = 2_000
const versionsAtOnce = 500
/** While the server reads its log, each reply has read one more step. */
const readingMs = 100
/** A stream has no end; timers have one. */
const streamMs = 2 ** 31 - 1

interface Aborted {
  readonly signal?: AbortSignal
}

export interface Versions {
  /** Oldest first. */
  readonly versions: readonly ObjectVersion[]
  /** Whether later versions are left out. */
  readonly more: boolean
}

export async function versionsOf(collection: string, id: string, { signal }: Aborted): Promise<Versions> {
  const versions: ObjectVersion[] = []
  let from: number | undefined
  for (;;) {
    const page = await transport().call('versions', { collection, id, from, limit: versionsAtOnce }, { signal })
    if (!page.complete) {
      await new Promise((resolve) => setTimeout(resolve, readingMs))
      continue
    }
    versions.push(...page.versions)
    from = page.next
    if (from === undefined || versions.length >= versionsMax) return { versions, more: from !== undefined }
  }
}

/** Which objects an undo is about. */
export type UndoChoice = { readonly ids: readonly string[] } | { readonly filter: Filter }

export const undo = (
  collection: string,
  choice: UndoChoice,
  options: Pick<UndoRequest, 'asOf' | 'dryRun' | 'keepExpired'>,
): Promise<Undone> => {
  // The type of the client is narrower than JSON that a person typed; the server checks it.
  const input = { ...choice, ...options, collection } as UndoRequest & { readonly collection: string }
  return transport().call('undo', input, { timeoutMs: workTimeoutMs })
}
/** Cancels the undo that is running. */
export const cancelUndo = () => call<object>('DELETE', '/api/v2/status/restore')

export const changes = (request: ChangesRequest, signal: AbortSignal): Promise<AsyncIterable<ChangeBatch>> =>
  transport().call('changes', { ...request, signal }, { signal, timeoutMs: streamMs })

export const listAliases = (options: Aborted): Promise<readonly AliasInfo[]> =>
  transport().call('listAliases', undefined, options)
export const putAlias = (alias: string, collection: string) => transport().call('putAlias', { alias, collection })
export const deleteAlias = (alias: string) => transport().call('deleteAlias', { alias })

export const listBranches = (collection: string, options: Aborted): Promise<readonly BranchInfo[]> =>
  transport().call('branches', { collection }, options)
export const branch = (
  collection: string,
  target: string,
  options: { readonly asOf: { readonly lsn: number } | undefined; readonly keepExpired: boolean },
) => transport().call('branch', { ...options, collection, target }, { timeoutMs: workTimeoutMs })
export const promote = (collection: string, over: string, keepAs: string) =>
  transport().call('promote', { collection, over, keepAs })
