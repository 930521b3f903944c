// A connection of a client to a serving thread. The thread answers hot requests at once. It forwards every other request byte for byte to the
// HTTP server of the main thread, and the bytes of the reply to the client, so a forwarded request is answered exactly as if the
// client were connected to the main thread.
//
// Between two requests the connection is `local`. A forwarded request of known length makes it `forwarding` until the main thread reports
// that the reply is complete. Anything whose end this thread does not know (chunked bodies, pipelining behind a forwarded request, upgrades,
// what is not HTTP) makes it a `tunnel` until it closes.
import type { Socket } from 'node:net'
import { requestsPerSocketMax } from '../http/limits.ts'
import type { Admission, HotReply, RequestEnd, RequestHead } from './contract.ts'
import { type FrameSender, ownBytes } from './frame-sender.ts'
import { frameKind, pieceBytes, windowBytes } from './messages.ts'
import type { ReplyHeads, WrittenReply } from './reply-head.ts'
import { type KnownHead, type ParsedHead, readHead } from './request-head.ts'
import type { ThreadParts } from './thread-parts.ts'

/** What a connection uses of its thread. */
export interface ConnectionHost {
  readonly sender: FrameSender
  /** A number for a virtual connection, whose frames this connection receives from now on. */
  connect(connection: ClientConnection): number
  /** The virtual connection sends nothing that matters. */
  forget(virtual: number): void
  /** Undefined while every request is forwarded. */
  parts(): ThreadParts | undefined
  /** Seconds since the thread started, as of its last sweep. */
  seconds(): number
  /** `Date` header of replies. */
  date(): string
  readonly heads: ReplyHeads
  /** Connections that the thread has open. */
  readonly connections: number
  /** Calls `send` after the other requests that have arrived in this turn are answered. */
  sendLater(send: () => void): void
  /** Whether the client should connect to another thread. Counts it if so. */
  moveAway(): boolean
  /** A connection that was closed for this reason is closed. */
  hasMoved(): void
  readonly isStopping: boolean
  /** Reports a failure of a part of this thread. The request is forwarded. */
  fail(error: unknown): void
}

/** Limits of time, in seconds. */
export interface ConnectionTimes {
  /** Without a request after a reply. */
  readonly idle: number
  /** Of a virtual connection without a request. Shorter than the limit of the main thread, which must not close it first. */
  readonly idleThere: number
  /** Of a request until the main thread receives what arrived of it, and limits the rest. */
  readonly partial: number
  /** Without progress of a reply. */
  readonly stalled: number
}

/** A request that this thread has admitted and not answered yet. */
interface HotRequest {
  readonly head: ParsedHead
  readonly admission: Admission
  readonly finish: (end: RequestEnd) => void
}

interface PartialRequest extends HotRequest {
  readonly chunks: Buffer[]
  bytes: number
}

export class ClientConnection {
  readonly #socket: Socket
  readonly #host: ConnectionHost
  #state: 'local' | 'answering' | 'forwarding' | 'tunnel' | 'closing' = 'local'
  /** Bytes that belong to no forwarded request and are not answered yet. */
  #pending: Buffer | undefined
  #body: PartialRequest | undefined
  #known: KnownHead | undefined
  /** Number of the virtual connection to the main thread; 0: none. */
  #virtual = 0
  #virtualSecond = 0
  /** Bytes of the forwarded request that have not arrived. */
  #bytesLeft = 0
  #isServed = false
  /** The client sends no more. */
  #hasEnded = false
  /** Bytes that may be sent to the main thread. */
  #room = windowBytes
  #uncredited = 0
  #requests = 0
  /** This thread has answered none of its requests. */
  #isNew = true
  #moves = false
  /** The system took every reply at once. A socket that encrypts never does. */
  #writesAtOnce: boolean
  /** The next request waits until the client has read its replies. */
  #isDraining = false
  #activeSecond: number
  #stalledLength = 0
  #stalledSecond = 0
  /** When the first bytes of an incomplete request arrived. */
  #partialSecond = 0
  /** While a reply is awaited: what arrives, and what gives up. */
  #arrived: Buffer[] = []
  #giveUp: (() => void) | undefined

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.#activeSecond = host.seconds()
    this.#writesAtOnce = !('encrypted' in socket)
  }

  /** Bytes of the client. */
  receive(chunk: Buffer): void {
    this.#activeSecond = this.#host.seconds()
    if (this.#state === 'local') this.#receiveLocally(chunk)
    else if (this.#state === 'answering') {
      this.#arrived.push(chunk)
      this.#socket.pause()
    } else if (this.#state === 'closing') return
    else if (this.#state === 'tunnel') this.#forward(chunk)
    else if (chunk.length <= this.#bytesLeft) {
      this.#bytesLeft -= chunk.length
      this.#forward(chunk)
      this.#continueIfServed()
    } else {
      // The client sends its next request before it has the reply.
      this.#state = 'tunnel'
      this.#forward(chunk)
    }
  }

  /** The client sends no more. */
  receiveEnd(): void {
    this.#hasEnded = true
    this.#passEnd()
  }

  /** The connection is closed. */
  close(): void {
    this.#giveUp?.()
    this.#giveUp = undefined
    this.#body?.admission.release()
    this.#body?.finish('closed')
    this.#body = undefined
    if (this.#moves) this.#host.hasMoved()
    this.#closeVirtual()
  }

  /** Bytes of the main thread. */
  receiveReply(bytes: Uint8Array): void {
    this.#socket.write(bytes, () => this.#credit(bytes.length))
  }

  /** The main thread has sent the last reply of this connection. */
  receiveReplyEnd(): void {
    this.#socket.end()
  }

  /** The main thread has closed the virtual connection. */
  receiveDestroy(): void {
    this.#host.forget(this.#virtual)
    this.#virtual = 0
    const isServing = this.#state === 'answering' || (this.#state === 'local' && this.#requests > 0)
    if (!isServing) this.#socket.destroySoon()
  }

  receiveCredit(bytes: number): void {
    this.#room += bytes
    if (this.#room > 0 && this.#socket.isPaused()) this.#socket.resume()
  }

  /** The main thread has sent the whole reply. */
  receiveServed(): void {
    if (this.#state !== 'forwarding') return
    this.#isServed = true
    this.#continueIfServed()
  }

  /** Closes the connection if it is idle, forwards a request that arrives slowly, and closes the connection of a client that does not read. */
  checkTimes({ idle, idleThere, partial, stalled }: ConnectionTimes): void {
    const quiet = this.#host.seconds() - this.#activeSecond
    if (this.#state === 'local') {
      if (this.#pending !== undefined || this.#body !== undefined) {
        if (quiet >= partial || this.#host.isStopping || this.#isOld(partial)) this.#tunnelPending()
      } else if (this.#host.isStopping || (this.#requests > 0 && quiet > idle)) this.#socket.destroySoon()
      // The main thread limits the time until the first request.
      else if (this.#requests === 0) this.#open()
      else if (this.#host.seconds() - this.#virtualSecond >= idleThere) this.#closeVirtual()
    }
    if (this.#isStalled(stalled)) this.#socket.destroy()
  }

  #receiveLocally(chunk: Buffer): void {
    const body = this.#body
    if (body !== undefined) {
      body.chunks.push(chunk)
      body.bytes += chunk.length
      if (body.bytes < body.head.headBytes + body.head.bodyBytes) return
      this.#body = undefined
      this.#answer(Buffer.concat(body.chunks, body.bytes), body)
      if (this.#state === 'local') this.#readRequests()
      return
    }
    const pending = this.#pending
    this.#pending = pending === undefined ? chunk : Buffer.concat([pending, chunk])
    if (pending === undefined) this.#partialSecond = this.#host.seconds()
    this.#readRequests()
  }

  /** A request that is still incomplete after this time, although bytes of it keep arriving. */
  #isOld(seconds: number): boolean {
    return this.#host.seconds() - this.#partialSecond >= seconds
  }

  #readRequests(): void {
    while (this.#state === 'local' && this.#pending !== undefined && this.#body === undefined) {
      if (this.#isFull()) return
      const known = readHead(this.#pending, this.#known)
      if (known === 'incomplete') return
      if (known === 'unusual') {
        this.#tunnelPending()
        return
      }
      this.#known = known
      const bytes = this.#pending
      this.#pending = undefined
      this.#startRequest(bytes, known)
    }
  }

  /** Whether replies wait for the client. Then its next request waits until it has read them, so that they do not fill memory. */
  #isFull(): boolean {
    if (!this.#socket.writableNeedDrain) return false
    this.#socket.pause()
    if (!this.#isDraining) this.#socket.once('drain', () => this.#continueAfterDrain())
    this.#isDraining = true
    return true
  }

  #continueAfterDrain(): void {
    this.#isDraining = false
    this.#activeSecond = this.#host.seconds()
    this.#partialSecond = this.#activeSecond
    if (this.#room > 0) this.#socket.resume()
    this.#readRequests()
  }

  #startRequest(bytes: Buffer, known: KnownHead): void {
    const { head } = known
    const parts = this.#host.isStopping || !head.hasUniqueHeaders ? undefined : this.#host.parts()
    const route = parts?.routes.match(head.method, head.url)
    const isHot = route !== undefined && head.bodyBytes <= route.bodyBytesMax
    const admission = isHot ? parts?.gate.admit(this.#requestHead(head), route) : undefined
    if (parts === undefined || admission === undefined) {
      this.#forwardRequest(bytes, head)
      return
    }
    const request = { head, admission, finish: parts.observer.started() }
    if (bytes.length >= head.headBytes + head.bodyBytes) this.#answer(bytes, request)
    else {
      this.#body = { ...request, chunks: [bytes], bytes: bytes.length }
      this.#partialSecond = this.#host.seconds()
    }
  }

  #requestHead({ method, url, headers }: ParsedHead): RequestHead {
    return { method, url, headers, address: this.#socket.remoteAddress ?? '' }
  }

  /** Answers the request at the beginning of the bytes. Bytes behind it are the next request. */
  #answer(bytes: Buffer, request: HotRequest): void {
    const startedMs = performance.now()
    const { headBytes, bodyBytes } = request.head
    const end = headBytes + bodyBytes
    const found = this.#find(request, bytes.subarray(headBytes, end))
    const settle = (reply: HotReply | undefined): void => {
      const arrived = this.#arrived
      this.#arrived = []
      this.#pending = joined(bytes.length > end ? [bytes.subarray(end), ...arrived] : arrived)
      if (reply !== undefined && this.#sendReply(reply, request, startedMs)) return
      request.admission.withdraw()
      request.finish('forwarded')
      this.#pending = undefined
      this.#forwardRequest(bytes, request.head)
      for (const chunk of arrived) this.receive(chunk)
    }
    if (found instanceof Promise) {
      const proceed = this.#wait(request, settle)
      found.then(proceed, (error: unknown) => {
        this.#host.fail(error)
        proceed(undefined)
      })
    } else if (found !== undefined && this.#host.connections > 1) {
      const proceed = this.#wait(request, settle)
      this.#host.sendLater(() => proceed(found))
    } else settle(found)
  }

  #find({ admission, head }: HotRequest, body: Buffer): HotReply | undefined | Promise<HotReply | undefined> {
    try {
      return this.#host.parts()?.routes.answer(admission, head.headers, body)
    } catch (error) {
      // The main thread repeats the request, and reports its own failure to the client.
      this.#host.fail(error)
      return undefined
    }
  }

  /** The reply is sent later, by the function that this returns. What arrives meanwhile waits. */
  #wait(
    { admission, finish }: HotRequest,
    settle: (reply: HotReply | undefined) => void,
  ): (reply: HotReply | undefined) => void {
    this.#state = 'answering'
    let isClosed = false
    this.#giveUp = () => {
      isClosed = true
      admission.release()
      finish('closed')
    }
    return (reply) => {
      if (isClosed) return
      this.#giveUp = undefined
      this.#state = 'local'
      const isPaused = this.#arrived.length > 0
      settle(reply)
      if (this.#state === 'local') this.#readRequests()
      this.#passEnd()
      if (isPaused && this.#room > 0) this.#socket.resume()
    }
  }

  /** Returns false if the token of the request is no longer valid. */
  #sendReply(reply: HotReply, { head, admission, finish }: HotRequest, startedMs: number): boolean {
    let written: WrittenReply | undefined
    const isSent = admission.reply(() => {
      this.#requests++
      // It was opened to limit the time until the first request.
      if (this.#requests === 1) this.#closeVirtual()
      const isLast = this.#isLastReply(head)
      const { status, contentType, body } = reply
      const form = { status, contentType, replyHeaders: admission.replyHeaders, date: this.#host.date(), isLast }
      written = this.#host.heads.reply(form, body)
      const sent = (): void => {
        admission.release()
        finish('answered')
      }
      if (!isLast) {
        this.#write(written.bytes, sent)
        return
      }
      this.#state = 'closing'
      this.#pending = undefined
      this.#closeVirtual()
      this.#socket.end(written.bytes, sent)
    })
    if (!isSent || written === undefined) return false
    const { route, database } = admission
    const seconds = (performance.now() - startedMs) / 1_000
    const facts = { route, database, requestId: written.requestId, status: reply.status, seconds }
    this.#host.parts()?.observer.answered(this.#requestHead(head), facts)
    return true
  }

  /** Calls `sent` when the system has the bytes. A callback of a write costs more than the write of a reply, so mostly there is none. */
  #write(bytes: Buffer, sent: () => void): void {
    if (!this.#writesAtOnce) {
      this.#socket.write(bytes, sent)
      return
    }
    this.#socket.write(bytes)
    this.#writesAtOnce = this.#socket.writableLength === 0
    if (this.#writesAtOnce) sent()
    else this.#socket.write(noBytes, sent)
  }

  #isLastReply(head: ParsedHead): boolean {
    if (head.isLast || (this.#hasEnded && this.#pending === undefined) || this.#requests >= requestsPerSocketMax)
      return true
    if (!this.#isNew || this.#pending !== undefined) return false
    this.#isNew = false
    this.#moves = this.#host.moveAway()
    return this.#moves
  }

  #forwardRequest(bytes: Buffer, head: ParsedHead): void {
    this.#requests++
    this.#open()
    const end = head.headBytes + head.bodyBytes
    this.#state = bytes.length > end || head.isLast ? 'tunnel' : 'forwarding'
    this.#isServed = false
    this.#bytesLeft = Math.max(0, end - bytes.length)
    this.#forward(bytes)
  }

  /** Ends the connection after the replies to everything that the client has sent. */
  #passEnd(): void {
    if (!this.#hasEnded) return
    const isPartial = this.#pending !== undefined || this.#body !== undefined
    if (this.#state === 'local' && isPartial) this.#tunnelPending()
    if (this.#state === 'local') this.#socket.end()
    // Its reply follows, and the end of the connection after it.
    else if (this.#state === 'answering' || (this.#state === 'forwarding' && this.#bytesLeft === 0)) return
    else if (this.#virtual !== 0) this.#host.sender.send([frameKind.end, this.#virtual])
  }

  #tunnelPending(): void {
    const chunks = this.#body?.chunks ?? (this.#pending === undefined ? [] : [this.#pending])
    this.#body?.admission.withdraw()
    this.#body?.finish('forwarded')
    this.#body = undefined
    this.#pending = undefined
    this.#requests++
    this.#state = 'tunnel'
    this.#open()
    for (const chunk of chunks) this.#forward(chunk)
  }

  /** Opens the virtual connection. */
  #open(): void {
    if (this.#virtual !== 0) return
    this.#virtual = this.#host.connect(this)
    this.#room = windowBytes
    this.#uncredited = 0
    const { remoteAddress, remotePort, remoteFamily, localAddress, localPort } = this.#socket
    const peer = { address: remoteAddress, port: remotePort, family: remoteFamily, localAddress, localPort }
    this.#host.sender.send([frameKind.open, this.#virtual, peer])
  }

  #closeVirtual(): void {
    if (this.#virtual === 0) return
    this.#host.sender.send([frameKind.destroy, this.#virtual])
    this.#host.forget(this.#virtual)
    this.#virtual = 0
  }

  #forward(chunk: Buffer): void {
    // The main thread has closed its end: what the client still sends has no receiver.
    if (this.#virtual === 0) return
    this.#room -= chunk.length
    this.#host.sender.send([frameKind.data, this.#virtual, ownBytes(chunk)])
    if (this.#room <= 0) this.#socket.pause()
  }

  #continueIfServed(): void {
    if (!this.#isServed || this.#bytesLeft > 0) return
    this.#state = 'local'
    this.#activeSecond = this.#host.seconds()
    this.#virtualSecond = this.#activeSecond
    if (this.#hasEnded) this.#socket.end()
  }

  #credit(bytes: number): void {
    this.#uncredited += bytes
    if (this.#uncredited < pieceBytes || this.#virtual === 0) return
    this.#host.sender.send([frameKind.credit, this.#virtual, this.#uncredited])
    this.#uncredited = 0
  }

  #isStalled(seconds: number): boolean {
    const length = this.#socket.writableLength
    if (length === 0 || length !== this.#stalledLength) {
      this.#stalledLength = length
      this.#stalledSecond = this.#host.seconds()
      return false
    }
    // The main thread limits the time of the replies that it sends, until it closes its end.
    return this.#virtual === 0 && this.#host.seconds() - this.#stalledSecond >= seconds
  }
}

const noBytes = Buffer.alloc(0)

function joined(parts: readonly Buffer[]): Buffer | undefined {
  return parts.length > 1 ? Buffer.concat(parts) : parts[0]
}
