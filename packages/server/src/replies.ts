// Which form a reply takes. JSON only when the client asks for JSON and nothing else: axios names JSON among others and
// still expects the compatible form, as do clients that say nothing.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Budget, createBudget } from './budget.ts'
import { largeRepliesBytesMax, largeReplyBytes, readerTimeoutMs } from './limits.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Of large replies that wait for their readers. */
    readonly replyBudget: Budget
  }
}

export function addReplyBudget(app: FastifyInstance): void {
  app.decorate('replyBudget', createBudget(largeRepliesBytesMax, 'large replies'))
}

export function wantsJson(request: FastifyRequest): boolean {
  const accept = request.headers.accept
  if (accept === undefined || accept.includes(',')) return false
  return accept.split(';', 1)[0]!.trim().toLowerCase() === 'application/json'
}

/** Objects or vectors: MessagePack, or JSON on request. */
export function sendEither(
  reply: FastifyReply,
  forms: { readonly msgpack: () => Buffer; readonly json: () => object },
): FastifyReply {
  const json = wantsJson(reply.request)
  if (json) return sendJson(reply, forms.json())
  const payload = forms.msgpack()
  holdWhileRead(reply, payload.length)
  return reply.type('application/msgpack').send(payload)
}

/** A reply that may be large. */
export function sendJson(reply: FastifyReply, body: object): FastifyReply {
  const payload = JSON.stringify(body)
  holdWhileRead(reply, payload.length)
  return reply.type('application/json; charset=utf-8').send(payload)
}

/** A reader that is slow holds memory: not for ever, and all of them together only so much. */
function holdWhileRead(reply: FastifyReply, bytes: number): void {
  if (bytes <= largeReplyBytes) return
  const give = reply.server.replyBudget.take(Math.min(bytes, largeRepliesBytesMax))
  reply.raw.once('close', give)
  reply.raw.setTimeout(readerTimeoutMs, () => reply.raw.destroy())
}

/** A sentence that published clients print, or its facts on request. */
export function sendText(reply: FastifyReply, text: string, facts: object): FastifyReply {
  if (wantsJson(reply.request)) return reply.send({ message: text, ...facts })
  return text === '' ? reply.send() : reply.type('text/plain; charset=utf-8').send(text)
}
