// Writes of a server whose archive in a bucket is required, or confirms them: refused while the bucket is late, acknowledged when it has
// them. A server without such an archive gets no hooks.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from './errors.ts'

/** How long a write waits for the bucket, in milliseconds. */
const confirmMsMax = 30_000

/** Adds what NDD_ARCHIVE_REQUIRED and NDD_ACK=archive need. */
export function addArchiveHooks(app: FastifyInstance, slot: EngineSlot, config: Config): void {
  if (config.archiveBucket === undefined) return
  if (config.archiveRequired)
    app.addHook('onRequest', (request, _reply, done) => {
      const why = isWrite(request) ? slot.archive?.refusal() : undefined
      done(why === undefined ? undefined : new ServerError('archive_late', `writes are refused: ${why}`))
    })
  if (config.acknowledge === 'local') return
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode >= 400 || !isWrite(request) || !slot.isOpen()) return
    // Its record is applied, so everything up to here includes it.
    const lsn = slot.engine().lsnApplied
    if (await slot.archive?.whenArchived(lsn, confirmMsMax)) return
    throw new ServerError(
      'archive_unconfirmed',
      'the write is stored on the disk of the server, but its archive has not confirmed it',
      { value: lsn },
    )
  })
}

function isWrite({ method, routeOptions }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return false
  const access = routeOptions.config?.doc?.access
  return access === 'write' || access === 'control'
}
