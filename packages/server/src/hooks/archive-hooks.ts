// Writes of a server with an archive in a bucket: refused when another server has taken over, and, where the archive is required, while
// the bucket is late; acknowledged when the bucket has them, where it confirms them. A server without such an archive gets no hooks.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from '../errors.ts'

/** How long a write waits for the bucket, in milliseconds. */
const confirmMsMax = 30_000

/** Adds what a takeover by another server, NDD_ARCHIVE_REQUIRED, and NDD_ACK=archive need. */
export function addArchiveHooks(app: FastifyInstance, slot: EngineSlot, config: Config): void {
  if (config.archiveBucket === undefined) return
  app.addHook('onRequest', (request, _reply, done) => {
    const refusal = isWrite(request) ? slot.archive?.refusal() : undefined
    done(refusal && new ServerError(refusal.code, refusal.message))
  })
  if (config.acknowledge === 'local') return
  app.addHook('onSend', async (request, reply) => {
    // A server that follows an archive has none of its own, and took no write.
    if (reply.statusCode >= 400 || !isWrite(request) || !slot.isOpen() || slot.archive === undefined) return
    // Its record is applied, so everything up to here includes it.
    const lsn = slot.engine().lsnApplied
    if (await slot.archive.whenArchived(lsn, confirmMsMax)) return
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
