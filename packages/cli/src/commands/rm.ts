// `annal rm`: deletes objects by id or by filter, or a whole collection, after a confirmation.
import type { Client } from '@annal/client'
import { objectsText } from '../amounts.ts'
import { confirm } from '../confirm.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { filterOf } from '../filter-option.ts'
import type { Terminal } from '../terminal.ts'
import { visible } from '../visible-text.ts'

export interface RemoveOptions extends ConnectionOptions {
  readonly where?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** Ends with `attention` if an id does not exist, or if the user declines. */
export function remove(collection: string, ids: readonly string[], options: RemoveOptions, terminal: Terminal) {
  if (ids.length > 0 && options.where !== undefined) throw usageError('use either ids or --where')
  return withClient(options, (client) => {
    if (options.where !== undefined) return removeWhere(client, collection, options.where, options, terminal)
    if (ids.length > 0) return removeIds(client, collection, [...new Set(ids)], options, terminal)
    return removeCollection(client, collection, options, terminal)
  })
}

async function removeCollection(client: Client, collection: string, options: RemoveOptions, terminal: Terminal) {
  const { count } = await client.collection(collection).describe()
  if (options.dryRun) return report({ collection, objects: count, dryRun: true }, options, terminal)
  await confirm(`the collection ${collection} and ${objectsText(count)} will be deleted`, options)
  await client.deleteCollection(collection)
  terminal.line(options.json ? JSON.stringify({ collection, objects: count }) : `${collection} deleted`)
  return exitCode.good
}

async function removeWhere(
  client: Client,
  collection: string,
  where: string,
  options: RemoveOptions,
  terminal: Terminal,
) {
  const filter = filterOf(where, '--where')
  // An empty filter matches everything when it reads, and deletes nothing.
  if (filter.length === 0) throw usageError('--where [] has no condition; to delete a whole collection, name only it')
  const target = client.collection(collection)
  if (options.dryRun || !options.yes) {
    const count = await target.count(filter)
    if (options.dryRun) return report({ collection, objects: count, dryRun: true }, options, terminal)
    await confirm(`${objectsText(count)} of ${collection} will be deleted`, options)
  }
  return report({ collection, objects: await target.deleteWhere(filter) }, options, terminal)
}

const deletesAtOnce = 16
const idsAtOnce = 100
const idsShown = 3

async function removeIds(
  client: Client,
  collection: string,
  ids: readonly string[],
  options: RemoveOptions,
  terminal: Terminal,
) {
  const target = client.collection(collection)
  if (options.dryRun) {
    let found = 0
    for (let from = 0; from < ids.length; from += idsAtOnce) {
      found += (await target.getMany(ids.slice(from, from + idsAtOnce))).length
    }
    return report({ collection, objects: found, dryRun: true }, options, terminal)
  }
  const named = ids.slice(0, idsShown).map(visible).join(', ')
  await confirm(
    `${named}${ids.length > idsShown ? `, ... (${objectsText(ids.length)})` : ''} of ${collection} will be deleted`,
    options,
  )
  let deleted = 0
  for (let from = 0; from < ids.length; from += deletesAtOnce) {
    const some = ids.slice(from, from + deletesAtOnce)
    const results = await Promise.all(some.map(async (id) => ({ id, existed: await target.delete(id) })))
    deleted += results.filter(({ existed }) => existed).length
    for (const { id, existed } of results) {
      if (!existed) terminal.say(`annal: ${collection} has no object ${visible(id)}`)
    }
    terminal.bar.show(`deleting from ${collection}`, from + some.length, ids.length)
  }
  report({ collection, objects: deleted }, options, terminal)
  return deleted === ids.length ? exitCode.good : exitCode.attention
}

interface Report {
  readonly collection: string
  readonly objects: number
  readonly dryRun?: true
}

function report(done: Report, { json }: RemoveOptions, terminal: Terminal): number {
  const would = done.dryRun ? 'would be ' : ''
  terminal.line(json ? JSON.stringify(done) : `${objectsText(done.objects)} ${would}deleted`)
  return exitCode.good
}
