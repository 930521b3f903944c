// Sends frames in batches: one message for all frames of a turn of the event loop.
import type { Frame } from './messages.ts'

interface Receiver {
  postMessage(message: readonly Frame[], transfer: readonly ArrayBuffer[]): void
}

export class FrameSender {
  readonly #receiver: Receiver
  #frames: Frame[] = []
  #transfer: ArrayBuffer[] = []

  constructor(receiver: Receiver) {
    this.#receiver = receiver
  }

  /** The bytes of a `data` frame must own their buffer: it is transferred. */
  send(frame: Frame): void {
    if (this.#frames.length === 0) setImmediate(() => this.flush())
    this.#frames.push(frame)
    if (frame[2] instanceof Uint8Array) this.#transfer.push(frame[2].buffer)
  }

  flush(): void {
    if (this.#frames.length === 0) return
    const [frames, transfer] = [this.#frames, this.#transfer]
    this.#frames = []
    this.#transfer = []
    this.#receiver.postMessage(frames, transfer)
  }
}

/** The same bytes in a buffer that can be transferred: their own if they fill it, otherwise a copy. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isWhole = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
  return isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}
