// `annal undo`: gives objects the content that they had at a moment, after a count and a confirmation.
import type { Client, Undone, UndoRequest } from '@annal/client'
import { amount, objectsText } from '../amounts.ts'
import { confirm } from '../confirm.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { filterOf } from '../filter-option.ts'
import { momentOf } from '../moment.ts'
import type { Terminal } from '../terminal.ts'

export interface UndoOptions extends ConnectionOptions {
  readonly ids?: string
  readonly filter?: string
  readonly asOf: string
  readonly keepExpired?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

export function undo(collection: string, options: UndoOptions, terminal: Terminal): Promise<number> {
  const { ids, filter, asOf, keepExpired, dryRun = false, yes = false, json = false } = options
  if (ids === undefined && filter === undefined) throw usageError('choose the objects with --ids or --filter')
  const request: UndoRequest = {
    asOf: momentOf(asOf, '--as-of'),
    ...(ids !== undefined && { ids: ids.split(',') }),
    ...(filter !== undefined && { filter: filterOf(filter) }),
    ...(keepExpired && { keepExpired }),
  }
  return withClient(options, async (client) => {
    if (dryRun || !yes) {
      const counted = await undone(client, collection, { ...request, dryRun: true }, terminal)
      if (dryRun) {
        tell({ collection, dryRun, ...counts(counted) }, json, terminal)
        return exitCode.good
      }
      const { restored, deleted, asOfLsn } = counted
      const consequence = `the undo restores ${objectsText(restored)} of ${collection} as of LSN ${asOfLsn} and deletes ${amount(deleted)}`
      await confirm(consequence, { yes })
    }
    const done = await undone(client, collection, request, terminal)
    tell({ collection, dryRun, ...counts(done), lsn: done.lsn }, json, terminal)
    return exitCode.good
  })
}

interface Report {
  readonly collection: string
  readonly dryRun: boolean
  readonly restored: number
  readonly deleted: number
  readonly asOfLsn: number
  readonly lsn?: number
}

function counts({ restored, deleted, asOfLsn }: Undone) {
  return { restored, deleted, asOfLsn }
}

function tell(report: Report, json: boolean, terminal: Terminal): void {
  const { collection, dryRun, restored, deleted, asOfLsn } = report
  if (json) terminal.line(JSON.stringify(report))
  else {
    const would = dryRun ? 'would be ' : ''
    const counts = `${objectsText(restored)} ${would}restored, ${amount(deleted)} ${would}deleted`
    terminal.line(`${collection} as of LSN ${asOfLsn}: ${counts}`)
  }
}

const pollMs = 500

/** Shows the progress, which is that of a restore. */
async function undone(client: Client, collection: string, request: UndoRequest, terminal: Terminal): Promise<Undone> {
  const ended = new AbortController()
  void showProgress(client, collection, ended.signal, terminal)
  try {
    return await client.collection(collection).undo(request)
  } finally {
    ended.abort()
    terminal.bar.clear()
  }
}

/** Never fails: the call that undoes reports what went wrong. */
async function showProgress(client: Client, collection: string, signal: AbortSignal, terminal: Terminal) {
  for (;;) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
    if (signal.aborted) return
    const state = await client.backups.restoreStatus({ signal }).catch(() => undefined)
    if (!signal.aborted && state?.status === 'running' && state.collection === collection)
      terminal.bar.show(`reading ${collection} of then`, state.percent ?? 0, 100)
  }
}
