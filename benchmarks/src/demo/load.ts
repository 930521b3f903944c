// Sends rows to an index in batches, several at a time, and records the outcome of each batch.
import type { VectorIndex, VectorRecord } from '@annal/client'

export interface Batch {
  readonly records: readonly VectorRecord[]
  /** `unknown`: sent but not acknowledged, so either all or none of it may be stored. */
  outcome: 'unsent' | 'unknown' | 'acknowledged'
}

export interface LoadOptions {
  readonly batchesAtOnce: number
  readonly onAcknowledged: (batch: Batch) => void
}

export function batchesOf(records: readonly VectorRecord[], batchSize: number): Batch[] {
  const batches: Batch[] = []
  for (let i = 0; i < records.length; i += batchSize) {
    batches.push({ records: records.slice(i, i + batchSize), outcome: 'unsent' })
  }
  return batches
}

/** Rejects with the first failure, after every running batch has ended. */
export async function load(index: VectorIndex, batches: readonly Batch[], options: LoadOptions): Promise<void> {
  await runConcurrently(batches, options.batchesAtOnce, async (batch) => {
    batch.outcome = 'unknown'
    await index.upsert(batch.records)
    batch.outcome = 'acknowledged'
    options.onAcknowledged(batch)
  })
}

/** Processes the items in order, `width` at a time. Starts no new item after a failure. */
export async function runConcurrently<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const failures: unknown[] = []
  const worker = async () => {
    for (const item of queue) {
      if (failures.length > 0) return
      await work(item).catch((error: unknown) => failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  if (failures.length > 0) throw failures[0]
}
