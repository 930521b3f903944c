// `annal restore --whole`: creates a new data directory with the state of another one at a given time. The source is only read.
import path from 'node:path'
import { EngineError, restoreDataDirectory } from '@annal/engine'
import { refusal } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface RestoreDirectoryOptions {
  readonly toLsn?: number
  readonly toTime?: string
  readonly json?: boolean
}

export async function restoreWhole(
  from: string,
  to: string,
  options: RestoreDirectoryOptions,
  terminal: Terminal,
): Promise<number> {
  const timeMs = options.toTime === undefined ? undefined : Date.parse(options.toTime)
  if (Number.isNaN(timeMs)) throw usageError(`--to-time ${options.toTime} is not a valid time`)
  if (!options.json) terminal.say(`restoring ${from}; the result is opened once as a test`)
  const { lsn } = await restoreDataDirectory({
    from,
    to,
    lsn: options.toLsn,
    timeMs,
    onProgress: ({ job, done, total }) => terminal.bar.show(`opening the result: ${job}`, done, total),
  }).catch((error: unknown) => {
    throw error instanceof EngineError ? refusal(error) : error
  })
  const made = path.resolve(to)
  terminal.line(options.json ? JSON.stringify({ directory: made, lsn }) : `${made} contains ${from} as of LSN ${lsn}`)
  return exitCode.good
}
