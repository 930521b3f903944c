// The history of a database in /api/v2/log.
import type {
  Activity,
  ActivityRequest,
  EventPage,
  EventsRequest,
  HistoryProgress,
  HistoryReach,
  PastEvent,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import type { Infer } from './schema.ts'
import { timeForms, timeFrom } from './time.ts'

/** The value is text in a query string. The engine checks the number. */
const digits = (most: number, description: string) =>
  Type.Optional(Type.String({ pattern: `^\\d{1,${most}}$`, description }))
const time = (description: string) => Type.Optional(Type.String({ maxLength: 40, description }))
const collection = Type.Optional(
  Type.String({ description: 'Only events of this collection, which may have been deleted.' }),
)

/** Query string of /log/events. */
export const eventsQuery = Type.Object({
  from: digits(15, 'The first LSN to return.'),
  before: digits(15, 'The newest events below this LSN.'),
  since: time(`Events from this time on: ${timeForms}`),
  limit: digits(4, 'Number of events, at most 500; default 100.'),
  collection,
})
export type EventsQuery = Infer<typeof eventsQuery>

/** Query string of /log/activity. */
export const activityQuery = Type.Object({
  from: time(`Start: ${timeForms}`),
  to: time('End, in the same forms.'),
  buckets: digits(5, 'Number of intervals, at most 1,000; default 120.'),
  collection,
})
export type ActivityQuery = Infer<typeof activityQuery>

/** The page of events that a query string requests. */
export function readEvents({ from, before, since, limit, collection }: EventsQuery): EventsRequest {
  return {
    ...(from !== undefined && { from: Number(from) }),
    ...(before !== undefined && { before: Number(before) }),
    ...(since !== undefined && { sinceMs: timeFrom(since, 'since') }),
    ...(limit !== undefined && { limit: Number(limit) }),
    ...(collection !== undefined && { collection }),
  }
}

/** The interval that a query string requests. */
export function readActivity({ from, to, buckets, collection }: ActivityQuery): ActivityRequest {
  return {
    ...(from !== undefined && { fromMs: timeFrom(from, 'from') }),
    ...(to !== undefined && { toMs: timeFrom(to, 'to') }),
    ...(buckets !== undefined && { buckets: Number(buckets) }),
    ...(collection !== undefined && { collection }),
  }
}

/** The reply of /log/events. */
export function eventsReply({ events, next, previous, ...progress }: EventPage) {
  return {
    ...progressReply(progress),
    events: events.map(eventReply),
    next: next ?? null,
    previous: previous ?? null,
  }
}

function eventReply({ timeMs, kind, keptAs, ...facts }: PastEvent) {
  return {
    ...facts,
    ...(keptAs !== undefined && { kept_as: keptAs }),
    time: new Date(timeMs).toISOString(),
    type: kind,
  }
}

/** The reply of /log/activity. */
export function activityReply({ buckets, bucketMs, ...progress }: Activity, reach: HistoryReach | undefined) {
  return {
    ...progressReply(progress),
    restorable_from: reach === undefined ? null : { lsn: reach.lsn, time: new Date(reach.timeMs).toISOString() },
    history: reach === undefined ? null : { begins: reach.begins.replace('-', '_'), hours: reach.maxAgeMs / 3_600_000 },
    bucket_seconds: bucketMs / 1_000,
    buckets: buckets.map(({ startMs, lsnFirst, lsnLast, ...tally }) => ({
      time: new Date(startMs).toISOString(),
      lsn_first: lsnFirst,
      lsn_last: lsnLast,
      ...tally,
    })),
  }
}

function progressReply({ complete, segmentsRead, segments }: HistoryProgress) {
  return { complete, segments_read: segmentsRead, segments }
}
