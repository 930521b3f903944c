// Reads a body into one buffer, within the limit of its route and the budget of all bodies.
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { refusal, ServerError } from '../errors.ts'
import { freeChunk } from './chunks.ts'
import { freeBytes } from './free-bytes.ts'

/** Bytes of a body that is copied into its buffer while it arrives. */
const joinedMin = 65_536

/**
 * Calls back once: with the bytes, or with ServerError body_too_large, overloaded, or bad_request, or with the error of the connection.
 * After an error the rest of the body flows on and is not kept.
 */
export function readWhole(
  request: FastifyRequest,
  payload: Readable,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const { bodyLimit } = request.routeOptions
  const declared = declaredBytes(request)
  const room = request.bodyRoom
  if (declared !== undefined && declared > bodyLimit) {
    done(tooLarge(bodyLimit))
    return
  }
  // Of a large body, only one chunk is in memory twice.
  const whole = declared !== undefined && declared >= joinedMin ? Buffer.allocUnsafeSlow(declared) : undefined
  const chunks: Buffer[] = []
  let received = 0
  const settle = (error: Error | null, body?: Buffer): void => {
    payload.off('data', keep)
    payload.off('end', end)
    payload.off('error', settle)
    done(error, body)
  }
  const keep = (chunk: Buffer): void => {
    const from = received
    received += chunk.length
    const refused = refusal(() => {
      if (received > bodyLimit) throw tooLarge(bodyLimit)
      if (whole !== undefined && received > whole.length) throw wrongLength()
      room?.growTo(received)
    })
    if (refused !== undefined) {
      for (const each of whole === undefined ? chunks.splice(0) : [whole]) freeBytes(each)
      settle(refused)
    } else if (whole === undefined) chunks.push(chunk)
    else {
      whole.set(chunk, from)
      freeChunk(payload, chunk)
    }
  }
  const end = (): void => {
    if (declared !== undefined && declared !== received) settle(wrongLength())
    // Copied, because chunks can be views into larger buffers.
    else settle(null, whole ?? Buffer.concat(chunks, received))
  }
  payload.on('data', keep)
  payload.on('end', end)
  payload.on('error', settle)
  payload.resume()
}

/** Content-Length; undefined without this header. */
export function declaredBytes({ headers }: FastifyRequest): number | undefined {
  const header = headers['content-length']
  return header === undefined ? undefined : Number(header)
}

/** The error for a body above the limit of its route. */
export function tooLarge(limit: number): ServerError {
  return new ServerError('body_too_large', `the body is larger than this route accepts: ${limit} bytes`, {
    field: 'body',
    limit,
  })
}

export function wrongLength(): ServerError {
  return new ServerError('bad_request', 'the length of the body does not match Content-Length')
}
