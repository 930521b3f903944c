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
/** A mark for so many bytes. */
const markBytes = 512 * 1024

/** Where records of a segment begin: any of them, so that reading does not have to begin with the first. */
export class PositionMarks {
  readonly #marks: { readonly lsn: number; readonly offset: number }[]

  constructor(lsnFirst: number) {
    this.#marks = [{ lsn: lsnFirst, offset: segmentHeaderBytes }]
  }

  /** Keeps a mark when it is far enough behind the last one. */
  note(lsn: number, offset: number): void {
    const last = this.#marks.at(-1)
    if (last === undefined || offset >= last.offset + markBytes) this.#marks.push({ lsn, offset })
  }

  /** The last mark at or before the record. */
  before(lsn: number): { readonly lsn: number; readonly offset: number } {
    return this.#marks.findLast((mark) => mark.lsn <= lsn) ?? (this.#marks[0] as { lsn: number; offset: number })
  }
}

export interface ReadRange {
  readonly from: number
  /** The last LSN to give. */
  readonly to: number
}

/** Payloads keep their memory: it is never written again. */
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
    // Frames of one block follow one another without waiting for the disk: others want their turn in between.
    if (lsn % framesATurn === 0) await nextTurn()
    const offset = reader.position
    marks.note(lsn, offset)
    const frame = await reader.next()
    if (frame === undefined || frame.header.lsn !== lsn) {
      throw refusal(segment, offset, lsn, 'a frame that was good before does not verify now', bytes)
    }
    if (lsn < range.from || frame.header.type < recordType.userMin) continue
    // The branded number is made here, where it was read and checked.
    yield { lsn: lsn as Lsn, type: frame.header.type, version: frame.header.version, payload: frame.payload }
  }
}

async function openReader(file: VfsFile, segment: SegmentFile, position: number, end: number): Promise<FrameReader> {
  const head = Buffer.alloc(segmentHeaderBytes)
  await file.read(head, 0)
  const header = checkHeader(segment, head, { id: undefined, lsnFirst: undefined, chainBefore: undefined })
  if ('why' in header) throw refusal(segment, 0, segment.lsnFirst, header.why, end)
  return new FrameReader(file, { epoch: header.epoch, position, end, payloads: 'give' })
}

export function notHeld(from: number, lsnFirst: number): WalError {
  return new WalError('lsn_not_held', `LSN ${from} was given up; the oldest record still held is LSN ${lsnFirst}`, {
    lsn: from,
    limit: lsnFirst,
  })
}
