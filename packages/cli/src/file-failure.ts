// Turns a failure with a named input or output file into one sentence that names the file, and an exit code. It does not mention the
// data directory, because most named files are elsewhere.
import { exitCode } from './exit-code.ts'

export interface FileFailure {
  readonly code: number
  readonly line: string
}

const meanings: Readonly<Record<string, readonly [code: number, what: string]>> = {
  ENOENT: [exitCode.usage, 'no such file or directory'],
  ENOTDIR: [exitCode.usage, 'a directory of this path is a file'],
  EISDIR: [exitCode.usage, 'it is a directory, not a file'],
  EEXIST: [exitCode.usage, 'it already exists and is not overwritten'],
  ENAMETOOLONG: [exitCode.usage, 'the name is too long'],
  ELOOP: [exitCode.usage, 'it is a symbolic link to itself'],
  EACCES: [exitCode.permission, 'permission denied'],
  EPERM: [exitCode.permission, 'permission denied'],
  EROFS: [exitCode.permission, 'the file system is read-only'],
  ENOSPC: [exitCode.io, 'the disk is full'],
  EDQUOT: [exitCode.io, 'the disk quota is exceeded'],
  EIO: [exitCode.io, 'the disk reported an error'],
}

/** Undefined if the error is not about a file. */
export function fileFailure(error: unknown): FileFailure | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  const meaning = meanings[String(error.code)]
  if (meaning === undefined) return undefined
  const [code, what] = meaning
  // Reading a directory as a file fails after it was opened, without a path.
  if ('path' in error && typeof error.path === 'string') return { code, line: `${error.path}: ${what}` }
  return error.syscall === 'read' ? { code, line: `${what} (read)` } : undefined
}
