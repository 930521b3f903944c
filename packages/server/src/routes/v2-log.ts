// /api/v2/log: the events and the activity of a database.
import type { FastifyInstance } from 'fastify'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import {
  type ActivityQuery,
  activityQuery,
  activityReply,
  type EventsQuery,
  eventsQuery,
  eventsReply,
  readActivity,
  readEvents,
} from '../wire/v2-log.ts'

/** Adds GET /log/events and GET /log/activity. */
export function v2LogRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  const events = { schema: { querystring: eventsQuery }, config: { doc: docs.events } }
  app.get<{ Querystring: EventsQuery }>('/log/events', events, async ({ database, query }) =>
    eventsReply(await database.history.events(readEvents(query))),
  )

  const activity = { schema: { querystring: activityQuery }, config: { doc: docs.activity } }
  app.get<{ Querystring: ActivityQuery }>('/log/activity', activity, async ({ database, query }) =>
    activityReply(await database.history.activity(readActivity(query)), slot.engine().stats().reach),
  )
}

const docs = {
  events: {
    access: 'read',
    summary: 'Lists the events of the database, as far back as the log and its archive reach.',
    reply: {
      description:
        'events: oldest first, without their data; next and previous: where to continue. While complete is false, the log is still being read: retry later.',
      json: 'Events',
    },
  },
  activity: {
    access: 'read',
    summary: 'Returns the activity of the database in each interval of time.',
    reply: {
      description:
        'buckets: intervals of bucket_seconds, oldest first, without empty ones. While complete is false, newer ones are missing: retry later.',
      json: 'Activity',
    },
  },
} satisfies Record<string, RouteDoc>
