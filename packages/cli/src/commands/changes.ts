// `annal changes`: follows the change feed of a database in a terminal.
import type { Change, ChangesRequest } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { filterOf } from '../filter-option.ts'
import type { Terminal } from '../terminal.ts'

export interface ChangesOptions extends ConnectionOptions {
  readonly from?: number
  readonly cursor?: string
  readonly collection?: string
  readonly kind?: string
  readonly filter?: string
  readonly vectors?: boolean
  readonly count?: number
  readonly json?: boolean
}

/** Ends after `count` changes, or never. With `cursor`, each change is acknowledged once it is printed. */
export function printChanges(options: ChangesOptions, terminal: Terminal): Promise<number> {
  const request: ChangesRequest = {
    from: options.from,
    cursor: options.cursor,
    collections: options.collection?.split(','),
    kinds: options.kind?.split(','),
    filter: options.filter === undefined ? undefined : filterOf(options.filter),
    includeVectors: options.vectors,
  }
  return withClient(options, async (client) => {
    let left = options.count ?? Number.POSITIVE_INFINITY
    if (left === 0) return exitCode.good
    for await (const change of client.changes(request)) {
      terminal.line(options.json ? JSON.stringify(change, plain) : textOf(change))
      if (options.cursor !== undefined) await client.cursors.acknowledge(options.cursor, change.lsn)
      if (--left === 0) break
    }
    return exitCode.good
  })
}

/** Typed arrays have the form of objects in JSON. */
function plain(_key: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value
}

function textOf({ lsn, time, kind, collection, alias, keptAs, objects, deleted, left, margin }: Change): string {
  const ids = [...(objects ?? []).map(({ id }) => id), ...(deleted ?? [])]
  const parts = [
    ...(alias !== undefined ? [`alias: ${alias}`] : []),
    ...(keptAs !== undefined ? [`replaces: ${keptAs}`] : []),
    ...(ids.length > 0 ? [some(ids)] : []),
    ...(left !== undefined && left.length > 0 ? [`left: ${some(left)}`] : []),
    ...(margin !== undefined ? [`the next changes are removed in ${margin} LSNs`] : []),
  ]
  return [lsn, time.toISOString(), kind, collection, ...parts].filter((part) => part !== undefined).join('  ')
}

const idsShown = 5

function some(ids: readonly string[]): string {
  const more = ids.length > idsShown ? ` and ${ids.length - idsShown} more` : ''
  return `${ids.slice(0, idsShown).join(', ')}${more}`
}
