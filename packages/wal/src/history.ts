// Reads segments that are in several directories, the log and its archives, as one log: checks that records follow one
// another, yields or copies a range. It never writes to these directories.
import { join } from 'node:path'
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { FrameReader, type ReadFrame } from './frame-reader.ts'
import type { LogRecord, Lsn } from './log.ts'
import { checkHeader, listLogFiles, type SegmentExpectation, type SegmentFile, withSegment } from './scan-segment.ts'
import { type SegmentHeader, segmentHeaderBytes } from './segment-header.ts'
import { copyRange } from './tail.ts'
import { encodeTip, readTip, tipName } from './tip.ts'
import { judgeTail } from './torn-tail.ts'
import { linkOrCopy } from './transfer.ts'
import type { Vfs } from './vfs.ts'
import { createWhole, writeFully } from './whole-file.ts'

/** The directories of a history. */
export interface HistoryPlace {
  readonly vfs: Vfs
  /** Archives first, the log last. A directory that does not exist counts as empty. */
  readonly dirs: readonly string[]
  /** Segments that begin after LSN `after` must have this timeline; earlier segments may have an older one. */
  readonly timeline?: { readonly id: number; readonly after: number }
}

/**
 * Returns the segments, oldest first; of one that is in two directories, the archived file. Throws log_damaged when two different segments
 * have one number.
 */
export async function historySegments({ vfs, dirs }: HistoryPlace): Promise<SegmentFile[]> {
  const byId = new Map<number, SegmentFile>()
  // The log is listed first: a segment that moves to the archive meanwhile is then found twice, and not at all in the other order.
  for (const dir of [...dirs].reverse()) {
    const { segments } = await listLogFiles(vfs, dir)
    for (const segment of segments) {
      const other = byId.get(segment.id)
      if (other !== undefined && other.lsnFirst !== segment.lsnFirst)
        throw damaged(segment, segment.lsnFirst, `${other.path} has the same number and different content`)
      byId.set(segment.id, segment)
    }
  }
  return [...byId.values()].sort((a, b) => a.id - b.id)
}

/** A range of records. */
export interface HistoryRange {
  readonly from: number
  readonly to: number
  /** The newest record that is known to be durable: an end before it is damage. */
  readonly lsnDurable?: number
}

/**
 * Yields all records with `from <= lsn <= to`. Throws lsn_not_held when the history begins later or ends earlier, and
 * log_damaged when a record in between is missing, damaged or of another history, or when durable records followed the end.
 */
export async function* readHistory(place: HistoryPlace, range: HistoryRange): AsyncGenerator<LogRecord> {
  for await (const { frame } of framesOf(place, range)) {
    const { lsn, type, version } = frame.header
    // The value was read and checked, so the brand is applied here.
    if (type >= recordType.userMin) yield { lsn: lsn as Lsn, type, version, payload: frame.payload }
  }
}

/** The newest record of a log that TIP knows to be durable; 0 without TIP. The log may be in use: read it afterwards. */
export async function durableLsnOf(vfs: Vfs, dir: string): Promise<number> {
  return (await readTip(vfs, dir)).newest?.durableLsn ?? 0
}

/** Writes a log of the records up to `to` into an empty directory. Links sealed segments where possible. */
export async function copyHistory(
  place: HistoryPlace,
  { from, to, into }: { readonly from: number; readonly to: number; readonly into: string },
): Promise<void> {
  const { vfs } = place
  let last: { readonly segment: SegmentFile; end: number } | undefined
  const whole: SegmentFile[] = []
  for await (const { segment, frame } of framesOf(place, { from, to })) {
    if (last !== undefined && last.segment !== segment) whole.push(last.segment)
    last = { segment, end: frame.offset + frame.bytes }
  }
  if (last === undefined) throw notHeld(from, to, 'there is no record')
  for (const segment of whole) await linkOrCopy(vfs, segment.path, join(into, segment.name))
  const { segment, end } = last
  await copyRange(vfs, { source: segment.path, target: join(into, segment.name), from: 0, to: end })
  const tip = encodeTip({ seq: 2, durableLsn: to, segmentId: segment.id })
  await createWhole(vfs, join(into, tipName), (file) => writeFully(file, tip, 0))
  await vfs.syncDirectory(into)
}

interface PlacedFrame {
  readonly segment: SegmentFile
  readonly frame: ReadFrame
}

/** Yields every frame in order, including the log's own records, and checks that each follows the one before. */
async function* framesOf(place: HistoryPlace, { from, to, lsnDurable = 0 }: HistoryRange): AsyncGenerator<PlacedFrame> {
  const segments = await historySegments(place)
  const start = segments.findLastIndex(({ lsnFirst }) => lsnFirst <= from)
  if (start < 0) throw notHeld(from, to, `the oldest record held is LSN ${segments[0]?.lsnFirst ?? 'none'}`)
  let expected: SegmentExpectation = { id: undefined, lsnFirst: undefined, chainBefore: undefined }
  let lsn = 0
  for (const segment of segments.slice(start)) {
    if (segment.lsnFirst > to) break
    const { header, file } = await openSegment(place, segment, expected)
    try {
      let chain = header.chainBefore
      lsn = segment.lsnFirst - 1
      while (lsn < to) {
        const frame = await file.next()
        if (frame === undefined && segment === segments.at(-1)) await file.refuseDamage(lsn + 1, lsnDurable)
        if (frame === undefined) break
        if (frame.header.lsn !== lsn + 1 || frame.header.prevSum !== chain)
          throw damaged(segment, lsn + 1, `the frame at ${frame.offset} does not follow the one before it`)
        lsn++
        chain = frame.sum
        if (lsn >= from) yield { segment, frame }
      }
      expected = { id: segment.id + 1, lsnFirst: lsn + 1, chainBefore: chain }
    } finally {
      await file.close()
    }
  }
  if (lsn >= to) return
  const follower = segments.find(({ lsnFirst }) => lsnFirst > lsn + 1)
  if (follower) throw damaged(follower, lsn + 1, `the records before LSN ${follower.lsnFirst} are missing or damaged`)
  throw notHeld(from, to, `it ends with LSN ${lsn}`)
}

async function openSegment(place: HistoryPlace, segment: SegmentFile, expected: SegmentExpectation) {
  const { vfs, timeline } = place
  const { header, bytes } = await withSegment(vfs, segment, async (_file, head, size) => ({
    header: headerOf(segment, head, expected, timeline),
    bytes: size,
  }))
  const file = await vfs.open(segment.path, 'read')
  const reader = new FrameReader(file, {
    epoch: header.epoch,
    position: segmentHeaderBytes,
    end: bytes,
    payloads: 'give',
  })
  /** The end of the log may be a record that is being written, or a torn one. */
  const refuseDamage = async (lsnExpected: number, lsnDurable: number) => {
    const durable = { lsn: lsnDurable, source: 'TIP' }
    const verdict = await judgeTail({ reader, bytes, lsnExpected, durable })
    if (verdict.kind === 'damaged') throw damaged(segment, lsnExpected, verdict.evidence)
  }
  return { header, file: { next: () => reader.next(), refuseDamage, close: () => file.close() } }
}

function headerOf(
  segment: SegmentFile,
  head: Buffer,
  expected: SegmentExpectation,
  timeline: HistoryPlace['timeline'],
): SegmentHeader {
  const header = checkHeader(segment, head, expected)
  if ('why' in header) throw damaged(segment, segment.lsnFirst, header.why)
  if (timeline !== undefined && segment.lsnFirst > timeline.after && header.timeline !== timeline.id)
    throw damaged(
      segment,
      segment.lsnFirst,
      `its timeline is ${header.timeline}; the log continues on timeline ${timeline.id}`,
    )
  return header
}

function damaged(segment: SegmentFile, lsn: number, evidence: string): WalError {
  return new WalError('log_damaged', `${segment.path} cannot be read as a part of this log: ${evidence}`, {
    file: segment.path,
    lsn,
    evidence,
  })
}

function notHeld(from: number, to: number, why: string): WalError {
  return new WalError('lsn_not_held', `the log no longer has all records from ${from} to ${to}: ${why}`, {
    lsn: from,
    limit: to,
  })
}
