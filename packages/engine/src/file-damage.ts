// A file of the data directory that is missing or cannot be read is damage like a changed byte is: what uses it falls back or
// goes out of service by name. Nobody above this gets an error of the operating system for it. Missing permission is not damage,
// since a retry as the right user cures it, and neither is a full disk.
import { errnoOf } from '@annal/wal'
import { EngineError } from './errors.ts'

const faults: Readonly<Record<string, string>> = {
  ENOENT: 'is missing',
  ENOTDIR: 'is missing: a directory above it is a file',
  EISDIR: 'is a directory, not a file',
  ELOOP: 'is a symbolic link that leads to itself',
  EIO: 'cannot be read: the disk reports an error (EIO)',
}

/** What the failed access to a file means; undefined where it does not mean that the file is damaged. */
export function unreadableFile(error: unknown, path: string): EngineError | undefined {
  const errno = errnoOf(error)
  const fault = errno === undefined ? undefined : faults[errno]
  if (fault === undefined) return undefined
  return new EngineError('snapshot_damaged', `${path} ${fault}`, { file: path, reason: errno }, { cause: error })
}

/** Runs `access`, which reads, opens or links the file at `path`. Throws snapshot_damaged when the file is missing or unreadable. */
export async function accessing<T>(path: string, access: () => Promise<T>): Promise<T> {
  try {
    return await access()
  } catch (error) {
    throw unreadableFile(error, path) ?? error
  }
}

/** Whether a file was not there, also where that was already reported as damage. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT' || (error instanceof EngineError && error.details.reason === 'ENOENT')
}
