// The bounded queue in front of the writer. Entries keep the order of the calls; bytes and records are limited.
import type { BatchRecord } from './batch.ts'
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { batchBytesMax, batchRecordsMax, payloadBytesMax } from './limits.ts'
import type { Appended, Lsn, NewRecord } from './log.ts'

/**
 * `barrier`: make every earlier entry durable; with `proves`, a replicated log also stores a message. `resume`: try to leave the
 * read-only state.
 */
export type QueueEntry =
  | {
      readonly kind: 'record'
      readonly record: BatchRecord
      readonly usesReserve: boolean
      readonly resolve: (appended: Appended) => void
      readonly reject: (error: Error) => void
    }
  | {
      readonly kind: 'barrier'
      readonly proves?: boolean
      readonly resolve: (lsn: Lsn) => void
      readonly reject: (error: Error) => void
    }
  | { readonly kind: 'own'; readonly record: BatchRecord }
  | { readonly kind: 'resume' }

/** Limits of the queue. */
export interface QueueLimits {
  readonly queueBytesMax: number
  readonly queueRecordsMax: number
}

/** Records, barriers, and resumes that wait for the writer, in the order of the calls. */
export class AppendQueue {
  readonly #limits: QueueLimits
  #entries: QueueEntry[] = []
  #head = 0
  #bytes = 0
  #records = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  get records(): number {
    return this.#records
  }

  get isEmpty(): boolean {
    return this.#head === this.#entries.length
  }

  /** Returns the error for a record of this size when the queue is full. An empty queue accepts any single record. */
  refusal(length: number): WalError | undefined {
    const { queueBytesMax, queueRecordsMax } = this.#limits
    const fits = this.#records < queueRecordsMax && (this.#records === 0 || this.#bytes + length <= queueBytesMax)
    if (fits) return undefined
    return new WalError(
      'log_overloaded',
      `${this.#records} records of ${this.#bytes} bytes wait for the disk; the limits are ${queueRecordsMax} records and ${queueBytesMax} bytes. Try again later.`,
      { queuedRecords: this.#records, queuedBytes: this.#bytes, limit: queueBytesMax },
    )
  }

  push(entry: QueueEntry): void {
    this.#entries.push(entry)
    if (entry.kind !== 'record') return
    this.#records++
    this.#bytes += entry.record.length
  }

  /**
   * Takes the next batch: at most one write's worth, at least one entry. A resume entry is always alone in its batch.
   */
  take(): QueueEntry[] {
    const batch: QueueEntry[] = []
    let bytes = 0
    while (!this.isEmpty && batch.length < batchRecordsMax) {
      const entry = this.#entries[this.#head]
      if (entry === undefined || (entry.kind === 'resume' && batch.length > 0)) break
      const length = entry.kind === 'record' ? entry.record.length : 0
      if (batch.length > 0 && bytes + length > batchBytesMax) break
      batch.push(entry)
      this.#head++
      bytes += length
      if (entry.kind === 'resume') break
    }
    if (this.isEmpty) this.#forget()
    else if (this.#head > 1024) this.#compact()
    return batch
  }

  /** Removes a settled batch from the counts. A batch that is being written still counts as queued. */
  removeSettled(batch: readonly QueueEntry[]): void {
    for (const entry of batch) {
      if (entry.kind !== 'record') continue
      this.#records--
      this.#bytes -= entry.record.length
    }
  }

  #forget(): void {
    this.#entries = []
    this.#head = 0
  }

  #compact(): void {
    this.#entries.splice(0, this.#head)
    this.#head = 0
  }
}

/** Returns the record in the form the writer needs, or the error that makes it impossible to append. */
export function checkRecord(record: NewRecord): BatchRecord | WalError {
  const { type, version, payload } = record
  const pieces = payload instanceof Uint8Array ? [payload] : payload
  let length = 0
  for (const piece of pieces) length += piece.length
  if (!Number.isInteger(type) || type < recordType.userMin || type > recordType.userMax) {
    return new WalError('record_invalid', `record type ${type} is not in 16..255`, { value: type })
  }
  if (!Number.isInteger(version) || version < 0 || version > 0xffff) {
    return new WalError('record_invalid', `payload version ${version} is not in 0..65535`, { value: version })
  }
  // An empty buffer decodes as a valid message of default values, so an empty payload would hide a bug in the caller.
  if (length === 0) return new WalError('record_invalid', 'a record needs a payload', { value: 0 })
  if (length > payloadBytesMax) {
    return new WalError('record_too_large', `the payload has ${length} bytes; the limit is ${payloadBytesMax}`, {
      value: length,
      limit: payloadBytesMax,
    })
  }
  return { type, version, pieces, length }
}

/** An entry for one of the log's own records. */
export function ownRecord(type: number): QueueEntry {
  return { kind: 'own', record: { type, version: 0, pieces: [], length: 0 } }
}
