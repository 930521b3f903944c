// Settles the promises of a batch, in the order of the calls.
import type { QueueEntry } from './append-queue.ts'
import type { BatchRecord } from './batch.ts'
import type { WalError } from './errors.ts'
import type { Lsn } from './log.ts'

/** Acknowledges the batch whose records follow `lsnBefore`; returns the number of appends. */
export function acknowledge(batch: readonly QueueEntry[], lsnBefore: number, lsnDurable: number): number {
  let lsn = lsnBefore
  let appends = 0
  for (const entry of batch) {
    if (entry.kind === 'record') {
      lsn++
      appends++
      // The log assigns the number here, so the brand is applied here.
      entry.resolve({ lsn: lsn as Lsn, durable: lsn <= lsnDurable })
    } else if (entry.kind === 'own') lsn++
    else if (entry.kind === 'barrier') entry.resolve(lsnDurable as Lsn)
  }
  return appends
}

/**
 * Rejects every append of the batch: none of its records is in the log. A barrier resolves with `lsnDurable` when that
 * is given.
 */
export function refuse(batch: readonly QueueEntry[], error: WalError, lsnDurable?: number): void {
  for (const entry of batch) {
    if (entry.kind === 'record') entry.reject(error)
    else if (entry.kind !== 'barrier') continue
    else if (lsnDurable === undefined) entry.reject(error)
    else entry.resolve(lsnDurable as Lsn)
  }
}

/** The records of a batch, without its barriers. */
export function recordsOf(batch: readonly QueueEntry[]): BatchRecord[] {
  const records: BatchRecord[] = []
  for (const entry of batch) if (entry.kind === 'record' || entry.kind === 'own') records.push(entry.record)
  return records
}
