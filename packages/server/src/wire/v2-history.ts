// The history of objects in /api/v2: versions of one, differences between two moments, and undos.
import type { DiffRequest, Moment, ObjectVersion, UndoRequest, VersionPage, VersionsRequest } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { readMoment } from './backup.ts'
import { filterConditions, type Infer, optionalBoolean, optionalInteger } from './schema.ts'
import { timeForms, timeNotLsn } from './time.ts'
import { readConditions } from './v1-search.ts'

const lsnForm = /^\d{1,15}$/

/** Query string of the versions of an object. */
export const versionsQuery = Type.Object({
  id: Type.String({ description: 'Id of the object.' }),
  from: Type.Optional(Type.String({ pattern: lsnForm.source, description: 'The first LSN to return.' })),
  to: Type.Optional(Type.String({ pattern: lsnForm.source, description: 'The last LSN to return.' })),
  limit: Type.Optional(
    Type.String({ pattern: lsnForm.source, description: 'Number of versions, at most 500; default 100.' }),
  ),
})
export type VersionsQuery = Infer<typeof versionsQuery>

/** Query string of the differences between two moments. */
export const diffQuery = Type.Object({
  from: Type.String({ maxLength: 40, description: 'The first moment: an LSN, or a time in RFC 3339.' }),
  to: Type.Optional(Type.String({ maxLength: 40, description: 'The second moment in the same forms; default now.' })),
})
export type DiffQuery = Infer<typeof diffQuery>

/** Body of an undo. */
export const undoBody = Type.Object(
  {
    ids: Type.Optional(Type.Array(Type.String(), { maxItems: 10_000, description: 'Ids of the objects.' })),
    filter: Type.Optional(filterConditions),
    as_of: Type.Object({
      lsn: optionalInteger({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'The moment just after this event.'),
      time: Type.Optional(
        Type.Unsafe<string | number | null>({
          type: ['string', 'number', 'null'],
          description: `The moment: ${timeForms}`,
        }),
      ),
    }),
    dry_run: optionalBoolean('Counts, and changes nothing.'),
    keep_expired: optionalBoolean(
      'The objects do not expire, including those that have expired since. Default: they get the expiry that they had.',
    ),
  },
  { $id: 'Undo' },
)
export type UndoBody = Infer<typeof undoBody>

/** The page of versions that a query string requests. */
export function readVersions(collection: string, { id, from, to, limit }: VersionsQuery): VersionsRequest {
  return {
    collection,
    id,
    ...(from !== undefined && { from: Number(from) }),
    ...(to !== undefined && { to: Number(to) }),
    ...(limit !== undefined && { limit: Number(limit) }),
  }
}

/** The moments that a query string requests. */
export function readDiff(collection: string, { from, to }: DiffQuery): DiffRequest {
  return { collection, from: momentFrom(from, 'from'), ...(to !== undefined && { to: momentFrom(to, 'to') }) }
}

function momentFrom(text: string, field: string): Moment {
  return lsnForm.test(text) ? { lsn: Number(text) } : { timeMs: timeNotLsn(text, field) }
}

/** The undo that a body requests. */
export function readUndo(collection: string, { ids, filter, as_of, dry_run, keep_expired }: UndoBody): UndoRequest {
  const asOf = readMoment(as_of, 'as_of.')
  if (asOf === undefined) throw invalidArgument('as_of must have lsn or time', { field: 'as_of', value: as_of })
  return {
    collection,
    ...(ids !== undefined && { ids }),
    ...(filter !== undefined && { filter: readConditions(filter) }),
    asOf,
    ...(dry_run != null && { dryRun: dry_run }),
    ...(keep_expired != null && { keepExpired: keep_expired }),
  }
}

/** The reply with versions. */
export function versionsReply({ versions, next, complete, segmentsRead, segments }: VersionPage) {
  return {
    complete,
    segments_read: segmentsRead,
    segments,
    versions: versions.map(versionReply),
    next: next ?? null,
  }
}

function versionReply({ timeMs, kind, asOfLsn, changes, ...version }: ObjectVersion) {
  const { metaBytes, expiresAt, ...changed } = changes ?? { metaBytes: undefined }
  return {
    ...version,
    kind: kind.replace('-', '_'),
    ...(timeMs !== undefined && { time: new Date(timeMs).toISOString() }),
    ...(asOfLsn !== undefined && { as_of_lsn: asOfLsn }),
    ...(changes !== undefined && {
      changes: { ...changed, ...(metaBytes && { meta_bytes: true }), ...(expiresAt && { expires_at: expiresAt }) },
    }),
  }
}
