// Which data directory a command is about.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { usageError } from './exit-code.ts'

/** The one given, that of the environment, or the default. */
export function dataDir(given: string | undefined): string {
  return given ?? (process.env.NDD_DATA_DIR?.trim() || './data')
}

export function existingDataDir(given: string | undefined): string {
  const dir = dataDir(given)
  if (existsSync(dir)) return dir
  throw usageError(`there is no directory ${path.resolve(dir)}`)
}

/** The log of a data directory, or the directory itself where it is a log. */
export function logDir(given: string | undefined): string {
  const dir = existingDataDir(given)
  const inside = path.join(dir, 'wal')
  return existsSync(inside) ? inside : dir
}
