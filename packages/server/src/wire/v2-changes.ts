// The query string of /api/v2/changes.
import type { ChangeKind, ChangesRequest, Cursor, Filter } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { parseJsonText } from './json-body.ts'
import type { Infer } from './schema.ts'

const lsnDigits = /^\d{1,15}$/

const names = (description: string) =>
  Type.Optional(
    Type.Unsafe<string | readonly string[]>({
      anyOf: [
        { type: 'string', maxLength: 65_536 },
        { type: 'array', items: { type: 'string', maxLength: 65_536 }, maxItems: 1_000 },
      ],
      description,
    }),
  )

export const changesQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      pattern: lsnDigits.source,
      description: 'The first LSN to deliver. By default the stream begins after the newest record.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'Begin after the LSN that this cursor acknowledged; at `from` if there is no such cursor.',
    }),
  ),
  collection: names('Only changes of these collections: names separated by commas, or the parameter several times.'),
  kind: names('Only changes of these kinds, in the same forms.'),
  filter: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description: 'Conditions as JSON. Ids of objects that do not satisfy them are in `left`.',
    }),
  ),
  vectors: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description: 'Whether written objects come with vectors.',
    }),
  ),
})
export type ChangesQuery = Infer<typeof changesQuery>

/** Path parameter of a cursor. */
export const cursorParam = Type.Object({ name: Type.String({ description: 'Name of the cursor.' }) })

/** Body that acknowledges changes. The engine checks the number. */
export const cursorBody = Type.Object(
  { lsn: Type.Integer({ description: 'Every change up to this LSN is processed.' }) },
  { $id: 'Acknowledge' },
)
export type CursorBody = Infer<typeof cursorBody>

/** A cursor in a reply. */
export function cursorInfo({ name, lsn, updatedAt }: Cursor) {
  return { name, lsn, updated_at: new Date(updatedAt).toISOString() }
}

/** The request of a query string. The header Last-Event-ID, with which clients resume, has precedence over `from` and `cursor`. */
export function readChanges(
  { from, cursor, collection, kind, filter, vectors }: ChangesQuery,
  lastEventId: string | undefined,
): ChangesRequest {
  const isResumed = lastEventId !== undefined && lastEventId !== ''
  return {
    cursor: isResumed ? undefined : cursor,
    from: isResumed ? readLastEventId(lastEventId) + 1 : from && Number(from),
    collections: listOf(collection),
    // The engine checks the names and the conditions.
    kinds: listOf(kind) as readonly ChangeKind[] | undefined,
    filter: filter === undefined ? undefined : (parseJsonText(filter, 'filter') as Filter),
    includeVectors: vectors === 'true',
  } as ChangesRequest
}

function readLastEventId(value: string): number {
  if (lsnDigits.test(value)) return Number(value)
  throw invalidArgument('Last-Event-ID must be the LSN of an event', { field: 'Last-Event-ID', value })
}

function listOf(value: string | readonly string[] | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : [value].flat().flatMap((text) => text.split(','))
}
