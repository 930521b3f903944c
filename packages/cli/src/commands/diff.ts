// `annal diff`: the objects that differ between two moments, one line for each.
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { AnnalError } from '@annal/client'
import { httpRequests, segment } from '@annal/client/http'
import type { ObjectChange } from '@annal/engine'
import { type ConnectionOptions, refusal } from '../connection.ts'
import { CommandEnd, exitCode } from '../exit-code.ts'
import { type Moment, momentOf, momentText } from '../moment.ts'
import type { Terminal } from '../terminal.ts'

export interface DiffOptions extends ConnectionOptions {
  readonly from: string
  readonly to?: string
  readonly json?: boolean
}

interface Moments {
  readonly from: Moment
  readonly to: Moment | undefined
}

/** With `json` the lines are those of the server. */
export async function printDiff(collection: string, options: DiffOptions, terminal: Terminal): Promise<number> {
  const moments = {
    from: momentOf(options.from, '--from'),
    to: options.to === undefined ? undefined : momentOf(options.to, '--to'),
  }
  const counts = { added: 0, changed: 0, removed: 0 }
  const changes = options.dataDir === undefined ? overHttp : inDirectory
  for await (const { id, change } of changes(collection, moments, options)) {
    counts[change] += 1
    terminal.line(options.json ? JSON.stringify({ id, change }) : `${signs[change]} ${id}`)
  }
  const { added, changed, removed } = counts
  if (!options.json) terminal.say(`${added} added, ${changed} changed, ${removed} removed`)
  return exitCode.good
}

/** The server builds the collection as of both moments before it replies. */
const longMs = 3_600_000

const signs = { added: '+', changed: '~', removed: '-' } as const

async function* overHttp(
  collection: string,
  { from, to }: Moments,
  { server, token }: ConnectionOptions,
): AsyncGenerator<ObjectChange> {
  const query = new URLSearchParams({ from: momentText(from), ...(to !== undefined && { to: momentText(to) }) })
  const path = `/api/v2/collection/${segment(collection)}/diff?${query}`
  try {
    const { stream } = await httpRequests({ url: server, token }).send(
      { method: 'GET', path, accept: 'application/x-ndjson, application/json', streamed: true },
      { timeoutMs: longMs },
    )
    if (stream === undefined) return
    // The stream of the global type is that of node:stream/web.
    const lines = createInterface({ input: Readable.fromWeb(stream as NodeStream) })
    for await (const line of lines) yield JSON.parse(line) as ObjectChange
  } catch (error) {
    if (error instanceof AnnalError) throw refusal(error)
    throw new CommandEnd(exitCode.unavailable, `${server} ended the comparison early: ${(error as Error).message}`)
  }
}

async function* inDirectory(
  collection: string,
  { from, to }: Moments,
  { dataDir = '', database = 'default' }: ConnectionOptions,
): AsyncGenerator<ObjectChange> {
  const { EngineError, openEngine } = await import('@annal/engine')
  const engineMoment = (moment: Moment) => ('lsn' in moment ? moment : { timeMs: moment.time.getTime() })
  try {
    const engine = await openEngine({ dataDir })
    try {
      const { history } = engine.database(database)
      yield* history.diff({ collection, from: engineMoment(from), to: to && engineMoment(to) })
    } finally {
      await engine.close()
    }
  } catch (error) {
    throw error instanceof EngineError ? refusal(error) : error
  }
}
