// Which form a reply takes. JSON only when the client asks for JSON and nothing else: axios names JSON among others and
// still expects the compatible form, as do clients that say nothing.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { largeReplyBytes, readerTimeoutMs } from './limits.ts'

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
  const payload = json ? JSON.stringify(forms.json()) : forms.msgpack()
  if (payload.length > largeReplyBytes) reply.raw.setTimeout(readerTimeoutMs, () => reply.raw.destroy())
  return reply.type(json ? 'application/json; charset=utf-8' : 'application/msgpack').send(payload)
}

/** A sentence that published clients print, or its facts on request. */
export function sendText(reply: FastifyReply, text: string, facts: object): FastifyReply {
  if (wantsJson(reply.request)) return reply.send({ message: text, ...facts })
  return text === '' ? reply.send() : reply.type('text/plain; charset=utf-8').send(text)
}
