// What the server takes as a body: JSON and MessagePack, in two ways. A route whose body is a list reads it while it arrives;
// every other route gets the decoded value, which its schema then judges.
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseJsonBody, parseQuestion, type QuestionKey } from '../wire/json-body.ts'
import { decodeMsgpack } from '../wire/msgpack-scan.ts'
import { ArrivingBody, arrivingBody } from './arriving-body.ts'
import type { BodyRoom } from './body-room.ts'
import { readWhole } from './whole-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The key of a vector whose numbers are read from the bytes of a JSON body, since there is nothing more in most of them. */
    readonly question?: QuestionKey
    /** A request without a body is one with an empty object; goes with `noBodyIsEmpty`. */
    readonly bodyOptional?: boolean
    /** Written to the audit log under this name. */
    readonly audit?: string
    /** Status of collection_not_found where published clients expect another than 404. */
    readonly missingCollectionStatus?: number
    /** Statuses of other codes where published clients expect others. */
    readonly statuses?: { readonly [code: string]: number }
    /** The token may stand in the query, since a link in a browser has no headers. */
    readonly tokenInQuery?: boolean
  }
  interface FastifyRequest {
    /** As the route says; set by the hook that reads what a route says, which costs something each time. */
    question: QuestionKey | undefined
    /** What the body may take of memory; undefined where there is none, and on open routes, whose bodies are short. */
    bodyRoom: BodyRoom | undefined
  }
}

type Done = (error: Error | null, body?: unknown) => void

const msgpackTypes = ['application/msgpack', 'application/x-msgpack', 'application/vnd.msgpack']

export function addBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('question', undefined)
  app.decorateRequest('bodyRoom', undefined)
  app.addContentTypeParser('application/json', wholeParser(readJson))
  app.addContentTypeParser(
    msgpackTypes,
    wholeParser((_request, body) => decodeMsgpack(body)),
  )
}

function readJson(request: FastifyRequest, body: Buffer): unknown {
  // Published clients name the type on DELETE and POST requests that have no body at all.
  if (body.length === 0) {
    const { schema, config } = request.routeOptions
    if (schema?.body === undefined || config.bodyOptional === true) return undefined
  }
  const { question } = request
  return question === undefined ? parseJsonBody(body) : parseQuestion(body, question)
}

/** A parser that gets all of a body at once. */
function wholeParser(parse: (request: FastifyRequest, body: Buffer) => unknown) {
  return (request: FastifyRequest, payload: Readable, done: Done): void =>
    readWhole(request, payload, (error, body) => {
      if (body === undefined) return done(error)
      settle(done, () => parse(request, body))
    })
}

/** On the routes of `app` a body is an ArrivingBody. What a refusal leaves of it is thrown away. */
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

/** Before the schema looks at it. */
export function noBodyIsEmpty(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.body ??= {}
  done()
}

function settle(done: Done, read: () => unknown): void {
  let body: unknown
  try {
    body = read()
  } catch (error) {
    // Readers throw errors with a code; whatever else it may be goes up as it is.
    done(error instanceof Error ? error : new Error(String(error)))
    return
  }
  done(null, body)
}
