// Errors of the operating system about files become errors of the engine in this file only: at the doors of the library, and where a failure
// is kept for a status or for health. Code between the disk and a door sees the error of the system, and decides by it whether a file is missing.
import { errnoOf, isDiskFull } from '@annal/wal'
import { EngineError } from './errors.ts'

/** Errno names that mean that this file system accepts no writes. */
const meanings: Readonly<Record<string, string>> = {
  EROFS: 'the file system is mounted read-only',
  EMFILE: 'this process has no file descriptors left',
  ENFILE: 'the system has no file descriptors left',
  EACCES: 'this process may not access the file',
  EPERM: 'this process may not access the file',
  EIO: 'the disk reported an error',
}

/**
 * The error of the engine for a failed system call: read_only if the disk takes no writes, disk_failed otherwise; any other error as it is.
 * The message has no path, because clients of a server read it; `file` has it.
 */
export function codedDiskError(error: unknown): unknown {
  const errno = errnoOf(error)
  if (errno === undefined) return error
  if (isDiskFull(error))
    return new EngineError('read_only', 'the disk has no space for this', { field: 'disk' }, { cause: error })
  const { path } = error as { readonly path?: unknown }
  const details = { field: 'disk', reason: errno, ...(typeof path === 'string' && { file: path }) }
  const message = `a file could not be read or written: ${meanings[errno] ?? 'the system refused the call'} (${errno})`
  return new EngineError(errno === 'EROFS' ? 'read_only' : 'disk_failed', message, details, { cause: error })
}

/** Why a collection is out of service, and what to do if the system refused a call: then nothing of it is lost. */
export function outOfServiceReason(error: unknown): string {
  const { message } = codedDiskError(error) as Error
  if (errnoOf(error) === undefined) return message
  const cure = isDiskFull(error) ? 'free disk space, then restart' : 'remove the cause, then restart'
  return `${message}; its data is complete in the log and its checkpoints: ${cure}`
}

/** Why a collection is out of service for now. */
export function loadedAgainReason(error: unknown): string {
  const { message } = codedDiskError(error) as Error
  return `${message}; it is loaded again automatically when the cause ends`
}

/** Runs work on files. Throws read_only or disk_failed for a failed system call. */
export async function codingDiskErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw codedDiskError(error)
  }
}

/** Yields what `source` does. Throws read_only or disk_failed for a failed system call. */
export async function* codingDiskErrorsOf<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* source
  } catch (error) {
    throw codedDiskError(error)
  }
}

/**
 * Makes every method of a class whose objects users of the library hold throw, or reject with, read_only or disk_failed for a failed system
 * call. Called once for each class, after its definition.
 */
export function codeDiskErrors(
  { prototype }: { readonly prototype: object },
  { except }: { readonly except?: string } = {},
): void {
  for (const [name, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name === 'constructor' || name === except || typeof method !== 'function') continue
    const coded = function (this: unknown, ...args: unknown[]): unknown {
      try {
        const result: unknown = Reflect.apply(method, this, args)
        return result instanceof Promise ? result.catch(rethrow) : result
      } catch (error) {
        throw codedDiskError(error)
      }
    }
    Object.defineProperty(prototype, name, { value: coded, configurable: true, writable: true })
  }
}

function rethrow(error: unknown): never {
  throw codedDiskError(error)
}
