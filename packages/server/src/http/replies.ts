// The form of a reply, and how much of it is in memory at one time. A reply is JSON only if the client accepts JSON and nothing else: axios
// lists JSON among other types and still expects the compatible form, as do clients without an Accept header. The size of a reply is
// computed before the reply is built. A long reply is written in pieces, at the speed of the client.
import { Readable } from 'node:stream'
import type { AnswerRoom, SearchResult } from '@annal/engine'
import { TimeSlice } from '@annal/wal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Budget } from '../access/budget.ts'
import type { EngineSlot } from '../engine-slot.ts'
import { refusal, ServerError } from '../errors.ts'
import { largeReplyBytes, replyPieceBytes } from '../limits.ts'
import { joinPieces } from '../wire/pieces.ts'
import { acceptsOnlyJson } from './accept.ts'
import { withWarnings } from './body-keys.ts'
import { hasLeft } from './left-clients.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Budget of the large replies that clients have not received yet. */
    readonly replyBudget: Budget
    /** Stored data of one reply, and of one page of objects, in bytes. */
    readonly replyBytesMax: number
    readonly pageBytesMax: number
    /** Throws `overloaded` if the process has no memory for so many bytes. */
    readonly checkMemory: (bytes: number) => void
  }
}

/** Text, or bytes of MessagePack. Each piece is built after the previous one was written. */
export type Pieces = Iterator<string | Buffer>

interface ReplyBudgets {
  readonly largeReplies: Budget
  readonly replyBytesMax: number
  readonly pageBytesMax: number
}

export function addReplyBudget(
  app: FastifyInstance,
  { largeReplies, replyBytesMax, pageBytesMax }: ReplyBudgets,
  slot: EngineSlot,
): void {
  app.decorate('checkMemory', (bytes) => {
    if (slot.isOpen()) slot.engine().checkMemory('the reply', bytes)
  })
  app.decorate('replyBudget', largeReplies)
  app.decorate('replyBytesMax', replyBytesMax)
  app.decorate('pageBytesMax', pageBytesMax)
}

function wantsJson(request: FastifyRequest): boolean {
  return acceptsOnlyJson(request.headers.accept)
}

/** States in a header how ef was chosen: replies in MessagePack have the form of the published servers, which has no place for it. */
export function noteRecall(reply: FastifyReply, { recall }: Pick<SearchResult, 'recall'>): void {
  if (recall !== undefined && Object.keys(recall).length > 0) reply.header('x-annal-recall', JSON.stringify(recall))
}

/** Rejects a result that is too large for one reply, or for all of them together. The error ends with the advice. */
export function answerRoom({ server, raw }: FastifyReply, advice: string): AnswerRoom {
  const held: (() => void)[] = []
  let [taken, counted] = [0, 0]
  let refused: Error | undefined
  const grow = (): void => {
    const { replyBudget, replyBytesMax, checkMemory } = server
    if (taken > replyBytesMax) {
      const message = `the reply would contain more than ${replyBytesMax} bytes of stored data; ${advice}`
      throw new ServerError('reply_too_large', message, { limit: replyBytesMax })
    }
    // If the connection is closed, the reply has no receiver, and `close` was already emitted.
    if (taken <= largeReplyBytes || raw.destroyed) return
    checkMemory(taken - counted)
    held.push(replyBudget.take(taken - counted))
    counted = taken
    if (held.length === 1) raw.once('close', () => held.forEach((give) => void give()))
  }
  return {
    pageBytesMax: server.pageBytesMax,
    get hasLeft() {
      return hasLeft(raw)
    },
    take(bytes) {
      // The other searches of a batch go on until they ask.
      if (refused !== undefined) throw refused
      taken += bytes
      refused = refusal(grow)
      if (refused !== undefined) throw refused
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

/** Adds the warnings to the first piece, which contains the first key of the object. */
function* warned(pieces: Iterator<string>, warnings: readonly string[]): Generator<string> {
  const first = pieces.next()
  if (!first.done) yield withWarnings(first.value, warnings)
  yield* { [Symbol.iterator]: () => pieces }
}

/** Sends one buffer if that is enough, otherwise a stream. */
function sendPieces(reply: FastifyReply, type: string, pieces: Pieces): FastifyReply {
  const slice = new TimeSlice()
  const first: (string | Buffer)[] = []
  let size = 0
  do {
    const { value, done } = pieces.next()
    if (done) return reply.type(type).send(joinPieces(first))
    first.push(value)
    size += value.length
  } while (size < replyPieceBytes && !slice.isOver)
  return reply.type(type).send(readable(first, pieces))
}

/** By default, a stream of pieces would have up to 16 of them in memory. */
function readable(first: readonly (string | Buffer)[], pieces: Pieces): Readable {
  return Readable.from(inTurns(first, pieces), { objectMode: false, highWaterMark: replyPieceBytes })
}

/** Builds the rest while it is read, in several turns of the event loop. */
async function* inTurns(first: readonly (string | Buffer)[], pieces: Pieces): AsyncGenerator<Buffer> {
  yield joinPieces(first)
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
      yield joinPieces(parts)
      parts = []
      size = 0
    }
    if (done) return
  }
}

/** Sends a sentence that published clients print, or JSON on request. */
export function sendText(reply: FastifyReply, text: string, facts: object): FastifyReply {
  if (wantsJson(reply.request)) return reply.send({ message: text, ...facts })
  return text === '' ? reply.send() : reply.type('text/plain; charset=utf-8').send(text)
}
