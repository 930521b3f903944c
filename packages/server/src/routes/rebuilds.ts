// Rebuild and vacuum routes of both versions.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { beginRebuild, newestRebuild, rebuildReport, vacuum } from '../rebuild-jobs.ts'
import type { NamedRequest } from '../route-context.ts'
import {
  collectionRebuildBegun,
  collectionRebuildStatus,
  indexRebuildBegun,
  indexRebuildStatus,
  noRebuild,
  type RebuildCollectionBody,
  type RebuildIndexBody,
  readCollectionRebuild,
  readIndexRebuild,
  rebuildCollectionBody,
  rebuildIndexBody,
} from '../wire/rebuild.ts'
import { nameParam } from '../wire/schema.ts'
import { describedIndex } from '../wire/v1-index.ts'

type Named = { Params: { name: string } }

/** Adds the rebuild routes of /api/v1. */
export function v1RebuildRoutes(app: FastifyInstance): void {
  const params = nameParam

  const rebuild = {
    schema: { params, body: rebuildIndexBody },
    config: { doc: indexDocs.rebuild, audit: 'index.rebuild', requestKey: 'kept' },
  } as const
  app.post<Named & { Body: RebuildIndexBody }>('/index/:name/rebuild', rebuild, async (request, reply) => {
    const begun = await once(request, reply, async (requestKey) => {
      const { collection, description, index } = describedIndex(request.database, request.params.name)
      const changes = readIndexRebuild(request.body, description, index)
      return beginRebuild(collection, changes, { onFailed: failureLog(request), requestKey })
    })
    return reply.code(202).send(indexRebuildBegun(begun))
  })

  const status = { schema: { params }, config: { doc: indexDocs.status } }
  app.get<Named>('/index/:name/rebuild/status', status, async (request) =>
    indexRebuildStatus(rebuildReport(describedIndex(request.database, request.params.name).collection)),
  )
}

/** Adds the rebuild and vacuum routes of /api/v2. */
export function v2RebuildRoutes(app: FastifyInstance): void {
  const params = nameParam
  const open = ({ database, params }: NamedRequest) => database.collection(params.name)

  const rebuild = {
    schema: { params, body: rebuildCollectionBody },
    config: { doc: docs.rebuild, audit: 'collection.rebuild', requestKey: 'kept' },
  } as const
  app.post<Named & { Body: RebuildCollectionBody }>('/collection/:name/rebuild', rebuild, async (request, reply) => {
    const begun = await once(request, reply, async (requestKey) => {
      const collection = open(request)
      const changes = readCollectionRebuild(request.body, collection.describe())
      return beginRebuild(collection, changes, { onFailed: failureLog(request), requestKey })
    })
    return reply.code(202).send(collectionRebuildBegun(begun))
  })

  const status = { schema: { params }, config: { doc: docs.status } }
  app.get<Named>('/collection/:name/rebuild/status', status, async (request) =>
    collectionRebuildStatus(rebuildReport(open(request))),
  )

  app.get('/status/rebuild', { config: { doc: docs.newest } }, async (request) => {
    const report = newestRebuild(request.database)
    return report === undefined ? noRebuild : collectionRebuildStatus(report)
  })

  const vacuuming = async (request: FastifyRequest<Named>, reply: FastifyReply) => {
    const { reclaimedBytes, ...done } = await once(request, reply, async (requestKey) =>
      vacuum(open(request), { requestKey }),
    )
    return { status: 'ok', reclaimed_bytes: reclaimedBytes, ...done }
  }
  const config = { doc: docs.vacuum, audit: 'collection.vacuum', requestKey: 'kept' } as const
  app.post<Named>('/collection/:name/vacuum', { schema: { params }, config }, vacuuming)
  // The published name of the same operation.
  app.post<Named>('/collection/:name/shrink', { schema: { params }, config }, vacuuming)
}

/** No caller waits for a rebuild when it fails; its status reports the failure, and the server log has the details. */
function failureLog(request: FastifyRequest): (error: Error) => void {
  return (error) => request.log.error({ req: request, err: error }, 'rebuild failed')
}

const docs = {
  rebuild: {
    access: 'write',
    summary: 'Starts a rebuild of the graphs, optionally with another M and ef_con. Searches continue, writes wait.',
    reply: {
      description: 'The rebuild is running; its status shows the progress.',
      status: 202,
      json: 'RebuildStarted',
    },
  },
  status: {
    access: 'read',
    summary: 'Returns the progress of the running rebuild, or the result of the last one since the start.',
    reply: { description: 'status is idle, in_progress, completed, or failed.', json: 'RebuildStatus' },
  },
  newest: {
    access: 'read',
    summary: 'Returns the running rebuild of any collection, or the last one.',
    reply: {
      description: 'status is idle, in_progress, completed, or failed; collection is its collection.',
      json: 'RebuildStatus',
    },
  },
  vacuum: {
    access: 'write',
    summary: 'Frees the memory and disk space of deleted and replaced objects. Searches continue, writes wait.',
    reply: { description: 'The vacuum is complete; reclaimed_bytes is the memory that it freed.', json: 'Vacuumed' },
  },
} satisfies Record<string, RouteDoc>

const indexDocs = {
  rebuild: { ...docs.rebuild, reply: { ...docs.rebuild.reply, json: 'IndexRebuildStarted' } },
  status: { ...docs.status, reply: { ...docs.status.reply, json: 'IndexRebuildStatus' } },
} satisfies Record<string, RouteDoc>
