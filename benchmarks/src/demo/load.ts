// Sends rows to an index in batches, several at a time, and keeps for each batch what became of it.
import type { VectorIndex, VectorRecord } from '@annal/client'

export interface Batch {
  readonly records: readonly VectorRecord[]
  /** `unknown`: sent, but no acknowledgement came, so all of it or none of it may be stored. */
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

/** Fails with the first failure, after every batch that was under way has ended. */
export async function load(index: VectorIndex, batches: readonly Batch[], options: LoadOptions): Promise<void> {
  await atOnce(batches, options.batchesAtOnce, async (batch) => {
    batch.outcome = 'unknown'
    await index.upsert(batch.records)
    batch.outcome = 'acknowledged'
    options.onAcknowledged(batch)
  })
}

/** Works through the items in order, `width` at a time; takes no new one after a failure. */
export async function atOnce<Item>(
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
