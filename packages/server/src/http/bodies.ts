// The parsers of bodies, for JSON and MessagePack. A route whose body is a list reads it while it arrives. Every other route gets the
// decoded value, which is then validated by the schema of the route.
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BodyRoom } from '../access/body-room.ts'
import { parseJsonBody, parseQuery, type VectorKey } from '../wire/json-body.ts'
import { decodeWhole } from '../wire/msgpack-scan.ts'
import { parseVectorBody, vectorBodyType } from '../wire/vector-body.ts'
import { ArrivingBody, arrivingBody } from './arriving-body.ts'
import { freeBytes } from './free-bytes.ts'
import { readWhole } from './whole-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Key of the query vector, whose numbers are read directly from the bytes of a JSON body, because they are most of the body. */
    readonly vectorKey?: VectorKey
    /** A request without a body is handled as one with an empty object; used together with `noBodyIsEmpty`. */
    readonly bodyOptional?: boolean
    /** Name of the action in the audit log. */
    readonly audit?: string
    /** Status of collection_not_found if published clients expect one other than 404. */
    readonly missingCollectionStatus?: number
    /** Statuses of other codes if published clients expect different ones. */
    readonly statuses?: { readonly [code: string]: number }
    /** The token may be in the query string, because a link in a browser has no headers. */
    readonly tokenInQuery?: boolean
  }
  interface FastifyRequest {
    /** From the configuration of the route; set by the hook that reads it, because each read of it takes time. */
    vectorKey: VectorKey | undefined
    /** The memory that the body may use; undefined without a body, and on open routes, whose bodies are short. */
    bodyRoom: BodyRoom | undefined
    /** Whether the bytes of a body that is read at once are kept: for reads on a node of a cluster, which may be forwarded. */
    keepsBody: boolean
    keptBody: Buffer | undefined
  }
}

type Done = (error: Error | null, body?: unknown) => void

const msgpackTypes = ['application/msgpack', 'application/x-msgpack', 'application/vnd.msgpack']

export function addBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('vectorKey', undefined)
  app.decorateRequest('bodyRoom', undefined)
  app.decorateRequest('keepsBody', false)
  app.decorateRequest('keptBody', undefined)
  app.addContentTypeParser(
    'application/json',
    wholeParser((request, body) => ({ value: readJson(request, body), hasViews: false })),
  )
  app.addContentTypeParser(
    msgpackTypes,
    wholeParser((_request, body) => decodeWhole(body)),
  )
}

function readJson(request: FastifyRequest, body: Buffer): unknown {
  // Published clients send a content type with DELETE and POST requests that have no body.
  if (body.length === 0) {
    const { schema, config } = request.routeOptions
    if (schema?.body === undefined || config.bodyOptional === true) return undefined
  }
  const { vectorKey } = request
  return vectorKey === undefined ? parseJsonBody(body) : parseQuery(body, vectorKey)
}

/** Routes of `app`, which search with one vector, also accept it as bytes. Their configuration has a `vectorKey`. */
export function addVectorBodyParser(app: FastifyInstance): void {
  app.addContentTypeParser(
    vectorBodyType,
    wholeParser((request, body) => ({
      value: parseVectorBody(body, request.vectorKey ?? '"vector"'),
      hasViews: true,
    })),
  )
}

interface Parsed {
  readonly value: unknown
  /** Parts of the value are views of the body. */
  readonly hasViews: boolean
}

/** A parser that gets the whole body, which is freed afterwards if nothing can read it. */
function wholeParser(parse: (request: FastifyRequest, body: Buffer) => Parsed) {
  return (request: FastifyRequest, payload: Readable, done: Done): void =>
    readWhole(request, payload, (error, body) => {
      if (body === undefined) return done(error)
      request.requestKey?.addBody(body)
      if (request.keepsBody) request.keptBody = body
      settle(done, () => {
        let isRead = request.keepsBody
        try {
          const { value, hasViews } = parse(request, body)
          isRead ||= hasViews
          return value
        } finally {
          if (!isRead) freeBytes(body)
        }
      })
    })
}

/** On the routes of `app`, a body is an ArrivingBody. After an error, the rest of it is dropped. */
export function addListParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, payload, done) => {
    settle(done, () => arrivingBody(request, payload, 'json'))
  })
  app.addContentTypeParser(msgpackTypes, (request, payload, done) => {
    settle(done, () => arrivingBody(request, payload, 'msgpack'))
  })
  app.addHook('onError', (request, _reply, _error, done) => {
    if (request.body instanceof ArrivingBody) request.body.discard()
    done()
  })
}

/** Runs before the body is validated. */
export function noBodyIsEmpty(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.body ??= {}
  done()
}

function settle(done: Done, read: () => unknown): void {
  let body: unknown
  try {
    body = read()
  } catch (error) {
    // Readers throw errors with a code. Anything else is passed on unchanged.
    done(error instanceof Error ? error : new Error(String(error)))
    return
  }
  done(null, body)
}
