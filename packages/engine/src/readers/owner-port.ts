// The reader's end of its port: receives news in the turn of a search or from the event loop, always in order, and matches replies with
// calls.
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { EngineError } from '../errors.ts'
import type { OwnerCall, OwnerMessage, ReaderMessage } from '../sharing/messages.ts'

type News = Exclude<OwnerMessage, { readonly kind: 'reply' | 'refusal' }>

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: EngineError) => void
}

export interface PortOwner {
  take(news: News): void
  /** Nothing follows: the engine is closed, or its thread has exited. */
  closed(error: EngineError): void
}

export class OwnerPort {
  readonly #port: MessagePort
  readonly #owner: PortOwner
  readonly #waiting = new Map<number, Waiting>()
  #lastCall = 0
  #isClosed = false

  constructor(port: MessagePort, owner: PortOwner) {
    this.#port = port
    this.#owner = owner
    port.on('message', (message: OwnerMessage) => this.#take(message))
    port.on('close', () => this.close())
  }

  /** False if the thread of the owner ended before this object existed: then no event follows. Call it before the first call. */
  get isOpen(): boolean {
    // The listener of messages keeps the event loop alive, unless the port is closed.
    return !this.#isClosed && this.#port.hasRef()
  }

  post(message: ReaderMessage): void {
    this.#port.postMessage(message)
  }

  /** Takes what has arrived, without the event loop. */
  receive(): void {
    for (;;) {
      const received: { readonly message: OwnerMessage } | undefined = receiveMessageOnPort(this.#port)
      if (received === undefined) return
      this.#take(received.message)
    }
  }

  /** Rejects with the error of the owner, or with `closed`. The event loop stays alive until then. */
  call(call: OwnerCall): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(engineClosed())
    const id = ++this.#lastCall
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    this.#port.ref()
    this.post({ kind: 'call', id, call })
    return promise
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#port.close()
    const error = engineClosed()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    this.#owner.closed(error)
  }

  #take(message: OwnerMessage): void {
    if (message.kind === 'reply') this.#settle(message.id)?.resolve(message.value)
    else if (message.kind === 'refusal') {
      const { code, message: text, details } = message.error
      this.#settle(message.id)?.reject(new EngineError(code, text, details))
    } else {
      // From now on the port keeps the thread alive only while a call waits.
      if (message.kind === 'welcome') this.#port.unref()
      this.#owner.take(message)
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#port.unref()
    return waiting
  }
}

function engineClosed(): EngineError {
  return new EngineError('closed', 'the engine is closed')
}
