// A connection of a serving thread as the HTTP server of the main thread sees it: a socket whose bytes travel over a port. It has what the
// server and the routes use of a socket: addresses, timeouts, counts of bytes, and an end that waits for the bytes before it.
import { Duplex } from 'node:stream'
import type { FrameSender } from './frame-sender.ts'
import { frameKind, type Peer, pieceBytes, windowBytes } from './messages.ts'

type Done = (error?: Error | null) => void

const highWaterMark = 65_536

export class VirtualSocket extends Duplex {
  readonly connecting = false
  readonly encrypted: boolean
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly remoteFamily: string | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  /** Bytes that arrived. */
  bytesRead = 0
  bytesWritten = 0
  readonly #connection: number
  readonly #sender: FrameSender
  readonly #closed: (socket: VirtualSocket) => void
  /** Bytes that may be sent. */
  #room = windowBytes
  #parts: Uint8Array[] = []
  #written: Done | undefined
  /** Bytes that arrived and for which no credit was given yet. */
  #uncredited = 0
  #isClosedThere = false
  #timeoutMs = 0
  #activeMs = 0

  constructor(
    connection: number,
    { address, port, family, localAddress, localPort }: Peer,
    {
      sender,
      encrypted,
      closed,
    }: {
      readonly sender: FrameSender
      readonly encrypted: boolean
      readonly closed: (socket: VirtualSocket) => void
    },
  ) {
    super({ allowHalfOpen: true, readableHighWaterMark: highWaterMark, writableHighWaterMark: highWaterMark })
    this.#connection = connection
    this.#sender = sender
    this.#closed = closed
    this.encrypted = encrypted
    this.remoteAddress = address
    this.remotePort = port
    this.remoteFamily = family
    this.localAddress = localAddress
    this.localPort = localPort
  }

  /** Bytes of the client. */
  receive(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.destroyed || this.readableEnded) return
    this.#noteActivity()
    this.bytesRead += bytes.length
    this.#uncredited += bytes.length
    if (this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))) this.#giveCredit()
  }

  /** The client sends no more. */
  receiveEnd(): void {
    if (!this.destroyed) this.push(null)
  }

  /** The client has received this many bytes. */
  receiveCredit(bytes: number): void {
    this.#noteActivity()
    this.#room += bytes
    this.#sendParts()
  }

  /** The connection of the client is closed. */
  receiveDestroy(): void {
    this.#isClosedThere = true
    this.destroy()
  }

  /** A reply is complete. */
  sendServed(): void {
    if (this.writable) this.#sender.send([frameKind.served, this.#connection])
  }

  /** Emits `timeout` if nothing was sent or received for the time that was set. */
  checkTimeout(nowMs: number): void {
    if (this.#timeoutMs === 0 || nowMs - this.#activeMs < this.#timeoutMs) return
    this.#activeMs = nowMs
    this.emit('timeout')
  }

  override _read(): void {
    this.#giveCredit()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#write([chunk], done)
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], done: Done): void {
    this.#write(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: Done): void {
    this.#sender.send([frameKind.end, this.#connection])
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    if (!this.#isClosedThere) this.#sender.send([frameKind.destroy, this.#connection])
    this.#timeoutMs = 0
    this.#parts = []
    this.#written = undefined
    this.#closed(this)
    done(error)
  }

  /** Closes the connection when everything written before has been sent. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#timeoutMs = ms
    this.#activeMs = performance.now()
    if (listener !== undefined) {
      if (ms === 0) this.off('timeout', listener)
      else this.once('timeout', listener)
    }
    return this
  }

  get timeout(): number | undefined {
    return this.#timeoutMs === 0 ? undefined : this.#timeoutMs
  }

  address(): object {
    return { address: this.localAddress, port: this.localPort, family: this.remoteFamily }
  }

  /** The socket of the serving thread has these options. */
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  #write(parts: Uint8Array[], done: Done): void {
    this.#noteActivity()
    this.#parts = parts
    this.#written = done
    this.#sendParts()
  }

  /** Sends what fits into the window. The rest waits for credit. */
  #sendParts(): void {
    while (this.#parts.length > 0 && this.#room > 0) {
      // Copied, because the caller may keep its buffers: pages of the dashboard are sent again and again.
      const bytes = takeBytes(this.#parts, Math.min(pieceBytes, this.#room))
      this.#room -= bytes.length
      this.bytesWritten += bytes.length
      this.#sender.send([frameKind.data, this.#connection, bytes])
    }
    if (this.#parts.length > 0) return
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  #giveCredit(): void {
    if (this.#uncredited < pieceBytes || this.destroyed) return
    this.#sender.send([frameKind.credit, this.#connection, this.#uncredited])
    this.#uncredited = 0
  }

  #noteActivity(): void {
    if (this.#timeoutMs !== 0) this.#activeMs = performance.now()
  }
}

/** Removes at most this many bytes from the beginning of the parts. Empty parts are removed as well. */
function takeBytes(parts: Uint8Array[], bytesMax: number): Uint8Array<ArrayBuffer> {
  const size = Math.min(
    bytesMax,
    parts.reduce((sum, { length }) => sum + length, 0),
  )
  const bytes = new Uint8Array(size)
  let filled = 0
  while (parts.length > 0 && (filled < size || parts[0]!.length === 0)) {
    const part = parts[0]!
    const length = Math.min(part.length, size - filled)
    bytes.set(length === part.length ? part : part.subarray(0, length), filled)
    filled += length
    if (length === part.length) parts.shift()
    else parts[0] = part.subarray(length)
  }
  return bytes
}
