// Replies about the log: what happened when.
import { flag, integer, list, number, object, oneOfTexts, orNull, text } from '../build.ts'
import { type Schemas, time } from './parts.ts'

const historyProgress = {
  complete: flag('Whether all of the log was read.'),
  segments_read: integer(),
  segments: integer(),
}

export const historyReplies = {
  Events: object({
    ...historyProgress,
    events: list(
      object(
        { lsn: integer(), time, type: text(), bytes: integer() },
        {
          collection: text(),
          objects: integer(),
          ids: list(text()),
          fields: list(text()),
          token: text(),
          active: flag(),
        },
      ),
      'Oldest first, without their data.',
    ),
    next: orNull(integer('`from` of the next page.')),
    previous: orNull(integer('`before` of the previous page.')),
  }),
  Activity: object({
    ...historyProgress,
    restorable_from: orNull(object({ lsn: integer(), time })),
    history: orNull(object({ begins: oneOfTexts(['first_record', 'age', 'size', 'disk', 'start']), hours: number() })),
    bucket_seconds: number(),
    buckets: list(
      object({
        time,
        lsn_first: integer(),
        lsn_last: integer(),
        records: integer(),
        bytes: integer(),
        written: integer(),
        deleted: integer(),
        refiltered: integer(),
        changes: integer(),
      }),
    ),
  }),
} satisfies Schemas
