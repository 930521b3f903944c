// Replies to bytes that are no request: what Node's HTTP parser refuses, what arrives too slowly, and CONNECT. There is only a connection, so the
// reply is written to it directly, in the form of every other error, behind the replies to the requests before it.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorBody, ServerError, statusOf } from '../errors.ts'
import { refusedMs } from '../limits.ts'
import { nodeHttp } from '../node-modules.ts'

/** An error of Node's HTTP parser, or of its limits of time. */
export interface ParserError extends Error {
  readonly code?: string
  /** The bytes that arrived last, a Buffer. */
  readonly rawPacket?: unknown
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The request of each connection that began to arrive last. */
const newest = new WeakMap<Duplex, Exchange>()

/** Connections whose refusal waits for the reply before it. What still arrives is not answered once more. */
const waiting = new WeakSet<Duplex>()

function forget(this: ServerResponse): void {
  const { socket, complete } = this.req
  // Its body may still be refused.
  if (complete && newest.get(socket)?.response === this) newest.delete(socket)
}

/** Answers what is not a request on the connections of the server, except parser errors: those reach `refuseBytes` through the framework. */
export function answerRefusedBytes(server: Server): void {
  const note = (request: IncomingMessage, response: ServerResponse): void => {
    newest.set(request.socket, { request, response })
    response.on('close', forget)
  }
  server.prependListener('request', note)
  // Without this, Node.js replies without a body. The hooks reject the request (see request-form.ts).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Without this, Node.js closes the connection without a reply.
  server.on('connect', ({ method, url }: IncomingMessage, socket: Duplex) => {
    // The server does not watch the connection of a CONNECT.
    socket.on('error', () => undefined)
    const details = { field: 'method', value: method }
    const error = new ServerError(
      'method_not_allowed',
      `this server is no proxy: it does not connect to ${url}`,
      details,
    )
    refuse(socket, { status: statusOf(error.code), error })
  })
}

/** Replies to bytes that Node's parser refused or that did not arrive in time, and closes the connection. */
export function refuseBytes(error: ParserError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || waiting.has(socket)) return
  // Without a handshake there is nobody to reply to.
  if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') {
    socket.destroy()
    return
  }
  refuse(socket, refusalOf(error))
}

interface Refusal {
  readonly status: number
  readonly error: ServerError
}

/**
 * The bytes may belong to the body of the last request, which then has no other reply. Otherwise they follow it, and its reply is sent first: a
 * reply to them would be read as part of that one.
 */
function refuse(socket: Duplex, refusal: Refusal): void {
  const { request, response } = newest.get(socket) ?? {}
  if (request === undefined || response === undefined) {
    write(socket, refusal)
  } else if (request.complete || response.headersSent) {
    // The request whose body is refused may have its reply, and nothing follows the last reply of a connection.
    const close = (): void => (request.complete && !isLast(response) ? write(socket, refusal) : end(socket))
    if (response.writableFinished) close()
    else {
      waiting.add(socket)
      // Before the listener of Node.js, which ends the connection if the client sends no more.
      response.prependOnceListener('finish', close)
    }
  } else if (response.socket === null) {
    // The reply before it is not complete.
    waiting.add(socket)
    response.once('socket', () => refuse(socket, refusal))
  } else write(socket, refusal)
}

/** Whether the reply says `Connection: close`. */
function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive
}

function write(socket: Duplex, { status, error }: Refusal): void {
  if (socket.destroyed || !socket.writable) return
  const id = randomUUID()
  const body = JSON.stringify(errorBody(error, id))
  const head = [
    `HTTP/1.1 ${status} ${nodeHttp().STATUS_CODES[status]}`,
    ...['Content-Type: application/json; charset=utf-8', `X-Request-Id: ${id}`, 'X-Content-Type-Options: nosniff'],
    ...[`Content-Length: ${Buffer.byteLength(body)}`, `Date: ${new Date().toUTCString()}`, 'Connection: close'],
  ]
  end(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
}

/** A client that does not end its side would keep the connection: Node.js limits no time behind a refusal. */
function end(socket: Duplex, bytes = ''): void {
  if (socket.destroyed) return
  socket.end(bytes)
  const closing = setTimeout(() => socket.destroy(), refusedMs).unref()
  socket.once('close', () => clearTimeout(closing))
}

function refusalOf({ code = '', rawPacket }: ParserError): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return badRequest('the headers are too large', 431)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return badRequest('the request took too long to arrive', 408)
  const bytes = Buffer.isBuffer(rawPacket) ? rawPacket : Buffer.alloc(0)
  // The first byte of every TLS connection.
  if (bytes[0] === 0x16) return badRequest('this is TLS, and the server expects HTTP without TLS on this port')
  if (bytes.toString('latin1', 0, 14) === 'PRI * HTTP/2.0') {
    return badRequest('this is HTTP/2, and the server expects HTTP/1.1')
  }
  const where = reasons.get(code)
  return badRequest(where === undefined ? 'this is not HTTP' : `this is not HTTP: ${where}`)
}

/** Codes of Node's parser, which end in what it did not accept. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['HPE_INVALID_METHOD', 'the method is unknown'],
  ['HPE_INVALID_URL', 'the path is invalid'],
  ['HPE_INVALID_CONSTANT', 'the first line is invalid'],
  ['HPE_INVALID_VERSION', 'the version is not HTTP/1.0 or HTTP/1.1'],
  ['HPE_INVALID_HEADER_TOKEN', 'a header is invalid'],
  ['HPE_INVALID_CONTENT_LENGTH', 'Content-Length is invalid'],
  ['HPE_UNEXPECTED_CONTENT_LENGTH', 'Content-Length and Transfer-Encoding exclude each other'],
  ['HPE_INVALID_TRANSFER_ENCODING', 'Transfer-Encoding must be chunked'],
  ['HPE_INVALID_CHUNK_SIZE', 'the size of a chunk is invalid'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'the extensions of a chunk are too long'],
  ['HPE_INVALID_EOF_STATE', 'the connection ended within a request'],
])

function badRequest(reason: string, status = statusOf('bad_request')): Refusal {
  return { status, error: new ServerError('bad_request', reason) }
}
