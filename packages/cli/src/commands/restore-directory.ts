// `annal restore --whole`: creates a new data directory with the state of another one at a given time. The source is only read.
import { EngineError, restoreDataDirectory } from '@annal/engine'
import { refusal } from '../connection.ts'
import type { Terminal } from '../terminal.ts'
import { type RestoreToOptions, restoreTo } from './restore-to.ts'

export function restoreWhole(from: string, to: string, options: RestoreToOptions, terminal: Terminal): Promise<number> {
  return restoreTo({ from, to, options, terminal }, restoreDataDirectory, (error) =>
    error instanceof EngineError ? refusal(error) : error,
  )
}
