// A backup schedule, and what a server returns about it.

/** How often a collection is backed up. */
export interface ScheduleOptions {
  /** Hours between backups, 1 to 8,760. A collection that did not change is not backed up again. */
  readonly everyHours: number
  /** Number of scheduled backups to keep; default 7. */
  readonly keep?: number | undefined
  /** Verifies each backup with a test restore; default true. */
  readonly check?: boolean | undefined
}

/** The backup schedule of a collection. */
export interface Schedule {
  readonly collection: string
  readonly everyHours: number
  readonly keep: number
  readonly check: boolean
  /** When the newest scheduled backup was made. */
  readonly lastAt?: Date
  /** When the next one is due; undefined until the first one exists. */
  readonly nextAt?: Date
}

/** All backup schedules of the database. */
export interface ScheduleList {
  readonly schedules: readonly Schedule[]
  /** The schedule of all collections without their own; undefined if the server has none. */
  readonly server?: { readonly everyHours: number; readonly keep: number; readonly check: boolean }
}
