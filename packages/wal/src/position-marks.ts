// Where some records of a segment begin. Scanning, reading, and writing a segment add marks, and a reader begins at the last one before its
// first record: the records before it are neither read nor verified again, and take no memory.
import { segmentHeaderBytes } from './segment-header.ts'

/** One mark per this many bytes. */
const markBytes = 512 * 1024

/** Offsets of some records of a segment, so that reading need not begin with the first. */
export class PositionMarks {
  readonly #marks: { readonly lsn: number; readonly offset: number }[]

  constructor(lsnFirst: number) {
    this.#marks = [{ lsn: lsnFirst, offset: segmentHeaderBytes }]
  }

  /** Adds a mark when it is far enough from the last one. */
  note(lsn: number, offset: number): void {
    const last = this.#marks.at(-1)
    if (last === undefined || offset >= last.offset + markBytes) this.#marks.push({ lsn, offset })
  }

  /** Returns the last mark at or before the record. */
  before(lsn: number): { readonly lsn: number; readonly offset: number } {
    return this.#marks.findLast((mark) => mark.lsn <= lsn) ?? (this.#marks[0] as { lsn: number; offset: number })
  }
}
