// Backup schedules in /api/v2.
import type { Database } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { scheduledBackups } from '../backups/scheduled-backup.ts'
import { nextRun } from '../backups/scheduler.ts'
import type { Schedule } from '../backups/schedules.ts'
import type { Config } from '../config.ts'
import { type Infer, optionalBoolean, optionalInteger } from './schema.ts'

const keepDefault = 7

/** Body that sets a schedule. */
export const scheduleBody = Type.Object(
  {
    every_hours: Type.Integer({
      minimum: 1,
      maximum: 8_760,
      description: 'Hours between backups of the collection, if it changed.',
    }),
    keep: optionalInteger({ minimum: 1, maximum: 10_000 }, 'Number of scheduled backups to keep; default 7.'),
    check: optionalBoolean('Verifies each backup with a test restore; default true.'),
  },
  { $id: 'BackupSchedule' },
)
export type ScheduleBody = Infer<typeof scheduleBody>

/** The schedule of a request, with defaults. */
export function readSchedule(collection: string, body: ScheduleBody): Omit<Schedule, 'database'> {
  return { collection, everyHours: body.every_hours, keep: body.keep ?? keepDefault, check: body.check ?? true }
}

/** A schedule with the times of its last and next backup. */
export function scheduleInfo(database: Database, schedule: Schedule) {
  const { collection, everyHours, keep, check } = schedule
  const newest = scheduledBackups(database, collection).at(-1)
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    collection,
    every_hours: everyHours,
    keep,
    check,
    last_at: newest === undefined ? null : time(newest.takenAt),
    next_at: newest === undefined ? null : time(nextRun(database, schedule)),
  }
}

/** The schedule of collections without their own schedule. */
export function serverSchedule({ backupEveryHours, backupKeep, backupCheck }: Config) {
  if (backupEveryHours === undefined) return null
  return { every_hours: backupEveryHours, keep: backupKeep, check: backupCheck }
}
