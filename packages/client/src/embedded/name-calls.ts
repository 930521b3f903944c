// The operations on aliases and branches, on an engine.
import type { NameOperations } from '../operations.ts'
import type { Calls } from './calls.ts'

export const nameCalls: Calls<keyof NameOperations> = {
  listAliases({ database }) {
    return database.aliases().map(({ changedAt, ...alias }) => ({ ...alias, changedAt: new Date(changedAt) }))
  },
  async putAlias({ database }, { alias, collection }, write) {
    await database.putAlias(alias, collection, write)
    return undefined
  },
  async deleteAlias({ database }, { alias }, write) {
    await database.deleteAlias(alias, write)
    return undefined
  },
  async branch({ database }, { collection, target, asOf, keepExpired }, write) {
    const moment = asOf === undefined || 'lsn' in asOf ? asOf : { timeMs: asOf.time.getTime() }
    await database.branch(collection, { name: target, asOf: moment }, { ...write, keepExpired })
    return undefined
  },
  branches({ database }, { collection }) {
    return database.branches(collection).map(({ createdAt, deletedAt, ...branch }) => ({
      ...branch,
      createdAt: new Date(createdAt),
      ...(deletedAt !== undefined && { deletedAt: new Date(deletedAt) }),
    }))
  },
  async promote({ database }, { collection, ...promotion }, write) {
    await database.promote(collection, promotion, write)
    return undefined
  },
}
