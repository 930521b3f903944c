// The operations on aliases and branches over /api/v2.
import type { AliasInfo, BranchInfo } from '../name-info.ts'
import type { NameOperations } from '../operations.ts'
import { list, moment, number, object, parseJson, text } from './read.ts'
import { get, post, type Routes, remove, segment } from './route.ts'

/** A branch of an earlier moment is built before the reply. */
const branchTimeoutMs = 600_000

/** The operations on aliases, branches, and promotions, for `routedTransport`. */
export const nameRoutes: Routes<keyof NameOperations> = {
  listAliases: {
    retry: 'always',
    reads: 'query',
    request: () => get('/api/v2/alias'),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').aliases, 'aliases').map(alias),
  },
  putAlias: {
    retry: 'always',
    takesKey: true,
    request: ({ alias, collection }) => ({ ...post(aliasPath(alias), { collection }), method: 'PUT' }),
    reply: () => undefined,
  },
  deleteAlias: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ alias }) => remove(aliasPath(alias)),
    reply: () => undefined,
  },
  branch: {
    retry: 'when-refused',
    takesKey: true,
    timeoutMs: branchTimeoutMs,
    request: ({ collection, target, asOf, keepExpired }) =>
      post(`${pathOf(collection)}/branch`, {
        name: target,
        keep_expired: keepExpired,
        ...(asOf !== undefined && { as_of: 'lsn' in asOf ? asOf : { time: asOf.time.toISOString() } }),
      }),
    reply: () => undefined,
  },
  branches: {
    retry: 'always',
    reads: 'query',
    request: ({ collection }) => get(`${pathOf(collection)}/branches`),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').branches, 'branches').map(branch),
  },
  promote: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection, over, keepAs }) => post(`${pathOf(collection)}/promote`, { over, keep_as: keepAs }),
    reply: () => undefined,
  },
}

function aliasPath(alias: string): string {
  return `/api/v2/alias/${segment(alias)}`
}

function pathOf(collection: string): string {
  return `/api/v2/collection/${segment(collection)}`
}

function alias(value: unknown): AliasInfo {
  const { name, collection, lsn, changed_at: changedAt } = object(value, 'aliases')
  return {
    name: text(name, 'name'),
    collection: text(collection, 'collection'),
    lsn: number(lsn, 'lsn'),
    changedAt: moment(changedAt, 'changed_at'),
  }
}

function branch(value: unknown): BranchInfo {
  const { id, name, parent_id: parentId, parent_lsn: parentLsn, objects, ...times } = object(value, 'branches')
  return {
    id: number(id, 'id'),
    name: text(name, 'name'),
    ...(parentId !== null && { parentId: number(parentId, 'parent_id'), parentLsn: number(parentLsn, 'parent_lsn') }),
    createdAt: moment(times.created_at, 'created_at'),
    ...(times.deleted_at !== undefined && { deletedAt: moment(times.deleted_at, 'deleted_at') }),
    ...(objects !== undefined && { objects: number(objects, 'objects') }),
  }
}
