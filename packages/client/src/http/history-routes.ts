// The operations on the history of a database, and on its backup schedules.
import type {
  Activity,
  ActivityBucket,
  Author,
  ChangedValues,
  EventPage,
  EventType,
  ObjectChange,
  ObjectVersion,
  PastEvent,
  PastMoment,
  VersionPage,
} from '../history-info.ts'
import type { HistoryOperations, ScheduleOperations } from '../operations.ts'
import type { Schedule, ScheduleList } from '../schedule-info.ts'
import { linesOf } from './lines.ts'
import { flag, list, moment, number, object, parseJson, text, unexpected } from './read.ts'
import { get, post, type Routes, remove, segment } from './route.ts'

/** An undo builds the collection as of the moment, and a comparison as of both. */
const undoTimeoutMs = 3_600_000

/** The operations on the history of the log, of objects, and undo, for `routedTransport`. */
export const historyRoutes: Routes<keyof HistoryOperations> = {
  events: {
    retry: 'always',
    reads: 'query',
    request: ({ from, before, since, limit, collection }) =>
      get(`/api/v2/log/events${queryString({ from, before, since, limit, collection })}`),
    reply: ({ text }) => eventPage(object(parseJson(text), 'reply')),
  },
  activity: {
    retry: 'always',
    reads: 'query',
    request: ({ from, to, buckets, collection }) =>
      get(`/api/v2/log/activity${queryString({ from, to, buckets, collection })}`),
    reply: ({ text }) => activity(object(parseJson(text), 'reply')),
  },
  versions: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, id, from, to, limit }) =>
      get(`/api/v2/collection/${segment(collection)}/history${queryString({ id, from, to, limit })}`),
    reply: ({ text }) => versionPage(object(parseJson(text), 'reply')),
  },
  diff: {
    retry: 'always',
    reads: 'query',
    timeoutMs: undoTimeoutMs,
    request: ({ collection, from, to }) => ({
      ...get(`/api/v2/collection/${segment(collection)}/diff${queryString({ from: inQuery(from), to: inQuery(to) })}`),
      accept: 'application/x-ndjson, application/json',
      streamed: true,
    }),
    reply: ({ stream }) => {
      if (stream === undefined) throw unexpected('diff', 'no content')
      return changesIn(stream)
    },
  },
  undo: {
    retry: 'when-refused',
    takesKey: true,
    timeoutMs: undoTimeoutMs,
    request: ({ collection, ids, filter, asOf, dryRun, keepExpired }) =>
      post(`/api/v2/collection/${segment(collection)}/undo`, {
        ...{ ids, filter, dry_run: dryRun, keep_expired: keepExpired },
        as_of: 'time' in asOf ? { time: asOf.time.toISOString() } : asOf,
      }),
    reply: ({ text }) => {
      const { lsn, durable, restored, deleted, as_of_lsn } = object(parseJson(text), 'reply')
      return {
        lsn: number(lsn, 'lsn'),
        durable: flag(durable, 'durable'),
        restored: number(restored, 'restored'),
        deleted: number(deleted, 'deleted'),
        asOfLsn: number(as_of_lsn, 'as_of_lsn'),
      }
    },
  },
}

/** The operations on backup schedules, for `routedTransport`. */
export const scheduleRoutes: Routes<keyof ScheduleOperations> = {
  listSchedules: {
    retry: 'always',
    reads: 'query',
    request: () => get('/api/v2/schedules'),
    reply: ({ text }) => scheduleList(object(parseJson(text), 'reply')),
  },
  putSchedule: {
    retry: 'always',
    takesKey: true,
    request: ({ collection, schedule: { everyHours, keep, check } }) => ({
      ...post(schedulePath(collection), { every_hours: everyHours, keep, check }),
      method: 'PUT',
    }),
    reply: ({ text }) => schedule(parseJson(text)),
  },
  deleteSchedule: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection }) => remove(schedulePath(collection)),
    reply: ({ text }) => flag(object(parseJson(text), 'reply').deleted, 'deleted'),
  },
}

function schedulePath(collection: string): string {
  return `/api/v2/collection/${segment(collection)}/schedule`
}

function queryString(parameters: { readonly [name: string]: string | number | Date | undefined }): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${segment(value instanceof Date ? value.toISOString() : String(value))}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}

function inQuery(moment: PastMoment | undefined): number | Date | undefined {
  if (moment === undefined) return undefined
  return 'time' in moment ? moment.time : moment.lsn
}

async function* changesIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<ObjectChange> {
  for await (const line of linesOf(stream)) {
    const { id, change } = object(parseJson(line), 'line')
    // A newer server may have more kinds.
    yield { id: text(id, 'id'), change: text(change, 'change') as ObjectChange['change'] }
  }
}

function eventPage({ events, next, previous, complete }: Record<string, unknown>): EventPage {
  return {
    events: list(events, 'events').map(pastEvent),
    ...(next != null && { next: number(next, 'next') }),
    ...(previous != null && { previous: number(previous, 'previous') }),
    complete: flag(complete, 'complete'),
  }
}

function pastEvent(value: unknown): PastEvent {
  const { lsn, time, type, bytes, collection, objects, ids, fields, token, author, ...rest } = object(value, 'event')
  const { alias, kept_as, active } = rest
  return {
    lsn: number(lsn, 'lsn'),
    time: moment(time, 'time'),
    // A newer server may have more types.
    type: text(type, 'type') as EventType,
    bytes: number(bytes, 'bytes'),
    ...(collection !== undefined && { collection: text(collection, 'collection') }),
    ...(objects !== undefined && { objects: number(objects, 'objects') }),
    ...(ids !== undefined && { ids: list(ids, 'ids').map((id) => text(id, 'id')) }),
    ...(fields !== undefined && { fields: list(fields, 'fields').map((name) => text(name, 'field')) }),
    ...(token !== undefined && { token: text(token, 'token') }),
    ...(author !== undefined && { author: authorOf(author) }),
    ...(alias !== undefined && { alias: text(alias, 'alias') }),
    ...(kept_as !== undefined && { keptAs: text(kept_as, 'kept_as') }),
    ...(active !== undefined && { active: flag(active, 'active') }),
  }
}

function versionPage({ versions, next, complete }: Record<string, unknown>): VersionPage {
  return {
    versions: list(versions, 'versions').map(version),
    ...(next != null && { next: number(next, 'next') }),
    complete: flag(complete, 'complete'),
  }
}

function version(value: unknown): ObjectVersion {
  const { lsn, kind, exists, time, author, as_of_lsn, changes } = object(value, 'version')
  return {
    lsn: number(lsn, 'lsn'),
    kind: text(kind, 'kind').replace('_', '-') as ObjectVersion['kind'],
    exists: flag(exists, 'exists'),
    ...(time !== undefined && { time: moment(time, 'time') }),
    ...(author !== undefined && { author: authorOf(author) }),
    ...(as_of_lsn !== undefined && { asOfLsn: number(as_of_lsn, 'as_of_lsn') }),
    ...(changes !== undefined && { changes: changesOf(changes) }),
  }
}

function changesOf(value: unknown): NonNullable<ObjectVersion['changes']> {
  const { meta, filter, fields, meta_bytes, expires_at } = object(value, 'changes')
  return {
    meta: object(meta, 'meta') as ChangedValues,
    ...(meta_bytes === true && { metaBytes: true as const }),
    ...(expires_at !== undefined && { expiresAt: object(expires_at, 'expires_at') as ChangedValues[string] }),
    filter: object(filter, 'filter') as ChangedValues,
    fields: list(fields, 'fields').map((name) => text(name, 'field')),
  }
}

function authorOf(value: unknown): Author {
  const { token, actor } = object(value, 'author')
  return { token: text(token, 'token'), actor: text(actor, 'actor') }
}

function activity({ bucket_seconds, buckets, restorable_from, complete }: Record<string, unknown>): Activity {
  const reach = restorable_from == null ? undefined : object(restorable_from, 'restorable_from')
  return {
    bucketSeconds: number(bucket_seconds, 'bucket_seconds'),
    buckets: list(buckets, 'buckets').map(bucket),
    ...(reach && { restorableFrom: { lsn: number(reach.lsn, 'lsn'), time: moment(reach.time, 'time') } }),
    complete: flag(complete, 'complete'),
  }
}

function bucket(value: unknown): ActivityBucket {
  const { time, lsn_first, lsn_last, ...tally } = object(value, 'bucket')
  const count = (name: string) => number(tally[name], name)
  return {
    time: moment(time, 'time'),
    lsnFirst: number(lsn_first, 'lsn_first'),
    lsnLast: number(lsn_last, 'lsn_last'),
    records: count('records'),
    bytes: count('bytes'),
    written: count('written'),
    deleted: count('deleted'),
    refiltered: count('refiltered'),
    changes: count('changes'),
  }
}

function scheduleList({ schedules, server }: Record<string, unknown>): ScheduleList {
  return {
    schedules: list(schedules, 'schedules').map(schedule),
    ...(server != null && { server: terms(object(server, 'server')) }),
  }
}

function schedule(value: unknown): Schedule {
  const { collection, last_at, next_at, ...rest } = object(value, 'schedule')
  return {
    collection: text(collection, 'collection'),
    ...terms(rest),
    ...(last_at != null && { lastAt: moment(last_at, 'last_at') }),
    ...(next_at != null && { nextAt: moment(next_at, 'next_at') }),
  }
}

function terms({ every_hours, keep, check }: Record<string, unknown>) {
  return { everyHours: number(every_hours, 'every_hours'), keep: number(keep, 'keep'), check: flag(check, 'check') }
}
