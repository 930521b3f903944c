// What a server returns about backups.

/** A complete backup of one collection. */
export interface BackupInfo {
  readonly name: string
  /** The name of the collection when the backup was created. */
  readonly original: string
  readonly createdAt: Date
  readonly bytes: number
  readonly objects: number
  /** The newest event in the backup. */
  readonly lsn: number
  /** The time of the newest event in the backup. */
  readonly logTime: Date
  /** Number of objects with a value, for each field. */
  readonly fields: readonly { readonly name: string; readonly kind: string; readonly count: number }[]
  /** Hash of the collection's state; empty if it was written to during the backup. */
  readonly digest: string
}

/** The state of the newest backup. */
export interface BackupStatus {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  /** The running backup, or the last one since the server started. */
  readonly name?: string | undefined
  readonly collection?: string | undefined
  readonly percent?: number | undefined
  readonly error?: string | undefined
}
