// A connection of a client to a serving thread. The thread answers hot requests at once. It forwards every other request byte for byte to the
// HTTP server of the main thread, and the bytes of the reply to the client, so a forwarded request is answered exactly as if the
// client were connected to the main thread.
//
// Between two requests the connection is `local`. A forwarded request of known length makes it `forwarding` until the main thread reports
// that the reply is complete. Anything whose end this thread does not know (chunked bodies, pipelining behind a forwarded request, upgrades,
// what is not HTTP) makes it a `tunnel` until it closes. It reads requests with a RequestReader, writes replies with a ReplyWriter, and forwards
// over a VirtualConnection.
import type { Socket } from 'node:net'
import type { Admission, HotReply, RequestEnd, RequestHead } from '../hot/contract.ts'
import { freeBytes } from '../http/free-bytes.ts'
import { ReplyProgress } from '../http/reply-progress.ts'
import { requestsPerSocketMax } from '../limits.ts'
import type { FrameSender } from './frame-sender.ts'
import type { ReplyHeads, WrittenReply } from './reply-head.ts'
import { ReplyWriter } from './reply-writer.ts'
import type { ParsedHead } from './request-head.ts'
import { type HeadRead, RequestReader } from './request-reader.ts'
import type { ThreadParts } from './thread-parts.ts'
import { VirtualConnection } from './virtual-connection.ts'

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
}

/** A request that this thread has admitted and not answered yet. */
interface HotRequest {
  readonly head: ParsedHead
  readonly admission: Admission
  readonly finish: (end: RequestEnd) => void
}

export class ClientConnection {
  readonly #socket: Socket
  readonly #host: ConnectionHost
  #state: 'local' | 'answering' | 'forwarding' | 'tunnel' | 'closing' = 'local'
  /** Bytes that belong to no forwarded request and are not answered yet. */
  readonly #reader = new RequestReader<HotRequest>()
  readonly #writer: ReplyWriter
  readonly #progress = new ReplyProgress()
  readonly #virtual: VirtualConnection
  /** When the last forwarded request was answered. */
  #virtualSecond = 0
  /** Bytes of the forwarded request that have not arrived. */
  #bytesLeft = 0
  #isServed = false
  /** The client sends no more. */
  #hasEnded = false
  #isEnding = false
  #requests = 0
  /** This thread has answered none of its requests. */
  #isNew = true
  #moves = false
  #activeSecond: number
  /** While a reply is awaited: what arrives, and what gives up. */
  #arrived: Buffer[] = []
  #giveUp: (() => void) | undefined

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.#activeSecond = host.seconds()
    this.#writer = new ReplyWriter(socket)
    const { sender, forget } = host
    this.#virtual = new VirtualConnection(socket, { sender, forget, connect: () => host.connect(this) })
  }

  /** Bytes of the client. */
  receive(chunk: Buffer): void {
    this.#activeSecond = this.#host.seconds()
    if (this.#state === 'local') this.#receiveLocally(chunk)
    else if (this.#state === 'answering') {
      this.#arrived.push(chunk)
      this.#socket.pause()
    } else if (this.#state === 'closing') return
    else if (this.#state === 'tunnel') this.#virtual.forward(chunk)
    else if (chunk.length <= this.#bytesLeft) {
      this.#bytesLeft -= chunk.length
      this.#virtual.forward(chunk)
      this.#continueIfServed()
    } else {
      // The client sends its next request before it has the reply.
      this.#state = 'tunnel'
      this.#virtual.forward(chunk)
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
    const { request } = this.#reader.take()
    request?.admission.release()
    request?.finish('closed')
    if (this.#moves) this.#host.hasMoved()
    this.#virtual.close()
  }

  /** Bytes of the main thread. */
  receiveReply(bytes: Uint8Array): void {
    const { length } = bytes
    this.#socket.write(bytes, () => {
      freeBytes(bytes)
      this.#virtual.credit(length)
    })
  }

  /** The main thread has sent the last reply of this connection. */
  receiveReplyEnd(): void {
    this.#socket.end()
  }

  /** The main thread has closed the virtual connection. */
  receiveDestroy(): void {
    this.#virtual.receiveDestroy()
    const isServing = this.#state === 'answering' || (this.#state === 'local' && this.#requests > 0)
    if (!isServing) this.#socket.destroySoon()
  }

  receiveCredit(bytes: number): void {
    this.#virtual.receiveCredit(bytes)
  }

  /** The main thread has sent the whole reply. */
  receiveServed(): void {
    if (this.#state !== 'forwarding') return
    this.#isServed = true
    this.#continueIfServed()
  }

  /** Closes the connection if it is idle, forwards a request that arrives slowly, and closes the connection of a client that does not read. */
  checkTimes({ idle, idleThere, partial }: ConnectionTimes): void {
    const now = this.#host.seconds()
    const quiet = now - this.#activeSecond
    if (this.#state === 'local') {
      if (!this.#reader.isEmpty) {
        if (quiet >= partial || this.#host.isStopping || this.#reader.isOld(now, partial)) this.#tunnelPending()
      } else if (this.#host.isStopping || (this.#requests > 0 && quiet > idle)) this.#endIdle()
      // The main thread limits the time until the first request.
      else if (this.#requests === 0) this.#virtual.open()
      else if (now - this.#virtualSecond >= idleThere) this.#virtual.close()
    }
    // Of the replies of the main thread as well, which does not know what this socket has sent.
    if (this.#progress.isStalled(this.#socket, now)) this.#socket.destroy()
  }

  /** A socket whose encryption failed may never finish. */
  #endIdle(): void {
    if (this.#isEnding) this.#socket.destroy()
    else this.#socket.destroySoon()
    this.#isEnding = true
  }

  #receiveLocally(chunk: Buffer): void {
    const complete = this.#reader.add(chunk, this.#host.seconds())
    if (complete !== undefined) this.#answer(complete.bytes, complete.request)
    this.#readRequests()
  }

  #readRequests(): void {
    while (this.#state === 'local' && this.#reader.hasPending) {
      if (this.#writer.isFull(() => this.#continueAfterDrain())) return
      const read = this.#reader.next()
      if (read === undefined) return
      if (read === 'unusual') {
        this.#tunnelPending()
        return
      }
      this.#startRequest(read)
    }
  }

  #continueAfterDrain(): void {
    this.#activeSecond = this.#host.seconds()
    this.#reader.restart(this.#activeSecond)
    if (this.#virtual.hasRoom) this.#socket.resume()
    this.#readRequests()
  }

  #startRequest(read: HeadRead): void {
    const { bytes, head } = read
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
    else this.#reader.awaitBody(read, request, this.#host.seconds())
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
      this.#reader.putBack(bytes.length > end ? [bytes.subarray(end), ...arrived] : arrived)
      if (reply !== undefined && this.#sendReply(reply, request, startedMs)) return
      request.admission.withdraw()
      request.finish('forwarded')
      this.#reader.take()
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
      this.#readRequests()
      this.#passEnd()
      if (isPaused && this.#virtual.hasRoom) this.#socket.resume()
    }
  }

  /** Returns false if the token of the request is no longer valid. */
  #sendReply(reply: HotReply, { head, admission, finish }: HotRequest, startedMs: number): boolean {
    let written: WrittenReply | undefined
    const isSent = admission.reply(() => {
      this.#requests++
      // It was opened to limit the time until the first request.
      if (this.#requests === 1) this.#virtual.close()
      const isLast = this.#isLastReply(head)
      const { status, contentType, recall, body } = reply
      const form = { status, contentType, replyHeaders: admission.replyHeaders, date: this.#host.date(), isLast }
      const recallLine = recall === undefined ? '' : `x-annal-recall: ${recall}\r\n`
      written = this.#host.heads.reply(form, body, admission.headerLines + recallLine)
      const sent = (): void => {
        admission.release()
        finish('answered')
      }
      if (!isLast) {
        this.#writer.write(written.bytes, sent)
        return
      }
      this.#state = 'closing'
      this.#reader.take()
      this.#virtual.close()
      this.#socket.end(written.bytes, sent)
      // Also if the client does not end its side.
      this.#socket.destroySoon()
    })
    if (!isSent || written === undefined) return false
    const { route, database } = admission
    const seconds = (performance.now() - startedMs) / 1_000
    const facts = { route, database, requestId: written.requestId, status: reply.status, seconds }
    this.#host.parts()?.observer.answered(this.#requestHead(head), facts)
    return true
  }

  #isLastReply(head: ParsedHead): boolean {
    if (head.isLast || (this.#hasEnded && !this.#reader.hasPending) || this.#requests >= requestsPerSocketMax)
      return true
    if (!this.#isNew || this.#reader.hasPending) return false
    this.#isNew = false
    this.#moves = this.#host.moveAway()
    return this.#moves
  }

  #forwardRequest(bytes: Buffer, head: ParsedHead): void {
    this.#requests++
    this.#virtual.open()
    const end = head.headBytes + head.bodyBytes
    this.#state = bytes.length > end || head.isLast ? 'tunnel' : 'forwarding'
    this.#isServed = false
    this.#bytesLeft = Math.max(0, end - bytes.length)
    this.#virtual.forward(bytes)
  }

  /** Ends the connection after the replies to everything that the client has sent. */
  #passEnd(): void {
    if (!this.#hasEnded) return
    if (this.#state === 'local' && !this.#reader.isEmpty) this.#tunnelPending()
    if (this.#state === 'local') this.#socket.end()
    // Its reply follows, and the end of the connection after it.
    else if (this.#state === 'answering') return
    else {
      // The main thread sends the rest, and notices if the client has left.
      if (this.#state === 'forwarding') this.#state = 'tunnel'
      this.#virtual.end()
    }
  }

  #tunnelPending(): void {
    const { chunks, request } = this.#reader.take()
    request?.admission.withdraw()
    request?.finish('forwarded')
    this.#requests++
    this.#state = 'tunnel'
    this.#virtual.open()
    for (const chunk of chunks) this.#virtual.forward(chunk)
  }

  #continueIfServed(): void {
    if (!this.#isServed || this.#bytesLeft > 0) return
    this.#state = 'local'
    this.#activeSecond = this.#host.seconds()
    this.#virtualSecond = this.#activeSecond
    if (this.#hasEnded) this.#socket.end()
  }
}
