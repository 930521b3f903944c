// `annal restore s3://BUCKET/PREFIX DIRECTORY`: creates a data directory from the archive that a server keeps in a bucket.
import { EngineError } from '@annal/engine'
import { ArchiveError, restoreArchive, StoreUnavailable } from '@annal/server/archive'
import { refusal } from '../connection.ts'
import { CommandEnd, exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'
import { type RestoreToOptions, restoreTo } from './restore-to.ts'

export function restoreFromBucket(
  from: string,
  to: string,
  options: RestoreToOptions,
  terminal: Terminal,
): Promise<number> {
  return restoreTo(
    { from, to, options, terminal },
    (what) =>
      restoreArchive({
        ...what,
        onDownload: ({ what: file, done, total }) => terminal.bar.show(`downloading ${file}`, done, total),
        onNotice: (sentence) => terminal.say(sentence),
      }),
    archiveFailure,
  )
}

/** An error of an archive in a bucket as the end of a command. */
export function archiveFailure(error: unknown): unknown {
  if (error instanceof ArchiveError) {
    const code = error.code === 'archive_damaged' ? exitCode.damaged : exitCode.unavailable
    return new CommandEnd(code, `${error.message} (${error.code})`)
  }
  if (error instanceof StoreUnavailable) return new CommandEnd(exitCode.unavailable, error.message)
  return error instanceof EngineError ? refusal(error) : error
}
