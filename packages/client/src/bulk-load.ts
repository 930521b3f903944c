// Loads records from a stream in batches, several of them concurrently. It reads no more than it can send: memory holds `concurrency +
// 1` batches, however long the source is.
import { AnnalError, annalError } from './errors.ts'

/** How a load sends its batches. */
export interface LoadOptions {
  /** Records per call; default 500. */
  readonly batchSize?: number | undefined
  /** Concurrent calls; default 2. With 1, an id that occurs twice keeps its last record. */
  readonly concurrency?: number | undefined
  /** Called after every batch. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
  /** Number of source records before these, for the positions in error messages; default 0. */
  readonly recordsBefore?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The time limit of one batch, including retries. */
  readonly timeoutMs?: number | undefined
  /**
   * The request key of the load, as `idempotencyKey` of a write: the same source with the same `batchSize` can be loaded again. Each batch
   * has its own key, made of this one and its number. By default, the client chooses a key for each batch.
   */
  readonly idempotencyKey?: string | undefined
  /** Who acts, as `actor` of a write. */
  readonly actor?: string | undefined
}

/** What a load has stored so far. */
export interface LoadProgress {
  /** Number of stored records. */
  readonly stored: number
  readonly batches: number
  /** Records from the beginning of the source that are all stored, without gaps: where a later load can continue. */
  readonly through: number
}

type Source<T> = Iterable<T> | AsyncIterable<T>
type Send<T, R> = (batch: readonly T[], key: string | undefined) => Promise<R>

/** The first batch has the key itself, so that a list that fits into one call is one write with that key. */
function keyOfBatch(key: string | undefined, number: number): string | undefined {
  return key === undefined || number === 0 ? key : `${key}.${number}`
}

/**
 * Fails with the first failure, which names its records, after the running batches have ended. What they stored stays, and because
 * records are replaced by id, the same source can be loaded again.
 */
export async function bulkLoad<T>(
  source: Source<T>,
  send: Send<T, unknown>,
  { batchSize = 500, concurrency = 2, recordsBefore = 0, onProgress, signal, idempotencyKey }: LoadOptions,
): Promise<LoadProgress> {
  // Batches by the number of their first record; the oldest is first.
  const underWay = new Map<number, Promise<void>>()
  let progress: LoadProgress = { stored: 0, batches: 0, through: 0 }
  let taken = 0
  let begun = 0
  let failure: { readonly error: unknown; readonly first: number } | undefined
  const begin = (batch: readonly T[]) => {
    const first = taken
    taken += batch.length
    const sending = send(batch, keyOfBatch(idempotencyKey, begun++))
      .then(
        () => {
          underWay.delete(first)
          const [oldest = taken] = underWay.keys()
          const through = Math.min(oldest, failure?.first ?? taken)
          progress = { stored: progress.stored + batch.length, batches: progress.batches + 1, through }
          onProgress?.(progress)
        },
        (error: unknown) => {
          underWay.delete(first)
          failure ??= { error: located(error, recordsBefore + first, batch.length), first }
        },
      )
      .catch((error: unknown) => {
        failure ??= { error, first: taken }
      })
    underWay.set(first, sending)
  }
  try {
    for await (const batch of batchesOf(source, batchSize)) {
      while (underWay.size >= concurrency) await Promise.race(underWay.values())
      if (failure !== undefined || signal?.aborted) break
      begin(batch)
    }
  } finally {
    // Also if the source fails, because the running batches may still be stored.
    await Promise.all(underWay.values())
  }
  if (failure !== undefined) throw failure.error
  if (signal?.aborted) {
    throw new AnnalError('aborted', `the caller aborted the load after ${progress.stored} records`, {
      cause: signal.reason,
    })
  }
  return progress
}

/** The number of records per call; the default limit of a server. */
const recordsPerCallMax = 1_000

/**
 * Stores a list in as many calls as necessary, one after another, so that an id that occurs twice keeps its last record. A list that
 * fits into one call is stored atomically, and its failures are passed on unchanged. Resolves to the result of the last call, with the
 * number of records in all of them.
 */
export async function storeAll<T, R>(
  records: readonly T[] | AsyncIterable<T>,
  send: Send<T, R>,
  { signal, idempotencyKey }: Pick<LoadOptions, 'signal' | 'idempotencyKey'> = {},
): Promise<R & { readonly upserted: number }> {
  if (!isAsyncIterable(records) && !(records?.length > recordsPerCallMax)) {
    return { ...(await send(records, idempotencyKey)), upserted: records.length }
  }
  let last: R | undefined
  const sendNext = async (batch: readonly T[], key: string | undefined) => {
    last = await send(batch, key)
  }
  const options = { batchSize: recordsPerCallMax, concurrency: 1, signal, idempotencyKey }
  const { stored } = await bulkLoad(records, sendNext, options)
  // A source without records is one call, as an empty list is.
  return { ...(last ?? (await send([], idempotencyKey))), upserted: stored }
}

function isAsyncIterable<T>(records: readonly T[] | AsyncIterable<T>): records is AsyncIterable<T> {
  return typeof records === 'object' && records !== null && Symbol.asyncIterator in records
}

/** The failure and its position in the source: an error names the record by its position in the batch. */
function located(error: unknown, first: number, length: number): unknown {
  if (!(error instanceof AnnalError)) return error
  const place = /^(?:objects|records|vectors)\[(\d+)\]/.exec(error.field ?? '')?.[1]
  const where =
    place === undefined ? `records ${first + 1} to ${first + length}` : `record ${first + Number(place) + 1}`
  return annalError(error.code, `${where} of the source: ${error.message}`, { ...error, cause: error })
}

async function* batchesOf<T>(source: Source<T>, size: number): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const record of source) {
    batch.push(record)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
