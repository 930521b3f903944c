// Writes the replies of a connection to its socket, and waits with the next request while the client does not read them.
import type { Socket } from 'node:net'

const noBytes = Buffer.alloc(0)

export class ReplyWriter {
  readonly #socket: Socket
  /** The system took every reply at once. A socket that encrypts never does. */
  #writesAtOnce: boolean
  /** The next request waits until the client has read its replies. */
  #isDraining = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#writesAtOnce = !('encrypted' in socket)
  }

  /** Calls `sent` when the system has the bytes. A callback of a write costs more than the write of a reply, so mostly there is none. */
  write(bytes: Uint8Array, sent: () => void): void {
    if (!this.#writesAtOnce) {
      this.#socket.write(bytes, sent)
      return
    }
    this.#socket.write(bytes)
    this.#writesAtOnce = this.#socket.writableLength === 0
    if (this.#writesAtOnce) sent()
    else this.#socket.write(noBytes, sent)
  }

  /**
   * Whether replies wait for the client. Then the socket is paused, so that they do not fill memory, and `drained` is called once the client
   * has read them.
   */
  isFull(drained: () => void): boolean {
    if (!this.#socket.writableNeedDrain) return false
    this.#socket.pause()
    if (this.#isDraining) return true
    this.#isDraining = true
    this.#socket.once('drain', () => {
      this.#isDraining = false
      drained()
    })
    return true
  }
}
