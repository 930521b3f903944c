// Follows the changes of a database across broken connections and restarts of the server, and keeps places in cursors.
import type { Change, ChangesRequest, Cursor, CursorPlace } from './change-info.ts'
import { AnnalError } from './errors.ts'
import type { CallOptions, ReadOptions, Transport, WriteOptions } from './transport.ts'

const pauseFirstMs = 100
const pauseMaxMs = 5_000
/** A call has a time limit, the longest that timers have: 24 days. After it, the feed resumes like after a broken connection. */
const streamMs = 2 ** 31 - 1

/** Yields changes, and resumes after the last one when the connection breaks. */
export async function* followChanges(
  transport: Transport,
  request: ChangesRequest,
  { signal }: Pick<CallOptions, 'signal'>,
): AsyncGenerator<Change> {
  let place: Pick<ChangesRequest, 'from' | 'cursor'> = request
  let hasBegun = false
  for (let pauseMs = pauseFirstMs; !signal?.aborted; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    try {
      const input = { ...request, from: place.from, cursor: place.cursor, signal }
      for await (const { changes, lsn } of await transport.call('changes', input, { signal, timeoutMs: streamMs })) {
        hasBegun = true
        pauseMs = pauseFirstMs
        for (const change of changes) {
          yield change
          place = { from: change.lsn + 1 }
        }
        place = { from: lsn + 1 }
      }
    } catch (error) {
      if (signal?.aborted) return
      const isPassing = error instanceof AnnalError && error.retryable
      // An address that never answered is an error; one that did is away.
      if (!isPassing || !hasBegun) throw error
    }
    await pause(pauseMs, signal)
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

/** Durable places of consumers of the change feed. */
export class Cursors {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists the cursors.
   *
   * @example
   * ```ts
   * for (const { name, lsn } of await client.cursors.list()) console.log(name, lsn)
   * ```
   */
  list(options?: ReadOptions): Promise<readonly Cursor[]> {
    return this.#transport.call('listCursors', undefined, options)
  }

  /**
   * Acknowledges every change up to an LSN, and creates the cursor if it is new. A lower LSN than before changes nothing.
   *
   * @example
   * ```ts
   * for await (const change of client.changes({ cursor: 'cache', from: 1 })) {
   *   await client.cursors.acknowledge('cache', change.lsn)
   * }
   * ```
   */
  acknowledge(name: string, lsn: number, options?: CallOptions): Promise<CursorPlace> {
    return this.#transport.call('acknowledge', { cursor: name, lsn }, options)
  }

  /**
   * Deletes a cursor. Fails with `feed_cursor_not_found`.
   *
   * @example
   * ```ts
   * await client.cursors.delete('cache')
   * ```
   */
  async delete(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteCursor', { cursor: name }, options)
  }
}
