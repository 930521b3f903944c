// Faults on demand: what a Vfs call may be made to do instead of what it was asked.

export type DiskCall =
  | 'open'
  | 'write'
  | 'read'
  | 'datasync'
  | 'truncate'
  | 'size'
  | 'close'
  | 'rename'
  | 'remove'
  | 'removeTree'
  | 'link'
  | 'makeDirectory'
  | 'list'
  | 'exists'
  | 'syncDirectory'
  | 'freeBytes'

export interface DiskOperation {
  readonly call: DiskCall
  readonly path: string
  /** Which open file it was: two openings of one path differ. 0 for calls without one. */
  readonly handle: number
  /** How many bytes a write brings. */
  readonly bytes: number
}

/** `errno` fails the call and does nothing; `short` takes only so many bytes of a write and says so. */
export type Fault = { readonly errno: string } | { readonly short: number }

/** Asked before every call; returns what shall go wrong, if anything. */
export type FaultPlan = (operation: DiskOperation) => Fault | undefined

export function errnoError(errno: string, operation: { readonly call: string; readonly path: string }): Error {
  const error = new Error(`${errno}: injected, ${operation.call} '${operation.path}'`)
  return Object.assign(error, { code: errno })
}
