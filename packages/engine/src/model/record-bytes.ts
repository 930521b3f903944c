// What the terms and texts of an object take in its record (packages/engine/src/replica/object-record.ts), for the limit that keeps a record within
// one block of memory.
import { objectTermBytes } from '../limits.ts'

/** Bytes of the terms of one sparse field in a record. */
export function sparseRecordBytes(terms: number): number {
  return 8 + terms * objectTermBytes
}

/** Bytes of a text of `bytes` in UTF-8 and its terms in a record. */
export function textRecordBytes(terms: number, bytes: number): number {
  return sparseRecordBytes(terms) + 4 + Math.ceil(bytes / 4) * 4
}
