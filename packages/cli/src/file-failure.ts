// What a file that a command was given, or that it writes, failed with: one sentence that names the file, and an exit code. The data
// directory is not mentioned, since most files that people name are elsewhere.
import { exitCode } from './exit-code.ts'

export interface FileFailure {
  readonly code: number
  readonly line: string
}

const meanings: Readonly<Record<string, readonly [code: number, what: string]>> = {
  ENOENT: [exitCode.usage, 'no such file or directory'],
  ENOTDIR: [exitCode.usage, 'a directory in this path is a file'],
  EISDIR: [exitCode.usage, 'this is a directory, not a file'],
  EEXIST: [exitCode.usage, 'this exists already; nothing is overwritten'],
  ENAMETOOLONG: [exitCode.usage, 'this name is too long'],
  ELOOP: [exitCode.usage, 'this is a symbolic link that leads to itself'],
  EACCES: [exitCode.permission, 'this user has no permission'],
  EPERM: [exitCode.permission, 'this user has no permission'],
  EROFS: [exitCode.permission, 'the file system is read-only'],
  ENOSPC: [exitCode.io, 'the disk is full'],
  EDQUOT: [exitCode.io, 'the disk quota is used up'],
  EIO: [exitCode.io, 'the disk reports an error'],
}

/** Undefined for an error that is not about a file. */
export function fileFailure(error: unknown): FileFailure | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  const meaning = meanings[String(error.code)]
  if (meaning === undefined) return undefined
  const [code, what] = meaning
  // Reading a directory as a file fails after it was opened, with no path.
  if ('path' in error && typeof error.path === 'string') return { code, line: `${error.path}: ${what}` }
  return error.syscall === 'read' ? { code, line: `${what} (read)` } : undefined
}
