// Why a server cannot start or continue: one line for the user, and an exit code for the supervisor.
import { ConfigError } from './config.ts'

/** How the process exits. */
export interface Exit {
  readonly code: number
  readonly lines: readonly string[]
}

/** Exit codes of sysexits.h. */
const codesByName: { readonly [code: string]: number } = {
  log_damaged: 65,
  identity_damaged: 65,
  identity_mismatch: 65,
  snapshot_damaged: 65,
  lsn_not_held: 65,
  EADDRINUSE: 69,
  EADDRNOTAVAIL: 69,
  ENOTFOUND: 69,
  EAI_AGAIN: 69,
  archive_damaged: 65,
  archive_empty: 69,
  archive_trimmed: 78,
  directory_locked: 73,
  directory_follows: 78,
  log_failed: 74,
  EIO: 74,
  EACCES: 77,
  EPERM: 77,
  EROFS: 77,
  ENOTDIR: 77,
  ENOENT: 77,
  EEXIST: 77,
  ENAMETOOLONG: 77,
  ELOOP: 77,
  format_too_new: 78,
  node_too_old: 78,
  stream_weak: 78,
  nats_weak: 78,
  node_removed: 78,
  node_behind: 75,
  disk_full: 75,
  ENOSPC: 75,
  EDQUOT: 75,
}
/** What the engine makes of failed system calls. */
const errorsOfDisk: ReadonlySet<string> = new Set(['disk_failed', 'read_only'])
const usageError = 64
const internalError = 70

/** The exit code and lines of an error. */
export function exitOf(error: unknown): Exit {
  if (error instanceof ConfigError) return { code: usageError, lines: error.problems }
  if (!(error instanceof Error)) return { code: internalError, lines: [String(error)] }
  // The error of the system says more about a start than the one that the engine made of it.
  if (isOfDisk(error)) return exitOf(error.cause)
  const name = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const code = codesByName[name]
  if (code === undefined) return { code: internalError, lines: [error.stack ?? error.message] }
  return { code, lines: [sentenceFor(name, error).replaceAll('\n', ' ')] }
}

function isOfDisk(error: Error): boolean {
  return (
    'code' in error && errorsOfDisk.has(String(error.code)) && error.cause instanceof Error && 'code' in error.cause
  )
}

function sentenceFor(name: string, error: Error): string {
  const listenAddress = 'port' in error && 'address' in error ? `${String(error.address)}:${String(error.port)}` : ''
  if (name === 'EADDRINUSE') return `${listenAddress} is in use by another process; set NDD_SERVER_PORT to a free port`
  if (name === 'EADDRNOTAVAIL') return `${listenAddress} is not an address of this machine; set NDD_HOST to one`
  if ((name === 'ENOTFOUND' || name === 'EAI_AGAIN') && 'hostname' in error)
    return `the host ${String(error.hostname)} is unknown (${error.message}); set NDD_HOST to an address of this machine`
  const syscall = 'syscall' in error ? String(error.syscall) : ''
  if (name === 'EACCES' && syscall === 'listen')
    return `this user may not listen on ${listenAddress}; set NDD_SERVER_PORT above 1023`
  if (name === 'EIO') return `the disk of the data directory reported an error (${error.message})`
  if (name === 'ENOSPC' || name === 'EDQUOT' || name === 'disk_full')
    return `the disk of the data directory is full (${error.message}); free disk space, then start it again`
  if (codesByName[name] === 77)
    return `the data directory cannot be used (${error.message}); set NDD_DATA_DIR to one that can be written`
  return error.message
}
