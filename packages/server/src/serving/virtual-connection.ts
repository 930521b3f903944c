// The virtual connection over which a serving thread forwards the bytes of one client to the main thread, where a VirtualSocket is its other
// end. It is opened when it is needed and closed when the thread answers the client itself. Windows in both directions limit what waits.
import type { Socket } from 'node:net'
import { type FrameSender, ownBytes } from './frame-sender.ts'
import { frameKind, pieceBytes, windowBytes } from './messages.ts'

export interface VirtualHost {
  readonly sender: FrameSender
  /** A number for a virtual connection, whose frames the caller receives from now on. */
  connect(): number
  /** The virtual connection sends nothing that matters. */
  forget(virtual: number): void
}

export class VirtualConnection {
  readonly #socket: Socket
  readonly #host: VirtualHost
  /** 0: it is not open. */
  #number = 0
  /** Bytes that may be sent to the main thread. */
  #room = windowBytes
  #uncredited = 0

  constructor(socket: Socket, host: VirtualHost) {
    this.#socket = socket
    this.#host = host
  }

  get isOpen(): boolean {
    return this.#number !== 0
  }

  /** Whether the client may send more. */
  get hasRoom(): boolean {
    return this.#room > 0
  }

  /** Has no effect if it is open. */
  open(): void {
    if (this.isOpen) return
    this.#number = this.#host.connect()
    this.#room = windowBytes
    this.#uncredited = 0
    const { remoteAddress, remotePort, remoteFamily, localAddress, localPort } = this.#socket
    const peer = { address: remoteAddress, port: remotePort, family: remoteFamily, localAddress, localPort }
    this.#host.sender.send([frameKind.open, this.#number, peer])
  }

  /** Has no effect if it is not open. */
  close(): void {
    if (!this.isOpen) return
    this.#host.sender.send([frameKind.destroy, this.#number])
    this.receiveDestroy()
  }

  /** Forwards bytes of the client, and pauses it while the window is full. */
  forward(chunk: Buffer): void {
    // The main thread has closed its end: what the client still sends has no receiver.
    if (!this.isOpen) return
    this.#room -= chunk.length
    this.#host.sender.send([frameKind.data, this.#number, ownBytes(chunk)])
    if (!this.hasRoom) this.#socket.pause()
  }

  /** The client sends no more. */
  end(): void {
    if (this.isOpen) this.#host.sender.send([frameKind.end, this.#number])
  }

  /** The client has received this many bytes of the main thread. */
  credit(bytes: number): void {
    this.#uncredited += bytes
    if (this.#uncredited < pieceBytes || !this.isOpen) return
    this.#host.sender.send([frameKind.credit, this.#number, this.#uncredited])
    this.#uncredited = 0
  }

  /** The main thread has processed this many bytes of the client. */
  receiveCredit(bytes: number): void {
    this.#room += bytes
    if (this.hasRoom && this.#socket.isPaused()) this.#socket.resume()
  }

  /** The main thread has closed it. */
  receiveDestroy(): void {
    this.#host.forget(this.#number)
    this.#number = 0
  }
}
