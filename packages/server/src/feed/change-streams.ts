// The open streams of the change feed: how many there may be, and when they end.
import type { ChangeBatch, ChangeStream } from '@annal/engine'
import { TimeSlice } from '@annal/wal'
import { ServerError } from '../errors.ts'
import { feedStreamsMax, heartbeatMs } from '../limits.ts'
import { batchEvents, heartbeat, refusedEvent } from './change-events.ts'

/** What a stream needs of its request. */
export interface StreamCaller {
  /** Whether the token still gives access. */
  isAllowed(): boolean
  /** The body of the event that ends the stream after an error. */
  describe(error: Error): unknown
}

interface OpenStream {
  readonly caller: StreamCaller
  readonly end: AbortController
}

/** A stream that has begun. */
export interface BegunStream {
  readonly bytes: AsyncGenerator<Buffer>
  /** Call it when nobody reads the bytes any more. */
  end(): void
}

export class ChangeStreams {
  readonly #open = new Set<OpenStream>()
  #isClosed = false

  get count(): number {
    return this.#open.size
  }

  /** Begins a stream. Throws too_many_streams, and what the feed throws before its first batch. */
  async begin(caller: StreamCaller, follow: (signal: AbortSignal) => ChangeStream): Promise<BegunStream> {
    if (this.#isClosed) throw new ServerError('stopping', 'the server is stopping')
    if (this.#open.size >= feedStreamsMax) {
      const message = `there are already ${feedStreamsMax} streams of changes, a tenth of all connections`
      throw new ServerError('too_many_streams', message, { limit: feedStreamsMax })
    }
    const stream = { caller, end: new AbortController() }
    this.#open.add(stream)
    try {
      const batches = follow(stream.end.signal).batches()[Symbol.asyncIterator]()
      // Comes at once: a place that is not held is refused before the reply begins.
      const first = await batches.next()
      return { bytes: this.#bytes(stream, batches, first), end: () => stream.end.abort() }
    } catch (error) {
      this.#open.delete(stream)
      throw error
    }
  }

  /** Ends the streams of tokens that no longer give access. */
  recheck(): void {
    for (const { caller, end } of this.#open) if (!caller.isAllowed()) end.abort()
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true
    for (const { end } of this.#open) end.abort()
  }

  async *#bytes(
    stream: OpenStream,
    batches: AsyncIterator<ChangeBatch>,
    first: IteratorResult<ChangeBatch>,
  ): AsyncGenerator<Buffer> {
    try {
      let lsn = 0
      const slice = new TimeSlice()
      for (let next = first; !next.done; next = yield* this.#next(batches, () => lsn)) {
        lsn = next.value.lsn
        for (const events of batchEvents(next.value)) {
          yield events
          // A client whose system receives everything would otherwise get all of it in one turn.
          await slice.renewIfOver()
        }
      }
    } catch (error) {
      yield refusedEvent(stream.caller.describe(error as Error))
    } finally {
      this.#open.delete(stream)
      stream.end.abort()
      await batches.return?.()
    }
  }

  /** Yields heartbeats until the next batch is there. */
  async *#next(
    batches: AsyncIterator<ChangeBatch>,
    lsn: () => number,
  ): AsyncGenerator<Buffer, IteratorResult<ChangeBatch>> {
    const next = batches.next()
    for (;;) {
      const result = await within(next, heartbeatMs)
      if (result !== undefined) return result
      yield heartbeat(lsn())
    }
  }
}

/** The value of a promise, or undefined after a time. Runs for each batch of each stream, so it makes no error to end the wait. */
function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, undefined)
    timer.unref()
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
