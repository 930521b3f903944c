// Sends a request to another server, and returns its reply, or whether the request can have had an effect. It knows HTTP, not which server
// leads. Its connections stay open for the next requests.
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { urlToHttpOptions } from 'node:url'
import { nodeHttp, nodeHttps } from '../node-modules.ts'
import type { ForwardedBody, Turn } from './forwarded-body.ts'

export interface ForwardedHead {
  readonly method: string
  /** Path and query string as the client sent them. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
}

export type ForwardOutcome =
  /** `rest` follows `body` if the reply is long. */
  | {
      readonly kind: 'reply'
      readonly status: number
      /** Names and values by turns, as received. */
      readonly rawHeaders: readonly string[]
      readonly body: Buffer
      readonly rest: IncomingMessage | undefined
    }
  /** The other server does not lead either (421). */
  | { readonly kind: 'misdirected' }
  /** The other server did not get the whole request, so it had no effect. */
  | { readonly kind: 'not-received' }
  /** The other server got the whole request, and its reply did not arrive. */
  | { readonly kind: 'unknown' }
  /** The client closed its connection before its body was complete. */
  | { readonly kind: 'abandoned' }

export interface ForwarderOptions {
  /** How long the other server may take nothing of a body, or send nothing of a reply, in milliseconds. */
  readonly idleMsMax: number
  readonly connectMsMax?: number
  /** Certificates that sign those of the other servers, in PEM format. Default: those of Node.js. */
  readonly ca?: readonly string[] | undefined
}

/** Longer replies are not collected. */
const replyBytesAtOnceMax = 65_536
const connectMsMaxDefault = 2_000
/** Idle connections to one server. */
const idleConnectionsMax = 64

export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #agents = new Map<string, Agent>()

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Sends a request to the server at `url`, which has no path. Never rejects. */
  send(
    url: string,
    { method, path, headers }: ForwardedHead,
    body: ForwardedBody,
    idleMsMax = this.#options.idleMsMax,
  ): Promise<ForwardOutcome> {
    const { protocol, hostname, port } = urlToHttpOptions(new URL(url))
    const { request } = protocol === 'https:' ? nodeHttps() : nodeHttp()
    return exchange(
      request({
        protocol,
        hostname,
        port,
        method,
        path: ascii(path),
        headers,
        agent: this.#agent(protocol ?? 'http:'),
      }),
      body,
      { ...this.#options, idleMsMax },
    )
  }

  /** Closes the idle connections; the others close after their replies. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #agent(protocol: string): Agent {
    let agent = this.#agents.get(protocol)
    if (agent === undefined) {
      const options = { keepAlive: true, maxFreeSockets: idleConnectionsMax }
      const { ca } = this.#options
      agent =
        protocol === 'https:'
          ? new (nodeHttps().Agent)({ ...options, ...(ca && { ca: [...ca] }) })
          : new (nodeHttp().Agent)(options)
      this.#agents.set(protocol, agent)
    }
    return agent
  }
}

/** Node.js receives bytes beyond ASCII in a path as they are, and does not send them. Encoded, they mean the same. */
function ascii(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]/g, encodeURIComponent)
}

function exchange(
  request: ClientRequest,
  body: ForwardedBody,
  { idleMsMax, connectMsMax = connectMsMaxDefault }: ForwarderOptions,
): Promise<ForwardOutcome> {
  const { promise, resolve } = Promise.withResolvers<ForwardOutcome>()
  let isSettled = false
  let isConnected = false
  let turn: Turn = 'client'
  let timer: NodeJS.Timeout | undefined
  let stopBody = (): void => undefined
  const settle = (outcome: ForwardOutcome): void => {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    stopBody()
    resolve(outcome)
  }
  const fail = (): void => {
    settle({ kind: isConnected && request.writableEnded ? 'unknown' : 'not-received' })
    request.destroy()
  }
  const wait = (ms: number | undefined): void => {
    clearTimeout(timer)
    timer = ms === undefined || isSettled ? undefined : setTimeout(fail, ms)
  }
  const onTurn = (next: Turn): void => {
    turn = next
    // A client has its own limits (http/body-watch.ts).
    if (isConnected) wait(turn === 'server' ? idleMsMax : undefined)
  }
  const connected = (): void => {
    isConnected = true
    onTurn(turn)
  }
  wait(connectMsMax)
  request.once('socket', (socket) => {
    if (!socket.connecting) connected()
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
  })
  request.on('error', fail)
  request.once('response', (response) => {
    stopBody()
    const received = (outcome: ForwardOutcome): void => {
      settle(outcome)
      // It replied before the end of the body, so this connection cannot be used again.
      if (!request.writableEnded) request.destroy()
    }
    if (response.statusCode === 421) {
      response.resume()
      received({ kind: 'misdirected' })
      return
    }
    const again = (): void => wait(idleMsMax)
    again()
    collect(response, again, (collected) => {
      if (collected === undefined) return fail()
      const { rawHeaders, statusCode: status = 502 } = response
      const outcome = { kind: 'reply', status, rawHeaders, ...collected } as const
      if (collected.rest === undefined) return received(outcome)
      settle(outcome)
    })
  })
  stopBody = body.sendTo(request, {
    onTurn,
    onAbandoned: () => {
      settle({ kind: 'abandoned' })
      request.destroy()
    },
  })
  return promise
}

interface Collected {
  readonly body: Buffer
  readonly rest: IncomingMessage | undefined
}

/** Calls back once: with the reply, or with its beginning and its paused rest, or with undefined if it breaks off. */
function collect(response: IncomingMessage, onBytes: () => void, done: (collected?: Collected) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const finish = (collected?: Collected): void => {
    response.off('data', take).off('end', end).off('error', broken).off('close', broken)
    done(collected)
  }
  const take = (chunk: Buffer): void => {
    onBytes()
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes <= replyBytesAtOnceMax) return
    response.pause()
    finish({ body: Buffer.concat(chunks), rest: response })
  }
  const end = (): void => finish({ body: Buffer.concat(chunks), rest: undefined })
  const broken = (): void => finish()
  response.on('data', take).on('end', end).on('error', broken).on('close', broken)
}
