// `annal restore --whole`: a data directory as it was at a moment, in a new directory. The one it comes from is only read.
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
  if (Number.isNaN(timeMs)) throw usageError(`--to-time ${options.toTime} is not a time`)
  if (!options.json) terminal.say(`restoring ${from}; what is made is opened once before it appears`)
  const { lsn } = await restoreDataDirectory({ from, to, lsn: options.toLsn, timeMs }).catch((error: unknown) => {
    throw error instanceof EngineError ? refusal(error) : error
  })
  const made = path.resolve(to)
  terminal.line(options.json ? JSON.stringify({ directory: made, lsn }) : `${made} is ${from} as of LSN ${lsn}`)
  return exitCode.good
}
