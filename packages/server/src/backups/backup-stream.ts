// Backups as HTTP streams: downloads, and uploads as a form with a file or as a plain body.
import { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalidArgument, ServerError } from '../errors.ts'

/** Published clients use the type of tar archives, although a backup is not a tar archive. */
const streamTypes = ['application/x-tar', 'application/octet-stream']
const suffix = /\.(tar|annal)$/i

/** A backup that a client sends. */
export interface UploadedBackup {
  readonly name: string
  readonly stream: AsyncIterable<Uint8Array>
}

/** The routes of `app` receive bodies of these types as streams. */
export function addBackupParsers(app: FastifyInstance): void {
  app.addContentTypeParser(streamTypes, (_request, payload, done) => done(null, payload))
  app.register(multipart, { limits: { files: 1, fields: 8, fieldSize: 1_024, fileSize: Number.MAX_SAFE_INTEGER } })
}

/** Returns the name and bytes of an uploaded backup. Throws invalid_argument, unsupported_media_type. */
export async function uploadedBackup(request: FastifyRequest): Promise<UploadedBackup> {
  // A parameter that is sent twice is an array. The engine checks the name.
  const requestedName = (request.query as { readonly name?: string }).name
  if (request.isMultipart()) {
    const part = await request.file()
    if (part === undefined || part.fieldname !== 'backup')
      throw invalidArgument('the form must have one file named backup', { field: 'backup' })
    return { name: requestedName ?? stem(part.filename), stream: part.file }
  }
  if (!(request.body instanceof Readable))
    throw new ServerError('unsupported_media_type', 'a backup must be sent as multipart/form-data or application/x-tar')
  if (requestedName === undefined) throw invalidArgument('the query parameter name is required', { field: 'name' })
  return { name: requestedName, stream: request.body }
}

function stem(filename: string): string {
  if (suffix.test(filename)) return filename.replace(suffix, '')
  throw invalidArgument('the file name must end in .tar', { field: 'filename', value: filename })
}

/** Replies with the bytes of a backup as a file download. */
export function sendBackup(
  reply: FastifyReply,
  name: string,
  { bytes, stream }: { readonly bytes: number; readonly stream: AsyncIterable<Uint8Array> },
): FastifyReply {
  // A name contains only letters, digits, underscores, and hyphens, so it needs no escaping.
  return reply
    .type('application/x-tar')
    .header('content-length', bytes)
    .header('content-disposition', `attachment; filename="${name}.tar"`)
    .header('cache-control', 'no-cache')
    .send(Readable.from(stream, { objectMode: false }))
}
