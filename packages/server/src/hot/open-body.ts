// The cursor over a body by its content type, for the types that every hot route reads.
import type { IncomingHttpHeaders } from 'node:http'
import type { BodyCursor } from './body-cursor.ts'
import { JsonCursor } from './json-cursor.ts'
import { MsgpackCursor } from './msgpack-cursor.ts'

/** Undefined for another type, or an encoded body. */
export function openBody(headers: IncomingHttpHeaders, body: Buffer): BodyCursor | undefined {
  if (headers['content-encoding'] !== undefined) return undefined
  switch (headers['content-type']) {
    case 'application/json':
    case 'application/json; charset=utf-8':
    case 'application/json;charset=utf-8':
    case 'application/json; charset=UTF-8':
      return new JsonCursor(body, 0, body.length)
    case 'application/msgpack':
    case 'application/x-msgpack':
    case 'application/vnd.msgpack':
      return new MsgpackCursor(body)
    default:
      return undefined
  }
}
