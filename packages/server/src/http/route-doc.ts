// What a route says about itself besides the schemas that validate it: the one source of openapi.json.
import type { TSchema } from '@sinclair/typebox'
import type { Access } from '../access/access.ts'

export interface RouteDoc {
  /** One sentence: what a call does. */
  readonly summary: string
  readonly access: Access
  /** Body of a route that reads it itself instead of letting a schema judge it. */
  readonly body?: TSchema
  /** What a MessagePack body looks like where it is no object of the same shape. */
  readonly bodyMsgpack?: string
  readonly reply: ReplyDoc
}

export interface ReplyDoc {
  readonly description: string
  /** Status of success; 200 when not given. */
  readonly status?: number
  /** Text that published clients print; JSON on request. */
  readonly text?: string
  /** What the MessagePack form looks like, which is the default where there is one. */
  readonly msgpack?: string
  readonly json?: TSchema
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly doc?: RouteDoc
  }
}
