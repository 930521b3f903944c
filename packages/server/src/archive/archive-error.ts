// Why a bucket archive cannot be written or read. These errors last: only an operator can end them. A bucket that does not answer is
// reported by StoreUnavailable instead.

/** Codes of errors that only bucket archives have. */
export type ArchiveErrorCode =
  | 'archive_in_use'
  | 'archive_diverged'
  | 'archive_taken_over'
  | 'archive_damaged'
  | 'archive_empty'
  | 'archive_trimmed'

/** An archive in a bucket cannot be used. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
  readonly code: ArchiveErrorCode
  /** With archive_taken_over: the last record of this directory that the archive has, if it is known. */
  readonly lsn: number | undefined

  constructor(code: ArchiveErrorCode, message: string, options: ErrorOptions & { readonly lsn?: number } = {}) {
    super(message, options)
    this.code = code
    this.lsn = options.lsn
  }
}
