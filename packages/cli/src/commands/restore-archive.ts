// `annal restore s3://BUCKET/PREFIX DIRECTORY`: creates a data directory from the archive that a server keeps in a bucket.
import path from 'node:path'
import { EngineError } from '@annal/engine'
import { ArchiveError, restoreArchive, StoreUnavailable } from '@annal/server/archive'
import { refusal } from '../connection.ts'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'
import type { RestoreDirectoryOptions } from './restore-directory.ts'

export async function restoreFromBucket(
  from: string,
  to: string,
  options: RestoreDirectoryOptions,
  terminal: Terminal,
): Promise<number> {
  const timeMs = options.toTime === undefined ? undefined : Date.parse(options.toTime)
  if (Number.isNaN(timeMs)) throw usageError(`--to-time ${options.toTime} is not a valid time`)
  if (!options.json) terminal.say(`restoring ${from}; the result is opened once as a test`)
  const { lsn } = await restoreArchive({
    ...{ from, to, lsn: options.toLsn, timeMs },
    onDownload: ({ what, done, total }) => terminal.bar.show(`downloading ${what}`, done, total),
    onProgress: ({ job, done, total }) => terminal.bar.show(`opening the result: ${job}`, done, total),
    onNotice: (sentence) => terminal.say(sentence),
  }).catch((error: unknown) => {
    if (error instanceof ArchiveError) {
      const code = error.code === 'archive_damaged' ? exitCode.damaged : exitCode.unavailable
      throw new CommandEnd(code, `${error.message} (${error.code})`)
    }
    if (error instanceof StoreUnavailable) throw new CommandEnd(exitCode.unavailable, error.message)
    throw error instanceof EngineError ? refusal(error) : error
  })
  const made = path.resolve(to)
  terminal.line(options.json ? JSON.stringify({ directory: made, lsn }) : `${made} contains ${from} as of LSN ${lsn}`)
  return exitCode.good
}
