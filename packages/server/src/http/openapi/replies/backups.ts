// Replies about backups and their schedules.
import { constant, flag, integer, list, map, number, object, oneOfTexts, orNull, ref, text } from '../build.ts'
import { acknowledgement, jobTimes, message, type Schemas, seconds, time } from './parts.ts'

const schedule = {
  collection: text(),
  every_hours: number(),
  keep: integer(),
  check: flag(),
  last_at: orNull(time),
  next_at: orNull(time),
}
const jobState = oneOfTexts(['idle', 'running', 'completed', 'failed'])
export const backupReplies = {
  BackupStarted: object({ backup_name: text(), status: constant('in_progress') }),
  Backup: object({
    original_index: text(),
    original_collection: text(),
    aliases: list(text(), 'Aliases that led to it then. A restore does not create them.'),
    timestamp: integer(seconds),
    size_mb: integer(),
    size_bytes: integer(),
    lsn: integer(),
    log_time: time,
    digest: text(),
    params: object(
      { sparse_model: text(), total_elements: integer(), checksum: integer() },
      {
        M: integer(),
        ef_construction: integer(),
        dim: integer(),
        space_type: text(),
        quant_level: integer(),
        precision: text(),
      },
    ),
    fields: list(
      object({
        name: text(),
        kind: oneOfTexts(['dense', 'sparse', 'multi']),
        params: { type: 'object', additionalProperties: true },
        element_count: integer(),
      }),
    ),
  }),
  Backups: map(ref('Backup'), 'By name.'),
  ActiveBackup: object(
    { active: flag() },
    {
      operation: constant('backup'),
      backup_name: text(),
      index_id: text(),
      collection_id: text(),
      percent_complete: number(),
    },
  ),
  JobStatus: object(
    { status: jobState },
    { backup_name: text(), collection: text(), percent_complete: number(), ...jobTimes },
  ),
  Cancellation: object({ cancelled: flag() }),
  Verification: object({ status: oneOfTexts(['ok', 'damaged']), faults: list(text()) }),
  Uploaded: object({ ...message, backup_name: text() }),
  Message: object(message),
  Restored: object({ ...message, collection: text(), ...acknowledgement }),
  Cloned: object({
    ...message,
    collection: text(),
    content_lsn: integer('The newest event of the source that the clone has.'),
    ...acknowledgement,
  }),
  Schedule: object(schedule),
  ScheduleSet: object({ ...schedule, ...acknowledgement }),
  Schedules: object({
    schedules: list(ref('Schedule')),
    server: orNull(object({ every_hours: number(), keep: integer(), check: flag() })),
  }),
  ScheduleDeleted: object({ deleted: flag() }, acknowledgement),
} satisfies Schemas
