// The header Idempotency-Key: a repetition of a write gets the reply of the first, and has no effect. Every route that changes something says
// whether it takes keys, and why if it does not. The digest of a request covers its method, its target, and the bytes of its body, which are
// hashed while they arrive. The reply of a route is made from the result of `once`, for the first request and for a repetition alike.
import { createHash, type Hash } from 'node:crypto'
import {
  type Acknowledgement,
  type RecordedRequest,
  type RequestClaim,
  type RequestKeys,
  requestKeyLengthMax,
} from '@annal/engine'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { EngineSlot } from '../engine-slot.ts'
import { invalidArgument, refusal, ServerError } from '../errors.ts'
import { ArrivingBody } from './arriving-body.ts'
import { asAuthor, checkActor } from './author.ts'

/** Whether a route takes request keys: `kept`, or the reason why not. */
export type RequestKeyRule = 'kept' | { readonly refused: string }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required for every route that changes something. */
    readonly requestKey?: RequestKeyRule
  }
  interface FastifyRequest {
    /** The request key; undefined without the header. */
    requestKey: RequestKey | undefined
  }
  interface FastifyInstance {
    readonly requestKeys: () => RequestKeys
  }
}

/** For routes that reply with a new token. */
export const secretReply: RequestKeyRule = {
  refused: 'the reply has a token that the server does not keep; delete what was created and create it again',
}

export const requestKeyHeader = 'Idempotency-Key'
const headerName = 'idempotency-key'
/** Set in the reply to a repetition. */
const replayedHeader = 'idempotency-replayed'
const keyPattern = /^[\x21-\x7e]+(?![\s\S])/
/** What requests with other methods or access do has no effect on data. */
const changingAccess: ReadonlySet<string> = new Set(['write', 'control', 'server', 'open'])

/** The key of a request, and the hash of what makes it this request. */
class RequestKey {
  readonly key: string
  readonly #hash: Hash
  #digest: Uint8Array | undefined

  constructor(key: string, method: string, target: string) {
    this.key = key
    this.#hash = createHash('sha256').update(`${method} ${target}\n`)
  }

  /** Takes bytes of the body in their order. */
  addBody(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  /** Called when the whole body was added. */
  digest(): Uint8Array {
    this.#digest ??= this.#hash.digest()
    return this.#digest
  }
}

/** Reads the header, and checks that of the actor, on every route that changes something. Throws for such a route without a rule. */
export function addRequestKeys(app: FastifyInstance, slot: EngineSlot): void {
  app.decorate('requestKeys', () => slot.engine().requestKeys)
  app.decorateRequest('requestKey', undefined)
  app.addHook('onRoute', (route) => {
    const rule = route.config?.requestKey
    if (rule === undefined) {
      if (changes(route)) throw new Error(`${route.method} ${route.url} does not say whether it takes request keys`)
      return
    }
    route.onRequest = [...[route.onRequest ?? []].flat(), (request, _reply, done) => done(take(request, rule))]
  })
}

/** Whether a route changes something: those that only read may be repeated without a key. */
function changes({ method, config }: Pick<RouteOptions, 'method' | 'config'>): boolean {
  const isRead = [method].flat().every((one) => one === 'GET' || one === 'HEAD')
  return !isRead && changingAccess.has(config?.doc?.access ?? '')
}

function take(request: FastifyRequest, rule: RequestKeyRule): Error | undefined {
  return refusal(() => {
    checkActor(request)
    const header = request.headers[headerName]
    if (header === undefined) return
    if (rule !== 'kept') {
      const message = `this route does not accept the header ${requestKeyHeader}: ${rule.refused}`
      throw new ServerError('request_key_unsupported', message, { field: requestKeyHeader })
    }
    const key = String(header)
    if (key.length > requestKeyLengthMax || !keyPattern.test(key)) {
      const message = `${requestKeyHeader} must have 1 to ${requestKeyLengthMax} visible ASCII characters`
      throw invalidArgument(message, { field: requestKeyHeader, value: key, limit: requestKeyLengthMax })
    }
    request.requestKey = new RequestKey(key, request.method, request.url)
  })
}

/**
 * Runs `write` once for each request key, and always without one, as the author of the request. A repetition gets the result of `repeated`, by default the acknowledgment
 * and the facts of the record. Everything that depends on the state belongs in `write`: the state may have changed since the first request.
 */
export function once<R extends Acknowledgement>(
  request: FastifyRequest,
  reply: FastifyReply,
  write: (claim: RequestClaim | undefined) => Promise<R>,
  repeated?: (recorded: RecordedRequest) => R,
): Promise<R> {
  return asAuthor(request, () => onceKeyed(request, reply, write, repeated))
}

function onceKeyed<R extends Acknowledgement>(
  request: FastifyRequest,
  reply: FastifyReply,
  write: (claim: RequestClaim | undefined) => Promise<R>,
  repeated: ((recorded: RecordedRequest) => R) | undefined,
): Promise<R> {
  const { requestKey, body } = request
  if (requestKey === undefined) return write(undefined)
  const { doc } = request.routeOptions.config
  const keyed = {
    database: doc?.access === 'control' ? undefined : request.database.name,
    key: requestKey.key,
    digest: () => requestKey.digest(),
    readWhole: async () => {
      if (body instanceof ArrivingBody) await body.skip()
    },
  }
  return request.server.requestKeys().once<R>(keyed, write, (recorded) => {
    reply.header(replayedHeader, 'true')
    const { lsn, durable, facts } = recorded
    // The facts of a write have the names and types of its result.
    return repeated?.(recorded) ?? ({ lsn, durable, ...facts } as unknown as R)
  })
}
