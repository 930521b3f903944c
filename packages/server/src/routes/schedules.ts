// /api/v2/schedules and the schedule of a collection: what is backed up automatically, and how often.
import type { Database } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import { readSchedule, type ScheduleBody, scheduleBody, scheduleInfo, serverSchedule } from '../wire/schedule.ts'
import { nameParam } from '../wire/schema.ts'

type Named = { Params: { name: string } }

/** Adds the routes of backup schedules. */
export function v2ScheduleRoutes(app: FastifyInstance, { config, schedules }: RouteContext): void {
  app.get('/schedules', { config: { doc: docs.list } }, async ({ database }) => ({
    schedules: schedules.of(database).map((schedule) => scheduleInfo(database, schedule)),
    server: serverSchedule(config),
  }))

  const put = {
    schema: { params: nameParam, body: scheduleBody },
    config: { doc: docs.put, audit: 'schedule.put', requestKey: 'kept' },
  } as const
  app.put<Named & { Body: ScheduleBody }>('/collection/:name/schedule', put, async (request, reply) => {
    const { info, lsn, durable } = await once(request, reply, async (requestKey) => {
      const { database, params, body } = request
      const { name } = database.collection(params.name)
      const schedule = readSchedule(name, body)
      const info = scheduleInfo(database, { database: database.name, ...schedule })
      requestKey?.addFacts({ info })
      return { info, ...(await schedules.put(database.describe(), schedule, { requestKey })) }
    })
    return { ...info, lsn, durable }
  })

  const remove = {
    schema: { params: nameParam },
    config: { doc: docs.remove, audit: 'schedule.delete', requestKey: 'kept' },
  } as const
  app.delete<Named>('/collection/:name/schedule', remove, async (request, reply) => {
    const { deleted, lsn, durable } = await once(request, reply, async (requestKey) => {
      const { database, params } = request
      const name = nameOf(database, params.name)
      const had = schedules.of(database).some(({ collection }) => collection === name)
      requestKey?.addFacts({ deleted: had })
      const removed = await schedules.remove(database.describe(), name, { requestKey })
      // A schedule may exist after its collection was deleted. If neither exists, this throws collection_not_found.
      if (removed === undefined) database.collection(params.name)
      return { deleted: had, ...(removed ?? nothing) }
    })
    return { deleted, ...(lsn > 0 && { lsn, durable }) }
  })
}

/** A schedule is that of the collection that an alias leads to. */
function nameOf(database: Database, name: string): string {
  return database.aliases().find((alias) => alias.name === name)?.collection ?? name
}

/** There is no record. */
const nothing = { lsn: 0, durable: true }

const docs = {
  list: {
    access: 'read',
    summary: 'Lists the backup schedules, with the interval and the time of the next backup.',
    reply: {
      description:
        'schedules: those of collections; server: the schedule of all other collections, null if there is none.',
      json: 'Schedules',
    },
  },
  put: {
    access: 'write',
    summary: 'Sets the backup schedule of a collection.',
    reply: {
      description: 'The schedule; next_at is null until its first backup, which starts within two minutes.',
      json: 'ScheduleSet',
    },
  },
  remove: {
    access: 'write',
    summary: 'Deletes the backup schedule of a collection. Its backups are kept.',
    reply: { description: 'deleted is false if there was no schedule.', json: 'ScheduleDeleted' },
  },
} satisfies Record<string, RouteDoc>
