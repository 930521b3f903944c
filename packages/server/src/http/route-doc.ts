// The documentation of a route, in addition to the schemas that validate it. openapi.json and the reference pages are made from it.
import type { TSchema } from '@sinclair/typebox'
import type { Access } from '../access/access.ts'
import type { replySchemas } from './openapi/reply-schemas.ts'

export interface RouteDoc {
  /** One sentence: the effect of a call. */
  readonly summary: string
  readonly access: Access
  /** Body of a route that reads it instead of validating it by a schema. */
  readonly body?: TSchema
  /** Form of a MessagePack body, if it is not an object of the same shape. */
  readonly bodyMsgpack?: string
  /** Form of a body of type application/octet-stream, if the route also accepts one. */
  readonly bodyBytes?: string
  /** Media types of a body that is neither JSON nor MessagePack. */
  readonly bodyMedia?: readonly string[]
  readonly reply: ReplyDoc
}

export interface ReplyDoc {
  readonly description: string
  /** Status of success; default 200. */
  readonly status?: number
  /** Another status with the same body: health sends 503 while the server cannot serve. */
  readonly alsoStatus?: number
  /** Text that published clients print; JSON on request. */
  readonly text?: string
  /** Form of a MessagePack reply, which is the default if there is one. */
  readonly msgpack?: string
  /** Name of the schema of the JSON reply. A reply with neither this nor `media` has no body. */
  readonly json?: ReplyName
  /** Media type of a reply that is neither JSON nor MessagePack. */
  readonly media?: string
}

export type ReplyName = keyof typeof replySchemas

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly doc?: RouteDoc
  }
}
