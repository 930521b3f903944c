// Loads what comes from a stream, in batches, some of them on their way at one time. Takes no more from the source than it can
// send: memory holds `concurrency + 1` batches, however long the source is.
import { AnnalError } from './errors.ts'

export interface LoadOptions {
  /** Records of one call; default 500. */
  readonly batchSize?: number | undefined
  /** Calls under way at one time; default 2. With 1 an id that comes twice keeps its last record. */
  readonly concurrency?: number | undefined
  /** Called after every batch. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
  /** Records of the source that came before these, for the places that a failure names; default 0. */
  readonly recordsBefore?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The longest one batch may take, its retries included. */
  readonly timeoutMs?: number | undefined
}

export interface LoadProgress {
  /** Records that are stored. */
  readonly stored: number
  readonly batches: number
  /** Records from the beginning of the source that are stored, none of them left out: where a load that ends early can go on. */
  readonly through: number
}

type Source<T> = Iterable<T> | AsyncIterable<T>

/**
 * Fails with the first failure, which names the records concerned, when the batches under way have ended; what they stored
 * stays, and since records are replaced by id the same source can be loaded again.
 */
export async function bulkLoad<T>(
  source: Source<T>,
  send: (batch: readonly T[]) => Promise<unknown>,
  { batchSize = 500, concurrency = 2, recordsBefore = 0, onProgress, signal }: LoadOptions,
): Promise<LoadProgress> {
  // By the number of each one's first record; the oldest is the first.
  const underWay = new Map<number, Promise<void>>()
  let progress: LoadProgress = { stored: 0, batches: 0, through: 0 }
  let taken = 0
  let failure: { readonly error: unknown; readonly first: number } | undefined
  const begin = (batch: readonly T[]) => {
    const first = taken
    taken += batch.length
    const sending = send(batch)
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
    // Also when it is the source that fails: what is under way may still be stored.
    await Promise.all(underWay.values())
  }
  if (failure !== undefined) throw failure.error
  if (signal?.aborted) {
    throw new AnnalError('aborted', `the load was aborted by its caller after ${progress.stored} records`, {
      cause: signal.reason,
    })
  }
  return progress
}

/** As many records as one call takes; the limit of a server as it comes. */
const recordsPerCallMax = 1_000

/**
 * Stores a list in as many calls as it needs, one after another, so that of an id that comes twice the last record stays. A list that fits
 * one call is one call, all or none, and its failures are passed on as they are. Resolves to what the last call gave.
 */
export async function storeAll<T, R>(
  records: readonly T[],
  send: (batch: readonly T[]) => Promise<R>,
  signal: AbortSignal | undefined,
): Promise<R> {
  if (records.length <= recordsPerCallMax) return send(records)
  let last: R | undefined
  const sendNext = async (batch: readonly T[]) => {
    last = await send(batch)
  }
  await bulkLoad(records, sendNext, { batchSize: recordsPerCallMax, concurrency: 1, signal })
  // A list of more than one call has a last one.
  return last as R
}

/** What was wrong, and where in the source: a refusal names the record by its place in the batch. */
function located(error: unknown, first: number, length: number): unknown {
  if (!(error instanceof AnnalError)) return error
  const place = /^(?:objects|records|vectors)\[(\d+)\]/.exec(error.field ?? '')?.[1]
  const where =
    place === undefined ? `records ${first + 1} to ${first + length}` : `record ${first + Number(place) + 1}`
  return new AnnalError(error.code, `${where} of the source: ${error.message}`, { ...error, cause: error })
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
