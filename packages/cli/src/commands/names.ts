// `annal alias`, `annal branch`, `annal branches`, and `annal promote`: names that lead to collections, and where collections come from.
import type { BranchInfo } from '@annal/client'
import { amount, objectsText } from '../amounts.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { momentOf } from '../moment.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface NameOptions extends ConnectionOptions {
  readonly json?: boolean
}

export function listAliases(options: NameOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const aliases = await client.aliases.list()
    if (options.json) terminal.line(JSON.stringify({ aliases }))
    else if (aliases.length > 0) {
      const rows = aliases.map(({ name, collection, lsn, changedAt }) => [
        ...[name, collection, String(lsn), changedAt.toISOString()],
      ])
      for (const line of aligned([['alias', 'collection', 'LSN', 'since'], ...rows])) terminal.line(line)
    }
    return exitCode.good
  })
}

export function putAlias(alias: string, collection: string, options: NameOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    await client.aliases.put(alias, collection)
    terminal.line(options.json ? JSON.stringify({ alias, collection }) : `${alias} leads to ${collection}`)
    return exitCode.good
  })
}

export function deleteAlias(alias: string, options: NameOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    await client.aliases.delete(alias)
    terminal.line(options.json ? JSON.stringify({ alias }) : `alias ${alias} deleted`)
    return exitCode.good
  })
}

export function branch(
  collection: string,
  target: string,
  options: NameOptions & { readonly asOf?: string; readonly keepExpired?: boolean },
  terminal: Terminal,
): Promise<number> {
  const moment = options.asOf === undefined ? undefined : momentOf(options.asOf, '--as-of')
  return withClient(options, async (client) => {
    const made = await client.collection(collection).branch(target, moment, { keepExpired: options.keepExpired })
    const count = await made.count()
    terminal.line(options.json ? JSON.stringify({ collection: target, count }) : `${target} has ${objectsText(count)}`)
    return exitCode.good
  })
}

export function listBranches(collection: string, options: NameOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const branches = await client.collection(collection).branches()
    if (options.json) terminal.line(JSON.stringify({ branches }))
    else for (const line of aligned([head, ...treeOf(branches)])) terminal.line(line)
    return exitCode.good
  })
}

export function promote(
  collection: string,
  options: NameOptions & { readonly over: string; readonly keepAs: string },
  terminal: Terminal,
): Promise<number> {
  const { over, keepAs, json } = options
  return withClient(options, async (client) => {
    await client.collection(collection).promote({ over, keepAs })
    const text = `${collection} is named ${over}; the collection of that name is named ${keepAs}`
    terminal.line(json ? JSON.stringify({ collection: over, keptAs: keepAs }) : text)
    return exitCode.good
  })
}

const head = ['collection', 'parent LSN', 'created', 'objects']

/** A branch is below its parent, indented. */
function treeOf(branches: readonly BranchInfo[]): string[][] {
  const ids = new Set(branches.map(({ id }) => id))
  const rows: string[][] = []
  // Depth first, with a list of its own: a chain of branches may be long.
  const waiting = branches
    .filter(({ parentId }) => parentId === undefined || !ids.has(parentId))
    .reverse()
    .map((info) => ({ info, depth: 0 }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { info, depth } = next
    rows.push(cellsOf(info, depth))
    const below = branches.filter(({ parentId }) => parentId === info.id).reverse()
    waiting.push(...below.map((child) => ({ info: child, depth: depth + 1 })))
  }
  return rows
}

function cellsOf({ name, parentLsn, createdAt, deletedAt, objects }: BranchInfo, depth: number): string[] {
  const state = deletedAt === undefined ? amount(objects ?? 0) : `deleted ${deletedAt.toISOString()}`
  return [
    `${'  '.repeat(depth)}${name}`,
    parentLsn === undefined ? '-' : String(parentLsn),
    createdAt.toISOString(),
    state,
  ]
}
