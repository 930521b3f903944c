// Summary of one log segment: a few figures for each second and owner. A segment with more seconds than the limit uses
// longer intervals, so that the memory for a log stays a small part of its size.
import type { RecordFacts } from '../events/record-facts.ts'

/** A collection by its id; a database, for events of its own and of its tokens, by its negated id. */
export type OwnerId = number

export interface Tally {
  lsnFirst: number
  lsnLast: number
  records: number
  bytes: number
  /** Number of objects written, deleted, and with updated filters. */
  written: number
  deleted: number
  refiltered: number
  /** Records that created, deleted, rebuilt or changed a collection, a database or a token. */
  changes: number
}

export interface Cell extends Tally {
  readonly owner: OwnerId
  readonly startMs: number
}

const widthMsMin = 1_000
const cellsMax = 256

export class SegmentSummary {
  /** The summary covers everything up to this record. */
  lsnTo = 0
  /** Time of its newest record. */
  timeMs = 0
  #widthMs = widthMsMin
  #cells = new Map<string, Cell>()
  #firstMs = Number.POSITIVE_INFINITY
  #lastMs = 0

  get widthMs(): number {
    return this.#widthMs
  }

  get cells(): Iterable<Cell> {
    return this.#cells.values()
  }

  add(owner: OwnerId, facts: RecordFacts): void {
    this.#put({ owner, startMs: facts.timeMs, ...tallyOf(facts) })
    this.#firstMs = Math.min(this.#firstMs, facts.timeMs)
    this.#lastMs = Math.max(this.#lastMs, facts.timeMs)
    // Cells of many owners within one interval are not merged further.
    while (this.#cells.size > cellsMax && this.#widthMs <= this.#lastMs - this.#firstMs) this.#coarsen()
  }

  #put(cell: Cell): void {
    const startMs = Math.floor(cell.startMs / this.#widthMs) * this.#widthMs
    const key = `${cell.owner}@${startMs}`
    const known = this.#cells.get(key)
    if (known === undefined) this.#cells.set(key, { ...cell, startMs })
    else addTo(known, cell)
  }

  #coarsen(): void {
    const cells = this.#cells
    this.#cells = new Map()
    this.#widthMs *= 2
    for (const cell of cells.values()) this.#put(cell)
  }
}

export function addTo(sum: Tally, more: Tally): void {
  sum.lsnFirst = Math.min(sum.lsnFirst, more.lsnFirst)
  sum.lsnLast = Math.max(sum.lsnLast, more.lsnLast)
  sum.records += more.records
  sum.bytes += more.bytes
  sum.written += more.written
  sum.deleted += more.deleted
  sum.refiltered += more.refiltered
  sum.changes += more.changes
}

function tallyOf({ lsn, kind, bytes, objects }: RecordFacts): Tally {
  const written = kind === 'objects-upserted' || kind === 'objects-restored' ? objects : 0
  const deleted = kind === 'objects-deleted' || kind === 'objects-expired' ? objects : 0
  const refiltered = kind === 'filters-replaced' || kind === 'objects-patched' ? objects : 0
  const changes = kind.startsWith('objects-') || kind === 'filters-replaced' ? 0 : 1
  return { lsnFirst: lsn, lsnLast: lsn, records: 1, bytes, written, deleted, refiltered, changes }
}
