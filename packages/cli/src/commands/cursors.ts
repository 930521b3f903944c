// `annal cursors`: the places of consumers of the change feed.
import { confirm } from '../confirm.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface CursorOptions extends ConnectionOptions {
  readonly json?: boolean
}

export function listCursors(options: CursorOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const cursors = await client.cursors.list()
    if (options.json) terminal.line(JSON.stringify({ cursors }))
    else if (cursors.length > 0) {
      const rows = cursors.map(({ name, lsn, updatedAt }) => [name, String(lsn), updatedAt.toISOString()])
      for (const line of aligned([['cursor', 'LSN', 'updated'], ...rows])) terminal.line(line)
    }
    return exitCode.good
  })
}

export function deleteCursor(name: string, options: CursorOptions & { readonly yes?: boolean }, terminal: Terminal) {
  return withClient(options, async (client) => {
    await confirm(`the consumer of cursor ${name} loses its position`, options)
    await client.cursors.delete(name)
    terminal.line(options.json ? JSON.stringify({ cursor: name }) : `cursor ${name} deleted`)
    return exitCode.good
  })
}
