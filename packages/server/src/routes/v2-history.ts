// /api/v2/collection/{name}: the versions of an object, the differences between two moments, and undos.
import { Readable } from 'node:stream'
import type { ObjectChange } from '@annal/engine'
import { TimeSlice } from '@annal/wal'
import type { FastifyInstance } from 'fastify'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { bodyBytesQueryMax } from '../limits.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type DiffQuery,
  diffQuery,
  readDiff,
  readUndo,
  readVersions,
  type UndoBody,
  undoBody,
  type VersionsQuery,
  versionsQuery,
  versionsReply,
} from '../wire/v2-history.ts'

type Named = { Params: { name: string } }

/** A text names a moment, whichever kind it is. */
const momentFields = { 'from.lsn': 'from', 'from.timeMs': 'from', 'to.lsn': 'to', 'to.timeMs': 'to' }

/** Lines that are sent together. */
const linesAtOnce = 1_000

/** Adds GET /collection/{name}/history, GET /collection/{name}/diff, and POST /collection/{name}/undo. */
export function v2HistoryRoutes(app: FastifyInstance): void {
  const params = nameParam
  const versions = { schema: { params, querystring: versionsQuery }, config: { doc: docs.versions } }
  app.get<Named & { Querystring: VersionsQuery }>(
    '/collection/:name/history',
    versions,
    async ({ database, params: { name }, query }) =>
      versionsReply(await database.history.versions(readVersions(name, query))),
  )

  const diff = {
    schema: { params, querystring: diffQuery },
    // The head of a reply is known when the work is done.
    exposeHeadRoute: false,
    config: { doc: docs.diff, isLong: true, fieldNames: momentFields },
  }
  app.get<Named & { Querystring: DiffQuery }>('/collection/:name/diff', diff, async (request, reply) => {
    const {
      database,
      params: { name },
      query,
    } = request
    const changes = database.history.diff(readDiff(name, query))
    // Refusals come before the first change, and so before the head of the reply.
    const first = await changes.next()
    return reply.type('application/x-ndjson').send(Readable.from(linesOf(first, changes), { objectMode: false }))
  })

  const undo = {
    schema: { params, body: undoBody },
    bodyLimit: bodyBytesQueryMax,
    config: {
      ...({ doc: docs.undo, audit: 'collection.undo', requestKey: 'kept', isLong: true } as const),
      fieldNames: { 'asOf.timeMs': 'as_of.time', asOf: 'as_of', dryRun: 'dry_run', keepExpired: 'keep_expired' },
    },
  } as const
  app.post<Named & { Body: UndoBody }>('/collection/:name/undo', undo, async (request, reply) => {
    const { asOfLsn, ...done } = await once(request, reply, async (requestKey) =>
      request.database.history.undo(readUndo(request.params.name, request.body), { requestKey }),
    )
    return { ...done, as_of_lsn: asOfLsn }
  })
}

async function* linesOf(
  first: IteratorResult<ObjectChange>,
  rest: AsyncGenerator<ObjectChange>,
): AsyncGenerator<string> {
  let lines: string[] = []
  const slice = new TimeSlice()
  for (let { value, done } = first; !done; { value, done } = await rest.next()) {
    lines.push(`${JSON.stringify(value)}\n`)
    if (lines.length < linesAtOnce) continue
    yield lines.join('')
    lines = []
    await slice.renewIfOver()
  }
  yield lines.join('')
}

const docs = {
  versions: {
    access: 'read',
    summary: 'Lists the versions of an object: what each write changed, when, and who wrote it.',
    reply: {
      description:
        'versions: oldest first. next: `from` of the next page; a page may be empty. While complete is false, the log is still being read: retry later.',
      json: 'Versions',
    },
  },
  diff: {
    access: 'read',
    summary: 'Lists the objects that differ between two moments, one JSON object in each line.',
    reply: {
      description: 'Lines with id and change: `added`, `changed`, or `removed`.',
      media: 'application/x-ndjson',
    },
  },
  undo: {
    access: 'write',
    summary:
      'Restores the content that objects had at a moment, all or none, and deletes those that did not exist then. The status of the restore shows its progress.',
    reply: { description: 'restored and deleted: numbers of objects. as_of_lsn: the moment.', json: 'Undone' },
  },
} satisfies Record<string, RouteDoc>
