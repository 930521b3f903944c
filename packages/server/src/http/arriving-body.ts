// A body that its route reads while it arrives. Small ones are taken whole; of larger ones no more is held than one entry of
// their list. It knows bytes, not what they mean.
import type { Readable } from 'node:stream'
import { TimeSlice } from '@annal/wal'
import type { FastifyRequest } from 'fastify'
import type { BodyRoom } from './body-room.ts'
import { bodyBytesAtOnceMax } from './limits.ts'
import { declaredBytes, tooLarge, wrongLength } from './whole-body.ts'

export interface ArrivingBodyOptions {
  readonly format: 'json' | 'msgpack'
  readonly bytesMax: number
  /** What Content-Length says. */
  readonly declared: number | undefined
  /** Grows with what arrives. */
  readonly room?: BodyRoom | undefined
}

/** Sees what a JSON body holds. */
export interface BodyWatcher {
  whole(body: unknown): void
  /** `position` is the entry's place in the list of the body. */
  entry(value: unknown, position: number): void
}

export class ArrivingBody {
  readonly format: 'json' | 'msgpack'
  /** At most so many bytes come. */
  readonly bytesMax: number
  /** Sees JSON before its values are taken: the whole of a small body, the entries of a large one. */
  watcher: BodyWatcher | undefined
  readonly #payload: Readable
  readonly #declared: number | undefined
  readonly #room: BodyRoom | undefined
  readonly #chunks: AsyncIterator<Buffer>
  #received = 0
  #ended = false
  #begun: Buffer[] = []

  constructor(payload: Readable, { format, bytesMax, declared, room }: ArrivingBodyOptions) {
    this.format = format
    this.bytesMax = Math.min(bytesMax, declared ?? bytesMax)
    this.#payload = payload
    this.#declared = declared
    this.#room = room
    // Otherwise refusing a body halfway would close the connection before the reply.
    this.#chunks = payload.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  }

  /** All of it where it is small; else undefined, and it comes in chunks. Throws ServerError body_too_large, overloaded, or bad_request. */
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
   * What `whole` left, from the beginning. Yields to others between chunks when a slice is over: otherwise one turn of the event loop
   * reads as many as 32 chunks, and the reader's work on each of them adds up.
   */
  async *chunks(): AsyncGenerator<Buffer, void, void> {
    const slice = new TimeSlice()
    const begun = this.#begun
    this.#begun = []
    yield* begun
    for (;;) {
      await slice.renewIfOver()
      const chunk = await this.#next()
      if (chunk === undefined) return
      yield chunk
    }
  }

  /** The rest is received and discarded, so that the client can read the reply. */
  discard(): void {
    if (this.#ended) return
    this.#begun = []
    // A connection that broke has nothing more to be thrown away.
    this.#drain().catch(() => undefined)
  }

  async #drain(): Promise<void> {
    await this.#chunks.return?.()
    // With a listener: a stream that was iterated does not flow without one.
    this.#payload.on('data', () => undefined)
    this.#payload.resume()
  }

  async #next(): Promise<Buffer | undefined> {
    const { done, value } = await this.#chunks.next()
    if (done === true) {
      this.#ended = true
      if (this.#declared === undefined || this.#declared === this.#received) return undefined
      throw wrongLength()
    }
    this.#received += value.length
    if (this.#received > this.bytesMax) throw tooLarge()
    this.#room?.growTo(this.#received)
    return value
  }
}

/** Throws ServerError body_too_large where the head of the request says so already. */
export function arrivingBody(request: FastifyRequest, payload: Readable, format: 'json' | 'msgpack'): ArrivingBody {
  const { bodyLimit } = request.routeOptions
  const declared = declaredBytes(request)
  if (declared !== undefined && declared > bodyLimit) throw tooLarge()
  return new ArrivingBody(payload, { format, bytesMax: bodyLimit, declared, room: request.bodyRoom })
}
