// The body of a request on its way to another server. It is sent while it arrives, at the pace of the receiver, and only a short one is
// kept, so that it can be sent again.
import type { Readable, Writable } from 'node:stream'

/** Bodies up to this size are kept until the other server has replied. */
const keptBytesMax = 65_536

/** Whose turn it is: the client sends its body, or the other server reads what it got, or replies. */
export type Turn = 'client' | 'server'

export interface BodyListener {
  onTurn(turn: Turn): void
  /** The client closed its connection before the body was complete. */
  onAbandoned(): void
}

export class ForwardedBody {
  readonly #source: Readable | undefined
  #kept: Buffer[] | undefined = []
  #bytes = 0
  #isComplete: boolean

  /** A body that arrives, or one that has arrived. */
  constructor(source: Readable | Buffer) {
    this.#isComplete = Buffer.isBuffer(source)
    this.#source = Buffer.isBuffer(source) ? undefined : source
    if (Buffer.isBuffer(source)) this.#kept?.push(source)
  }

  /** Whether `sendTo` may be called once more. */
  get canRepeat(): boolean {
    return this.#kept !== undefined
  }

  /** Sends the body from its beginning, and ends `target` behind it. Returns a function that stops this. */
  sendTo(target: Writable, { onTurn, onAbandoned }: BodyListener): () => void {
    for (const chunk of this.#kept ?? []) target.write(chunk)
    const source = this.#source
    if (this.#isComplete || source === undefined) {
      target.end()
      onTurn('server')
      return () => undefined
    }
    const take = (chunk: Buffer): void => {
      this.#keep(chunk)
      if (target.write(chunk)) return
      source.pause()
      onTurn('server')
    }
    const proceed = (): void => {
      onTurn('client')
      source.resume()
    }
    const end = (): void => {
      this.#isComplete = true
      stop()
      target.end()
      onTurn('server')
    }
    const abandon = (): void => {
      stop()
      onAbandoned()
    }
    const stop = (): void => {
      source.off('data', take).off('end', end).off('error', abandon).off('close', abandon)
      target.off('drain', proceed)
      source.pause()
    }
    source.on('data', take).on('end', end).on('error', abandon).on('close', abandon)
    target.on('drain', proceed)
    proceed()
    return stop
  }

  #keep(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > keptBytesMax) this.#kept = undefined
    else this.#kept?.push(chunk)
  }
}
