// /api/v2/changes: the change feed of a database as server-sent events.
import { Readable } from 'node:stream'
import type { RequestClaim } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { errorBody, refusal } from '../errors.ts'
import { ChangeStreams } from '../feed/change-streams.ts'
import { tokenOf } from '../hooks/request-hooks.ts'
import { codedError } from '../http/error-replies.ts'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { feedUnreadBytesMax } from '../limits.ts'
import type { RouteContext } from '../route-context.ts'
import {
  type ChangesQuery,
  type CursorBody,
  changesQuery,
  cursorBody,
  cursorInfo,
  cursorParam,
  readChanges,
} from '../wire/v2-changes.ts'

type Named = { Params: { name: string } }

const changesFields = { collections: 'collection', kinds: 'kind', includeVectors: 'vectors' }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The reply goes on until the client or the server ends it. */
    readonly isStream?: boolean
  }
}

/** Adds GET /changes, and the routes of cursors. */
export function v2ChangeRoutes(app: FastifyInstance, { slot, guard }: RouteContext): void {
  cursorRoutes(app)
  const streams = new ChangeStreams()
  slot.onOpen(() => slot.engine().control.onChange(async () => streams.recheck()))
  app.addHook('preClose', async () => streams.close())

  const changes = {
    schema: { querystring: changesQuery },
    // A stream has no end that HEAD could wait for.
    exposeHeadRoute: false,
    config: { doc: docs.changes, tokenInQuery: true, isStream: true, fieldNames: changesFields },
  }
  app.get<{ Querystring: ChangesQuery }>('/changes', changes, async (request, reply) => {
    const { database, query, headers, ip } = request
    const wanted = readChanges(query, headers['last-event-id'] as string | undefined)
    const token = tokenOf(request, request.routeOptions)
    const caller = {
      isAllowed: () => refusal(() => guard.check(token, ip)) === undefined,
      describe: (error: Error) => errorBody(codedError(error), request.id),
    }
    const { bytes, end } = await streams.begin(caller, (signal) => database.changes({ ...wanted, signal }))
    const { socket } = request.raw
    // A client of a stream that ends its side is gone; a request would still get its reply.
    socket.once('end', end)
    reply.raw.once('close', () => {
      socket.off('end', end)
      end()
    })
    return reply
      .type('text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(bytes, { objectMode: false, highWaterMark: feedUnreadBytesMax }))
  })
}

function cursorRoutes(app: FastifyInstance): void {
  app.get('/cursors', { config: { doc: docs.cursors } }, async ({ database }) => ({
    cursors: database.cursors.list().map(cursorInfo),
  }))

  const acknowledge = {
    schema: { params: cursorParam, body: cursorBody },
    config: { doc: docs.acknowledge, requestKey: { refused: 'a repeated acknowledgement has no effect' } },
  }
  app.put<Named & { Body: CursorBody }>('/cursors/:name', acknowledge, async ({ database, params, body }) => ({
    name: params.name,
    ...(await database.cursors.acknowledge(params.name, body.lsn)),
  }))

  const remove = {
    schema: { params: cursorParam },
    config: { doc: docs.removeCursor, audit: 'cursor.delete', requestKey: 'kept', fieldNames: { cursor: 'name' } },
  } as const
  app.delete<Named>('/cursors/:name', remove, async (request, reply) => {
    const { database, params } = request
    const write = async (requestKey: RequestClaim | undefined) => database.cursors.delete(params.name, { requestKey })
    return { message: 'Cursor deleted', ...(await once(request, reply, write)) }
  })
}

const docs = {
  changes: {
    access: 'read',
    summary: 'Follows the changes of the database from an LSN on. Clients resume with the header Last-Event-ID.',
    reply: {
      description:
        'One event for each change: id is its LSN, event its kind, and data has time, collection, and objects, deleted, or left. A comment each 15 s keeps idle streams open.',
      media: 'text/event-stream',
    },
  },
  cursors: {
    access: 'read',
    summary: 'Lists the cursors of the change feed.',
    reply: { description: 'cursors: each with the newest LSN acknowledged.', json: 'Cursors' },
  },
  acknowledge: {
    access: 'write',
    summary: 'Acknowledges changes for a cursor, which is created if it is new.',
    reply: { description: 'The position of the cursor. A lower LSN than before changes nothing.', json: 'CursorPlace' },
  },
  removeCursor: {
    access: 'write',
    summary: 'Deletes a cursor of the change feed.',
    reply: { description: 'The cursor is deleted.', json: 'Acknowledged' },
  },
} satisfies Record<string, RouteDoc>
