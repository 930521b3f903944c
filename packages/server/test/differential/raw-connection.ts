// A client that sends bytes as they are, valid HTTP or not, and returns every byte that comes back.
import { once } from 'node:events'
import net from 'node:net'

/** Bytes that are sent together, and what comes back for them. */
export interface Turn {
  /** Written one after another, in separate turns of the event loop. */
  readonly parts: readonly Buffer[]
  /** Methods of the requests in the parts, because a reply to HEAD has no body. */
  readonly methods: readonly string[]
}

/** A connection: each turn is sent after the replies to the one before. */
export interface Exchange {
  readonly turns: readonly Turn[]
  /** The last request is incomplete: the client closes its side at once. */
  readonly isCut: boolean
}

export interface Exchanged {
  readonly bytes: Buffer
  /** The server sent less than a reply to each request, and kept the connection open. */
  readonly isStalled: boolean
}

/**
 * A server that waits for more bytes than a request has would otherwise wait until its own timeout. The seconds are counted one by one: while
 * all processes are stopped, none passes.
 */
const stallSeconds = 30

export async function exchange(port: number, { turns, isCut }: Exchange): Promise<Exchanged> {
  let connection = await Connection.open(port)
  const before: Buffer[] = []
  for (const [i, turn] of turns.entries()) {
    const ends = isCut && i === turns.length - 1
    const length = connection.length
    let isStalled = await connection.send(turn, ends)
    // A server closes connections that were idle for some seconds, which happens if this process was stopped meanwhile. It has done nothing.
    if (i > 0 && connection.isClosed && connection.length === length) {
      before.push(connection.bytes)
      connection = await Connection.open(port)
      isStalled = await connection.send(turn, ends)
    }
    const isLast = i === turns.length - 1
    if (isLast || isStalled) return { bytes: Buffer.concat([...before, connection.destroy()]), isStalled }
    // A server may end a connection with a reply, for example to hand its client to another thread.
    if (connection.isEnding) {
      before.push(connection.destroy())
      connection = await Connection.open(port)
    }
  }
  return { bytes: Buffer.concat([...before, connection.destroy()]), isStalled: false }
}

class Connection {
  readonly #socket: net.Socket
  readonly #received: Buffer[] = []
  readonly #methods: string[] = []
  #onChange: () => void = () => undefined
  isClosed = false
  length = 0

  constructor(port: number) {
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.#socket.on('data', (bytes) => {
      this.#received.push(bytes)
      this.length += bytes.length
      this.#onChange()
    })
    const close = (): void => {
      this.isClosed = true
      this.#onChange()
    }
    // A server may reset a connection whose request it rejects; what it sent before counts.
    this.#socket.on('error', close)
    this.#socket.on('end', close)
    this.#socket.on('close', close)
  }

  static async open(port: number): Promise<Connection> {
    const connection = new Connection(port)
    const socket = connection.#socket
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    return connection
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#received)
  }

  /** Whether the last reply says that no request may follow it, or the server has closed the connection. */
  get isEnding(): boolean {
    const { head = '' } = splitReplies(this.bytes, this.#methods).at(-1) ?? {}
    return this.isClosed || /\r\nconnection: close\r\n/i.test(head)
  }

  /** Resolves when every reply is complete or the connection is closed, or to true if neither happens. */
  async send({ parts, methods }: Turn, ends: boolean): Promise<boolean> {
    this.#methods.push(...methods)
    for (const [k, part] of parts.entries()) {
      if (k > 0) await new Promise(setImmediate)
      if (!this.isClosed) this.#socket.write(part)
    }
    if (ends) this.#socket.end()
    const isDone = (): boolean => this.isClosed || repliesIn(this.bytes, this.#methods) >= this.#methods.length
    return await new Promise<boolean>((resolve) => {
      let seconds = 0
      const end = (isStalled: boolean): void => {
        clearInterval(timer)
        resolve(isStalled)
      }
      const timer = setInterval(() => {
        if (++seconds === stallSeconds) end(true)
      }, 1_000)
      this.#onChange = () => {
        if (isDone()) end(false)
      }
      this.#onChange()
    })
  }

  /** Closes the connection, and returns what was received. */
  destroy(): Buffer {
    this.#onChange = () => undefined
    this.#socket.destroy()
    return this.bytes
  }
}

/** Number of complete replies to requests of these methods; informational ones do not count. */
export function repliesIn(bytes: Buffer, methods: readonly string[]): number {
  return splitReplies(bytes, methods).filter(({ status, isComplete }) => isComplete && status >= 200).length
}

export interface RawReply {
  readonly status: number
  /** With the empty line. */
  readonly head: string
  /** Without the framing of chunks. */
  readonly body: Buffer
  readonly isComplete: boolean
}

export function splitReplies(bytes: Buffer, methods: readonly string[]): RawReply[] {
  const replies: RawReply[] = []
  let final = 0
  for (let from = 0; from < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', from)
    if (headEnd < 0) {
      replies.push({ status: 0, head: bytes.toString('latin1', from), body: Buffer.alloc(0), isComplete: false })
      break
    }
    const head = bytes.toString('latin1', from, headEnd + 4)
    const status = Number(head.slice(9, 12))
    const hasBody = status >= 200 && status !== 204 && status !== 304 && methods[final] !== 'HEAD'
    const { body, end } = hasBody ? bodyFrom(bytes, headEnd + 4, head) : { body: Buffer.alloc(0), end: headEnd + 4 }
    replies.push({ status, head, body, isComplete: end >= 0 })
    if (end < 0) break
    if (status >= 200) final += 1
    from = end
  }
  return replies
}

function bodyFrom(bytes: Buffer, from: number, head: string): { readonly body: Buffer; readonly end: number } {
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (declared !== undefined) {
    const end = from + Number(declared)
    return { body: bytes.subarray(from, end), end: end <= bytes.length ? end : -1 }
  }
  // The end of the connection is the end of the body, so nothing shows that it is complete.
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { body: bytes.subarray(from), end: -1 }
  const chunks: Buffer[] = []
  for (let position = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', position)
    const length = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', position, lineEnd), 16)
    const next = lineEnd + 2 + length + 2
    if (Number.isNaN(length) || next > bytes.length) return { body: Buffer.concat(chunks), end: -1 }
    chunks.push(bytes.subarray(lineEnd + 2, next - 2))
    position = next
    if (length === 0) return { body: Buffer.concat(chunks), end: position }
  }
}
