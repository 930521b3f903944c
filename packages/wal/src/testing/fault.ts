// Faults that can be injected into a Vfs call.

/** The calls of a Vfs and of its files. */
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

/** One call, as a fault plan sees it. */
export interface DiskOperation {
  readonly call: DiskCall
  readonly path: string
  /** Identifies the open file: two openings of one path differ. 0 for calls without one. */
  readonly handle: number
  /** The number of bytes of a write. */
  readonly bytes: number
}

/** `errno` fails the call without an effect; `short` writes only this many bytes and returns that count. */
export type Fault = { readonly errno: string } | { readonly short: number }

/** Called before every operation; returns the fault to inject, if any. */
export type FaultPlan = (operation: DiskOperation) => Fault | undefined

/** An error as Node.js throws it for a failed call. */
export function errnoError(errno: string, operation: { readonly call: string; readonly path: string }): Error {
  const error = new Error(`${errno}: injected, ${operation.call} '${operation.path}'`)
  return Object.assign(error, { code: errno })
}
