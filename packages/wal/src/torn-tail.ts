// Decides whether an end of the log that does not verify is a torn tail or damage. A power cut may persist unsynced sectors in any
// order, so "a hole, then a good frame" is a legal result of a crash. Cutting at the first bad byte, on the other hand, turns bit rot
// into silent loss. The difference is proof that the missing record was durable: the stamp of a later frame, or TIP.
import type { FrameReader } from './frame-reader.ts'

/** The end of the log. */
export type TailVerdict =
  | { readonly kind: 'clean' }
  /** Never acknowledged as durable. It may be cut off; a copy is kept. */
  | { readonly kind: 'torn'; readonly bytes: number; readonly onlyZeros: boolean }
  | { readonly kind: 'damaged'; readonly evidence: string; readonly bytesAfter: number }

/** The place of the first byte that does not verify, and what is known about it. */
export interface TailFacts {
  /** Positioned at the first byte that is not a good frame at its place. */
  readonly reader: FrameReader
  readonly bytes: number
  /** The LSN expected at that position. */
  readonly lsnExpected: number
  /** Lower bound of the durable LSN, from outside the segment; 0 when there is none. */
  readonly durable: { readonly lsn: number; readonly source: string }
}

/** Finds a torn tail: no proof exists that the record expected here was ever durable. */
export async function judgeTail(facts: TailFacts): Promise<TailVerdict> {
  const { reader, bytes, lsnExpected, durable } = facts
  const bytesAfter = bytes - reader.position
  if (durable.lsn >= lsnExpected) {
    const evidence = `${durable.source} says that LSN ${durable.lsn} was durable, but the log ends at LSN ${lsnExpected - 1}`
    return { kind: 'damaged', evidence, bytesAfter }
  }
  if (bytesAfter === 0) return { kind: 'clean' }
  if (await reader.onlyZerosLeft()) return { kind: 'torn', bytes: bytesAfter, onlyZeros: true }
  for (let frame = await reader.find(); frame !== undefined; frame = await reader.find()) {
    if (frame.header.durableLsn >= lsnExpected) {
      const evidence = `the frame of LSN ${frame.header.lsn} at offset ${frame.offset} proves that LSN ${frame.header.durableLsn} was durable`
      return { kind: 'damaged', evidence, bytesAfter }
    }
  }
  return { kind: 'torn', bytes: bytesAfter, onlyZeros: false }
}
