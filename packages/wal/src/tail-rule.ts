// The heart: what an end of the log that does not verify means. Un-synced sectors reach the disk in any order, so "a hole,
// then a good frame" is what a power cut may lawfully leave; and cutting at the first bad byte turns bit rot into silent
// loss. What tells them apart is proof that the missing record was durable: a later frame's stamp, or TIP.
import type { FrameReader } from './frame-reader.ts'

export type TailVerdict =
  | { readonly kind: 'clean' }
  /** Never acknowledged as durable: may be cut off, keeping a copy. */
  | { readonly kind: 'torn'; readonly bytes: number; readonly onlyZeros: boolean }
  | { readonly kind: 'damaged'; readonly evidence: string; readonly bytesAfter: number }

export interface TailQuestion {
  /** Stands at the first byte that is not a good frame of its place. */
  readonly reader: FrameReader
  readonly bytes: number
  /** The LSN that is expected there. */
  readonly lsnExpected: number
  /** Lower bound of what is durable, from outside the segment; 0 when there is none. */
  readonly durable: { readonly lsn: number; readonly source: string }
}

export async function judgeTail(question: TailQuestion): Promise<TailVerdict> {
  const { reader, bytes, lsnExpected, durable } = question
  const bytesAfter = bytes - reader.position
  if (durable.lsn >= lsnExpected) {
    const evidence = `${durable.source} says that LSN ${durable.lsn} was durable, and the log ends at LSN ${lsnExpected - 1}`
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
