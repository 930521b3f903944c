// Reads records in order, segment by segment, and verifies each one again.
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import type { LogRecord, Lsn } from './log.ts'
import type { PositionMarks } from './position-marks.ts'
import { refusal } from './scan-log.ts'
import { checkHeader, type SegmentFile } from './scan-segment.ts'
import { segmentHeaderBytes } from './segment-header.ts'
import type { Vfs, VfsFile } from './vfs.ts'
import { readFully } from './whole-file.ts'
import { yieldToOthers } from './yield.ts'

/** About a millisecond of small frames. */
const framesATurn = 128
/** The records to read. */
export interface ReadRange {
  readonly from: number
  /** The last LSN to yield. */
  readonly to: number
}

/** Payload memory is never overwritten, so callers may keep payloads. */
export async function* readRecords(
  vfs: Vfs,
  segments: readonly { readonly file: SegmentFile; readonly marks: PositionMarks }[],
  range: ReadRange,
): AsyncGenerator<LogRecord> {
  for (const [i, { file: segment, marks }] of segments.entries()) {
    const follower = segments[i + 1]?.file
    if (follower !== undefined && follower.lsnFirst <= range.from) continue
    if (segment.lsnFirst > range.to) return
    const file = await vfs.open(segment.path, 'read')
    try {
      const to = Math.min(range.to, (follower?.lsnFirst ?? Infinity) - 1)
      yield* readSegment(file, segment, marks, { from: range.from, to })
    } finally {
      await file.close()
    }
  }
}

async function* readSegment(
  file: VfsFile,
  segment: SegmentFile,
  marks: PositionMarks,
  range: ReadRange,
): AsyncGenerator<LogRecord> {
  const bytes = await file.size()
  const start = marks.before(range.from)
  const reader = await openReader(file, segment, start.offset, bytes)
  for (let lsn = start.lsn; lsn <= range.to; lsn++) {
    // The frames of one block need no disk access, so the loop yields to other work in between.
    if (lsn % framesATurn === 0) await yieldToOthers()
    const offset = reader.position
    marks.note(lsn, offset)
    const frame = await reader.next()
    if (frame === undefined || frame.header.lsn !== lsn) {
      throw refusal(segment, offset, lsn, 'a frame that verified earlier does not verify now', bytes)
    }
    if (lsn < range.from || frame.header.type < recordType.userMin) continue
    // The value was read and checked, so the brand is applied here.
    yield { lsn: lsn as Lsn, type: frame.header.type, version: frame.header.version, payload: frame.payload }
  }
}

async function openReader(file: VfsFile, segment: SegmentFile, position: number, end: number): Promise<FrameReader> {
  const head = Buffer.alloc(segmentHeaderBytes)
  await readFully(file, head, 0)
  const header = checkHeader(segment, head, { id: undefined, lsnFirst: undefined, chainBefore: undefined })
  if ('why' in header) throw refusal(segment, 0, segment.lsnFirst, header.why, end)
  return new FrameReader(file, { epoch: header.epoch, position, end, payloads: 'give' })
}

/** The error for a record that was removed from the log. */
export function notHeld(from: number, lsnFirst: number): WalError {
  return new WalError('lsn_not_held', `LSN ${from} is no longer in the log; the oldest record is LSN ${lsnFirst}`, {
    lsn: from,
    limit: lsnFirst,
  })
}
