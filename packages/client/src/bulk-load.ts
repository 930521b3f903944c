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
  readonly signal?: AbortSignal | undefined
  /** The longest one batch may take, its retries included. */
  readonly timeoutMs?: number | undefined
}

export interface LoadProgress {
  /** Records that are stored. */
  readonly stored: number
  readonly batches: number
}

type Source<T> = Iterable<T> | AsyncIterable<T>

/**
 * Fails with the first failure, when the batches under way have ended; what they stored stays, and since records are
 * replaced by id the same source can be loaded again.
 */
export async function bulkLoad<T>(
  source: Source<T>,
  send: (batch: readonly T[]) => Promise<unknown>,
  { batchSize = 500, concurrency = 2, onProgress, signal }: LoadOptions,
): Promise<LoadProgress> {
  const underWay = new Set<Promise<void>>()
  let progress: LoadProgress = { stored: 0, batches: 0 }
  let failure: { readonly error: unknown } | undefined
  const begin = (batch: readonly T[]) => {
    const sending = send(batch)
      .then(() => {
        progress = { stored: progress.stored + batch.length, batches: progress.batches + 1 }
        onProgress?.(progress)
      })
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => underWay.delete(sending))
    underWay.add(sending)
  }
  for await (const batch of batchesOf(source, batchSize)) {
    while (underWay.size >= concurrency) await Promise.race(underWay)
    if (failure !== undefined || signal?.aborted) break
    begin(batch)
  }
  await Promise.all(underWay)
  if (failure !== undefined) throw failure.error
  if (signal?.aborted) {
    throw new AnnalError('aborted', `the load was aborted by its caller after ${progress.stored} records`, {
      cause: signal.reason,
    })
  }
  return progress
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
