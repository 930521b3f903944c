// Finds the data directory of a command.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'

/** The given directory, the one of the environment, or the default. */
export function dataDir(given: string | undefined): string {
  return given ?? (process.env.NDD_DATA_DIR?.trim() || './data')
}

export function existingDataDir(given: string | undefined): string {
  const dir = dataDir(given)
  if (existsSync(dir)) return dir
  throw usageError(`no such directory: ${path.resolve(dir)}`)
}

/** The log of a data directory, or the directory itself if it is a log. */
export function logDir(given: string | undefined): string {
  const dir = existingDataDir(given)
  const inside = path.join(dir, 'wal')
  if (existsSync(path.join(dir, 'IDENTITY')) && !holdsSegments(inside)) {
    const what = `the log of ${path.resolve(dir)} is missing: IDENTITY records a log, but wal/ has no segment`
    throw new CommandEnd(exitCode.damaged, `${what}; put wal/ back, or restore a backup`)
  }
  if (existsSync(inside)) return inside
  if (holdsSegments(dir)) return dir
  throw usageError(`${path.resolve(dir)} is neither a data directory nor a log`)
}

function holdsSegments(dir: string): boolean {
  return existsSync(dir) && readdirSync(dir).some((name) => name.endsWith('.wal'))
}
