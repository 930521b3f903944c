// What waits for the writer, in the order of the calls, with a bound on bytes and on records.
import type { BatchRecord } from './batch.ts'
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { batchBytesMax, batchRecordsMax, payloadBytesMax } from './limits.ts'
import type { Appended, Lsn, NewRecord } from './log.ts'

/** `barrier`: everything before it is to be made durable. `resume`: try to leave the read-only state. */
export type QueueEntry =
  | {
      readonly kind: 'record'
      readonly record: BatchRecord
      readonly usesReserve: boolean
      readonly resolve: (appended: Appended) => void
      readonly reject: (error: Error) => void
    }
  | { readonly kind: 'barrier'; readonly resolve: (lsn: Lsn) => void; readonly reject: (error: Error) => void }
  | { readonly kind: 'own'; readonly record: BatchRecord }
  | { readonly kind: 'resume' }

export interface QueueLimits {
  readonly queueBytesMax: number
  readonly queueRecordsMax: number
}

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

  /** The reason why a record of this size cannot wait now, if there is one. A single record always fits an empty queue. */
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

  /** The next batch: as much as one write should carry, at least one entry. A resume travels alone. */
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

  /** Takes a settled batch out of the counts; what is being written still counts as waiting. */
  settled(batch: readonly QueueEntry[]): void {
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

/** A record as the writer needs it, or the reason why it can never be appended. */
export function checkedRecord(record: NewRecord): BatchRecord | WalError {
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
  // An empty buffer decodes as a valid message of defaults, so it can never be told from a mistake.
  if (length === 0) return new WalError('record_invalid', 'a record needs a payload', { value: 0 })
  if (length > payloadBytesMax) {
    return new WalError('record_too_large', `the payload has ${length} bytes; the limit is ${payloadBytesMax}`, {
      value: length,
      limit: payloadBytesMax,
    })
  }
  return { type, version, pieces, length }
}

export function ownRecord(type: number): QueueEntry {
  return { kind: 'own', record: { type, version: 0, pieces: [], length: 0 } }
}
