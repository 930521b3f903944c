// `annal diff`: the objects that differ between two moments, one line for each.
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { momentOf } from '../moment.ts'
import type { Terminal } from '../terminal.ts'

export interface DiffOptions extends ConnectionOptions {
  readonly from: string
  readonly to?: string
  readonly json?: boolean
}

/** The server builds the collection as of both moments before it replies. */
const longMs = 3_600_000

const signs = { added: '+', changed: '~', removed: '-' } as const

export function printDiff(collection: string, options: DiffOptions, terminal: Terminal): Promise<number> {
  const from = momentOf(options.from, '--from')
  const to = options.to === undefined ? undefined : momentOf(options.to, '--to')
  return withClient(options, async (client) => {
    const counts = { added: 0, changed: 0, removed: 0 }
    for await (const { id, change } of client.collection(collection).diff({ from, to }, { timeoutMs: longMs })) {
      counts[change] += 1
      terminal.line(options.json ? JSON.stringify({ id, change }) : `${signs[change]} ${id}`)
    }
    const { added, changed, removed } = counts
    if (!options.json) terminal.say(`${added} added, ${changed} changed, ${removed} removed`)
    return exitCode.good
  })
}
