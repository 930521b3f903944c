// Which form a reply takes, and how much of one there is at one time. JSON only when the client asks for JSON and nothing else:
// axios names JSON among others and still expects the compatible form, as do clients that say nothing. What a reply will carry is
// counted before it is made; a long one is written piece by piece, as its reader takes it.
import { Readable } from 'node:stream'
import type { AnswerRoom } from '@annal/engine'
import { TimeSlice } from '@annal/wal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withWarnings } from './body-keys.ts'
import { type Budget, createBudget } from './budget.ts'
import { ServerError } from './errors.ts'
import {
  largeRepliesBytesMax,
  largeReplyBytes,
  pageBytesMax,
  readerTimeoutMs,
  replyBytesMax,
  replyPieceBytes,
} from './limits.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Of large replies that wait for their readers. */
    readonly replyBudget: Budget
  }
}

/** Text, or bytes of MessagePack; the next one is made when this one is written. */
export type Pieces = Iterator<string | Buffer>

export function addReplyBudget(app: FastifyInstance): void {
  app.decorate('replyBudget', createBudget(largeRepliesBytesMax, 'large replies'))
}

export function wantsJson(request: FastifyRequest): boolean {
  const accept = request.headers.accept
  if (accept === undefined || accept.includes(',')) return false
  return accept.split(';', 1)[0]!.trim().toLowerCase() === 'application/json'
}

/** Refuses an answer that is too large for one reply, or for all of them together, with the advice given. */
export function answerRoom({ server, raw }: FastifyReply, advice: string): AnswerRoom {
  const held: (() => void)[] = []
  let [taken, counted] = [0, 0]
  return {
    pageBytesMax,
    take(bytes) {
      taken += bytes
      if (taken > replyBytesMax) {
        const message = `the reply would contain more than ${replyBytesMax} bytes of stored data; ${advice}`
        throw new ServerError('reply_too_large', message, { limit: replyBytesMax })
      }
      // The connection is closed, so the reply has no receiver, and the end was already reported.
      if (taken <= largeReplyBytes || raw.destroyed) return
      if (held.length === 0) raw.once('close', () => held.forEach((give) => void give()))
      held.push(server.replyBudget.take(taken - counted))
      counted = taken
    },
  }
}

/** Objects or vectors: MessagePack, or JSON on request. */
export function sendEither(
  reply: FastifyReply,
  forms: { readonly msgpack: () => Pieces; readonly json: () => Iterator<string> },
): FastifyReply {
  if (wantsJson(reply.request)) return sendJson(reply, forms.json())
  return sendPieces(reply, 'application/msgpack', forms.msgpack())
}

/** A reply that may be large. */
export function sendJson(reply: FastifyReply, pieces: Iterator<string>): FastifyReply {
  const { warnings } = reply.request
  const written = warnings === undefined ? pieces : warned(pieces, warnings)
  return sendPieces(reply, 'application/json; charset=utf-8', written)
}

/** The first piece of an object has its first key. */
function* warned(pieces: Iterator<string>, warnings: readonly string[]): Generator<string> {
  const first = pieces.next()
  if (!first.done) yield withWarnings(first.value, warnings)
  yield* { [Symbol.iterator]: () => pieces }
}

/** One buffer, where that is enough. */
function sendPieces(reply: FastifyReply, type: string, pieces: Pieces): FastifyReply {
  const slice = new TimeSlice()
  const first: (string | Buffer)[] = []
  let size = 0
  do {
    const { value, done } = pieces.next()
    if (done) return reply.type(type).send(joined(first))
    first.push(value)
    size += value.length
  } while (size < replyPieceBytes && !slice.isOver)
  // A reader that is slow does not hold memory for ever.
  reply.raw.setTimeout(readerTimeoutMs, () => reply.raw.destroy())
  return reply.type(type).send(Readable.from(inTurns(first, pieces)))
}

/** The rest is made while it is read, in turns of the event loop. */
async function* inTurns(first: readonly (string | Buffer)[], pieces: Pieces): AsyncGenerator<Buffer> {
  yield joined(first)
  let parts: (string | Buffer)[] = []
  let size = 0
  const slice = new TimeSlice()
  for (;;) {
    await slice.renewIfOver()
    const { value, done } = pieces.next()
    if (!done) {
      parts.push(value)
      size += value.length
    }
    if (size >= replyPieceBytes || (done && size > 0)) {
      yield joined(parts)
      parts = []
      size = 0
    }
    if (done) return
  }
}

function joined(parts: readonly (string | Buffer)[]): Buffer {
  const [only] = parts
  if (parts.length === 1 && Buffer.isBuffer(only)) return only
  // The pieces of one reply are all of one kind.
  return Buffer.isBuffer(only) ? Buffer.concat(parts as Buffer[]) : Buffer.from(parts.join(''))
}

/** A sentence that published clients print, or its facts on request. */
export function sendText(reply: FastifyReply, text: string, facts: object): FastifyReply {
  if (wantsJson(reply.request)) return reply.send({ message: text, ...facts })
  return text === '' ? reply.send() : reply.type('text/plain; charset=utf-8').send(text)
}
