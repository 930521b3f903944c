// Reads records back in order, segment by segment, verifying each again on the way.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import type { LogRecord, Lsn } from './log.ts'
import { refusal } from './scan-log.ts'
import { checkHeader, type SegmentFile } from './scan-segment.ts'
import { segmentHeaderBytes } from './segment-header.ts'
import type { Vfs, VfsFile } from './vfs.ts'

/** A millisecond's worth of small frames. */
const framesATurn = 128

export interface ReadRange {
  readonly from: number
  /** The last LSN to give. */
  readonly to: number
}

/** Payloads keep their memory: it is never written again. */
export async function* readRecords(
  vfs: Vfs,
  segments: readonly SegmentFile[],
  range: ReadRange,
): AsyncGenerator<LogRecord> {
  for (const [i, segment] of segments.entries()) {
    const follower = segments[i + 1]
    if (follower !== undefined && follower.lsnFirst <= range.from) continue
    if (segment.lsnFirst > range.to) return
    const file = await vfs.open(segment.path, 'read')
    try {
      yield* readSegment(file, segment, {
        from: range.from,
        to: Math.min(range.to, (follower?.lsnFirst ?? Infinity) - 1),
      })
    } finally {
      await file.close()
    }
  }
}

async function* readSegment(file: VfsFile, segment: SegmentFile, range: ReadRange): AsyncGenerator<LogRecord> {
  const bytes = await file.size()
  const reader = await openReader(file, segment, bytes)
  for (let lsn = segment.lsnFirst; lsn <= range.to; lsn++) {
    // Frames of one block follow one another without waiting for the disk: others want their turn in between.
    if (lsn % framesATurn === 0) await nextTurn()
    const offset = reader.position
    const frame = await reader.next()
    if (frame === undefined || frame.header.lsn !== lsn) {
      throw refusal(segment, offset, lsn, 'a frame that was good before does not verify now', bytes)
    }
    if (lsn < range.from || frame.header.type < recordType.userMin) continue
    // The branded number is made here, where it was read and checked.
    yield { lsn: lsn as Lsn, type: frame.header.type, version: frame.header.version, payload: frame.payload }
  }
}

async function openReader(file: VfsFile, segment: SegmentFile, end: number): Promise<FrameReader> {
  const head = Buffer.alloc(segmentHeaderBytes)
  await file.read(head, 0)
  const header = checkHeader(segment, head, { id: undefined, lsnFirst: undefined, chainBefore: undefined })
  if ('why' in header) throw refusal(segment, 0, segment.lsnFirst, header.why, end)
  return new FrameReader(file, { epoch: header.epoch, position: segmentHeaderBytes, end, payloads: 'give' })
}

export function notHeld(from: number, lsnFirst: number): WalError {
  return new WalError('lsn_not_held', `LSN ${from} was given up; the oldest record still held is LSN ${lsnFirst}`, {
    lsn: from,
    limit: lsnFirst,
  })
}
