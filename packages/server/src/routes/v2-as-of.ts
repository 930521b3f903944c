// /api/v2/status/asof: the moments of the past that are loaded for reads.
import type { PastState } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'

/** Adds the status of loaded moments. */
export function v2AsOfRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  app.get('/status/asof', { config: { doc } }, async ({ database }) => ({
    moments: slot.engine().pastStates(database.name).map(stateJson),
  }))
}

function stateJson({ collection, lsn, status, bytesDone, bytes, memory, error }: PastState) {
  return {
    ...{ collection, lsn: lsn ?? null, status, bytes_done: bytesDone, bytes, memory },
    ...(error !== undefined && { error }),
  }
}

const doc: RouteDoc = {
  access: 'read',
  summary:
    'Returns the moments of the past that are loaded for reads, and the progress of those that are being loaded.',
  reply: { description: 'moments: of the collections of this database.', json: 'AsOfStatus' },
}
