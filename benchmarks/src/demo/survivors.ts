// Checks the data after a crash: everything that was acknowledged exists, and nothing that was never sent.
import type { StoredVector, VectorIndex, VectorRecord } from '@annal/client'
import { type Batch, runConcurrently } from './load.ts'

export interface Survivors {
  readonly acknowledged: number
  /** Acknowledged vectors that are missing or differ. */
  readonly lost: number
  /** Vectors in the index that are neither acknowledged nor part of a complete unanswered batch. */
  readonly phantom: number
  /** Unanswered batches of which only a part is stored. */
  readonly torn: number
  /** Unanswered batches, and the number of them that were stored. */
  readonly unanswered: number
  readonly unansweredStored: number
}

const readsAtOnce = 8

export async function countSurvivors(
  index: VectorIndex,
  batches: readonly Batch[],
  onRead: () => void,
): Promise<Survivors> {
  const there = new Map<Batch, number>()
  await runConcurrently(
    batches.filter(({ outcome }) => outcome !== 'unsent'),
    readsAtOnce,
    async (batch) => {
      let count = 0
      for (const record of batch.records) {
        if (isSame(await index.get(record.id), record)) count += 1
        onRead()
      }
      there.set(batch, count)
    },
  )
  const acknowledged = batches.filter(({ outcome }) => outcome === 'acknowledged')
  const unanswered = batches.filter(({ outcome }) => outcome === 'unknown')
  const stored = unanswered.filter((batch) => there.get(batch) === batch.records.length)
  const torn = unanswered.filter((batch) => !stored.includes(batch) && there.get(batch) !== 0)
  const acknowledgedThere = sum(acknowledged.map((batch) => there.get(batch) ?? 0))
  const { count } = await index.describe()
  return {
    acknowledged: sum(acknowledged.map(({ records }) => records.length)),
    lost: sum(acknowledged.map(({ records }) => records.length)) - acknowledgedThere,
    phantom: count - acknowledgedThere - sum(stored.map(({ records }) => records.length)),
    torn: torn.length,
    unanswered: unanswered.length,
    unansweredStored: stored.length,
  }
}

/** Whether the meta is equal and every number is within one step of the int8 scale of the stored vector. */
function isSame(stored: StoredVector | undefined, record: VectorRecord): boolean {
  if (stored === undefined || stored.vector.length !== record.vector.length) return false
  const numbers = Array.from(record.vector)
  const step = Math.max(...numbers.map(Math.abs)) / 127 + 1e-6
  const close = numbers.every((value, i) => Math.abs(value - (stored.vector[i] as number)) <= step)
  return close && JSON.stringify(stored.meta) === JSON.stringify(record.meta)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
