// Replies about the log: what happened when.
import { flag, integer, list, map, number, object, oneOfTexts, orNull, text } from '../build.ts'
import { acknowledgement, type Schemas, time } from './parts.ts'

const historyProgress = {
  complete: flag('Whether all of the log was read.'),
  segments_read: integer(),
  segments: integer(),
}

/** Absent if it is unknown. */
const author = object({
  token: text('Name of the token: that of a database, root, or owner; empty without one.'),
  actor: text('What the header X-Annal-Actor said; empty without one.'),
})

const changedValues = map(object({}, { before: {}, after: {} }), 'By key; absent where the key is.')

export const historyReplies = {
  Cursors: object({ cursors: list(object({ name: text(), lsn: integer(), updated_at: time })) }),
  CursorPlace: object({ name: text(), lsn: integer(), durable: flag('Whether the place is in the log already.') }),
  Versions: object({
    ...historyProgress,
    versions: list(
      object(
        {
          lsn: integer(),
          kind: oneOfTexts([
            'created',
            'written',
            'filter_updated',
            'patched',
            'deleted',
            'expired',
            'restored',
            'earlier',
          ]),
          exists: flag('Whether the object exists as of this version.'),
        },
        {
          time,
          author,
          as_of_lsn: integer('The moment that an undo restored.'),
          changes: object(
            {
              meta: changedValues,
              filter: changedValues,
              fields: list(text(), 'Names of the fields whose vectors or texts changed.'),
            },
            {
              meta_bytes: flag('Meta that is not a JSON object changed.'),
              expires_at: object({}, { before: integer(), after: integer() }),
            },
          ),
        },
      ),
      'Oldest first.',
    ),
    next: orNull(integer('`from` of the next page.')),
  }),
  Undone: object({ restored: integer(), deleted: integer(), as_of_lsn: integer(), ...acknowledgement }),
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
          author,
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
