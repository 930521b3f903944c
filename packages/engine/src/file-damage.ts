// A file of the data directory that is missing or unreadable counts as damage, like a changed byte: its user falls back
// or goes out of service by name. Callers above this file never get an error of the operating system for it. Missing
// permission is not damage, because a retry as the right user fixes it; neither is a full disk, which has a code of its own.
import { errnoOf } from '@annal/wal'
import { EngineError } from './errors.ts'

const faults: Readonly<Record<string, string>> = {
  ENOENT: 'is missing',
  ENOTDIR: 'is missing: a directory above it is a file',
  EISDIR: 'is a directory, not a file',
  ELOOP: 'is a symbolic link to itself',
  ENODATA: 'is shorter than expected',
  EIO: 'cannot be read: the disk reported an error (EIO)',
}

/** The meaning of a failed file access; undefined when it does not mean damage. */
export function unreadableFile(error: unknown, path: string): EngineError | undefined {
  const errno = errnoOf(error)
  const fault = errno === undefined ? undefined : faults[errno]
  if (fault === undefined) return undefined
  return new EngineError('snapshot_damaged', `${path} ${fault}`, { file: path, reason: errno }, { cause: error })
}

/**
 * Runs `access`, which reads, opens or links the file at `path`. Throws snapshot_damaged when the file is missing or
 * unreadable.
 */
export async function accessing<T>(path: string, access: () => Promise<T>): Promise<T> {
  try {
    return await access()
  } catch (error) {
    throw unreadableFile(error, path) ?? error
  }
}

/** Whether a file was missing, also when that was already reported as damage. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT' || (error instanceof EngineError && error.details.reason === 'ENOENT')
}
