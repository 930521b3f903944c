// A body that its route reads while it arrives. A small body is read at once. Of a larger one, only one entry of its list is in memory at
// a time. This file knows bytes, not their meaning.
import type { Readable } from 'node:stream'
import { TimeSlice } from '@annal/wal'
import type { FastifyRequest } from 'fastify'
import type { BodyRoom } from '../access/body-room.ts'
import { bodyBytesAtOnceMax } from '../limits.ts'
import { dropRest, freeChunk } from './chunks.ts'
import { declaredBytes, tooLarge, wrongLength } from './whole-body.ts'

export interface ArrivingBodyOptions {
  readonly format: 'json' | 'msgpack'
  readonly bytesMax: number
  /** Content-Length; undefined without this header. */
  readonly declared: number | undefined
  /** Grows with the bytes that arrive. */
  readonly room?: BodyRoom | undefined
  /** Called with all bytes, in their order. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined
}

/** Is called with the parts of a JSON body. */
export interface BodyWatcher {
  whole(body: unknown): void
  /** `position` is the index of the entry in the list of the body. */
  entry(value: unknown, position: number): void
}

export class ArrivingBody {
  readonly format: 'json' | 'msgpack'
  /** Maximum number of bytes of this body. */
  readonly bytesMax: number
  /** Is called with JSON before its values are used: with a small body as a whole, with each entry of a large one. */
  watcher: BodyWatcher | undefined
  readonly #payload: Readable
  readonly #declared: number | undefined
  readonly #room: BodyRoom | undefined
  readonly #onBytes: ArrivingBodyOptions['onBytes']
  readonly #chunks: AsyncIterator<Buffer>
  #received = 0
  #ended = false
  #begun: Buffer[] = []

  constructor(payload: Readable, { format, bytesMax, declared, room, onBytes }: ArrivingBodyOptions) {
    this.format = format
    this.bytesMax = Math.min(bytesMax, declared ?? bytesMax)
    this.#payload = payload
    this.#declared = declared
    this.#room = room
    this.#onBytes = onBytes
    // Otherwise rejecting a body that has not arrived completely would close the connection before the reply.
    this.#chunks = payload.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  }

  /** Bytes of the whole body, as far as they are known before it has arrived. */
  get expectedBytes(): number | undefined {
    return this.#declared
  }

  /** Number of bytes received so far. */
  get received(): number {
    return this.#received
  }

  /** Returns a small body; undefined for a larger one, which `chunks` returns. Throws body_too_large, overloaded, or bad_request. */
  async whole(): Promise<Buffer | undefined> {
    if (this.#declared !== undefined && this.#declared > bodyBytesAtOnceMax) return undefined
    while (this.#received <= bodyBytesAtOnceMax) {
      const chunk = await this.#next()
      if (chunk === undefined) {
        const [first = Buffer.alloc(0)] = this.#begun
        return this.#begun.length <= 1 ? first : Buffer.concat(this.#begun, this.#received)
      }
      this.#begun.push(chunk)
    }
    return undefined
  }

  /**
   * Returns the body from its beginning, after `whole` returned undefined. A chunk is valid until the next one is requested. Between
   * chunks it yields to other work when its time slice is over: one turn of the event loop can read 32 chunks, and the processing of all
   * of them would block the others.
   */
  async *chunks(): AsyncGenerator<Buffer, void, void> {
    const slice = new TimeSlice()
    const begun = this.#begun.reverse()
    this.#begun = []
    for (;;) {
      if (begun.length === 0) await slice.renewIfOver()
      const chunk = begun.pop() ?? (await this.#next())
      if (chunk === undefined) return
      yield chunk
      freeChunk(this.#payload, chunk)
    }
  }

  /** Receives the whole body without keeping it. Throws body_too_large, overloaded, or bad_request. */
  async skip(): Promise<void> {
    for await (const _chunk of this.chunks()) {
      // Its bytes were counted, and passed to `onBytes`.
    }
  }

  /** Receives and drops the rest of the body, so that the client can read the reply. */
  discard(): void {
    if (this.#ended) return
    this.#begun = []
    // After a broken connection there is nothing left to drop.
    this.#drain().catch(() => undefined)
  }

  async #drain(): Promise<void> {
    await this.#chunks.return?.()
    dropRest(this.#payload)
  }

  async #next(): Promise<Buffer | undefined> {
    const { done, value } = await this.#chunks.next()
    if (done === true) {
      this.#ended = true
      if (this.#declared === undefined || this.#declared === this.#received) return undefined
      throw wrongLength()
    }
    this.#received += value.length
    if (this.#received > this.bytesMax) throw tooLarge(this.bytesMax)
    this.#room?.growTo(this.#received)
    this.#onBytes?.(value)
    return value
  }
}

/** Throws ServerError body_too_large if Content-Length exceeds the limit of the route. */
export function arrivingBody(request: FastifyRequest, payload: Readable, format: 'json' | 'msgpack'): ArrivingBody {
  const { bodyLimit } = request.routeOptions
  const declared = declaredBytes(request)
  if (declared !== undefined && declared > bodyLimit) throw tooLarge(bodyLimit)
  const { bodyRoom: room, requestKey } = request
  const onBytes = requestKey && ((bytes: Uint8Array) => requestKey.addBody(bytes))
  return new ArrivingBody(payload, { format, bytesMax: bodyLimit, declared, room, onBytes })
}
