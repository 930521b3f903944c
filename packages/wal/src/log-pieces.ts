// Reads a log in pieces of raw bytes, to copy it elsewhere while it is being written: whole frames of one segment, each proved to
// follow the one before it. A copy of all pieces is a copy of the segments.
import { join } from 'node:path'
import { errnoOf, WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import type { HistoryPlace } from './history.ts'
import type { LogRecord, Lsn } from './log.ts'
import { checkHeader, type SegmentFile, withSegment } from './scan-segment.ts'
import { type SegmentHeader, segmentHeaderBytes, segmentName } from './segment-header.ts'
import type { VfsFile } from './vfs.ts'
import { readFully } from './whole-file.ts'

/** A place between two frames of a log. */
export interface LogPosition {
  readonly segmentId: number
  /** LSN of the first record of that segment, which is a part of its name. */
  readonly segmentLsn: number
  /** 0 before the header of the segment. */
  readonly offset: number
  /** LSN of the frame that follows. */
  readonly lsnNext: number
  /** Checksum of the frame before; undefined where it is not known, which is possible at the beginning of a segment only. */
  readonly chain: bigint | undefined
}

/** Frames of one segment that follow one another; the piece at offset 0 begins with the segment's header. */
export interface LogPiece {
  readonly from: LogPosition
  readonly bytes: Buffer
  readonly lsnLast: number
  /** Frames of the log's user among them. */
  readonly userFrames: number
  readonly next: LogPosition
}

/** How much a piece may hold. */
export interface PieceLimits {
  /** The newest durable record: what follows it may still be cut off. */
  readonly to: number
  /** A piece with one frame may be larger. */
  readonly bytesMax: number
  readonly onRecord?: (record: LogRecord) => void
}

/** The position before a segment. */
export function positionBefore({ id, lsnFirst }: Pick<SegmentFile, 'id' | 'lsnFirst'>): LogPosition {
  return { segmentId: id, segmentLsn: lsnFirst, offset: 0, lsnNext: lsnFirst, chain: undefined }
}

/**
 * Returns the next piece, or undefined if nothing durable follows. Throws lsn_not_held if the segment was removed, and log_damaged if
 * records up to `to` are not there.
 */
export async function readPiece(
  place: HistoryPlace,
  position: LogPosition,
  limits: PieceLimits,
): Promise<LogPiece | undefined> {
  let from = position
  while (from.lsnNext <= limits.to) {
    const found = await withPositioned(place, from, (file, header, bytes) =>
      readFrames(file, header, { from, bytes, limits }),
    )
    if (found === undefined) throw notHeld(from)
    if (found.userFrames >= 0) return found
    const next = {
      ...{ segmentId: from.segmentId + 1, segmentLsn: from.lsnNext, offset: 0, lsnNext: from.lsnNext },
      chain: from.chain,
    }
    if ((await withPositioned(place, next, async () => true)) === undefined) throw missing(from)
    from = next
  }
  return undefined
}

/**
 * Returns the position after bytes that were copied from a segment. `missing`: the segment was removed. `different`: the segment has
 * other bytes there, so the copy is one of another log.
 */
export async function positionAfter(
  place: HistoryPlace,
  copied: { readonly from: Omit<LogPosition, 'chain'>; readonly bytes: Uint8Array; readonly lsnLast: number },
): Promise<LogPosition | 'missing' | 'different'> {
  const { from, bytes, lsnLast } = copied
  const end = from.offset + bytes.length
  const found = await withPositioned(place, { ...from, chain: undefined }, async (file, header, size) => {
    const own = Buffer.alloc(bytes.length)
    if (size < end || (await readFully(file, own, from.offset)) < own.length || !own.equals(bytes)) return 'different'
    const limits = { to: lsnLast, bytesMax: bytes.length }
    const piece = await readFrames(file, header, { from: { ...from, chain: undefined }, bytes: end, limits })
    return piece.next.offset === end && piece.lsnLast === lsnLast ? piece.next : 'different'
  })
  return found ?? 'missing'
}

/** A piece without frames has -1 as their number. */
async function readFrames(
  file: VfsFile,
  header: SegmentHeader,
  work: { readonly from: LogPosition; readonly bytes: number; readonly limits: PieceLimits },
): Promise<LogPiece> {
  const { from, limits } = work
  const begin = Math.max(from.offset, segmentHeaderBytes)
  const reader = new FrameReader(file, {
    epoch: header.epoch,
    position: begin,
    end: work.bytes,
    payloads: limits.onRecord ? 'give' : 'lend',
  })
  let [end, lsn, userFrames, frames] = [begin, from.lsnNext - 1, 0, 0]
  let chain = from.offset === 0 ? header.chainBefore : from.chain
  while (lsn < limits.to) {
    const frame = await reader.next()
    if (frame === undefined || (frames > 0 && end + frame.bytes - from.offset > limits.bytesMax)) break
    if (frame.header.lsn !== lsn + 1 || (chain !== undefined && frame.header.prevSum !== chain))
      throw damaged(from, lsn + 1, `the frame at ${frame.offset} does not follow the one before it`)
    const { type, version } = frame.header
    lsn++
    frames++
    chain = frame.sum
    end += frame.bytes
    if (type < recordType.userMin) continue
    userFrames++
    // The value was read and checked, so the brand is applied here.
    limits.onRecord?.({ lsn: lsn as Lsn, type, version, payload: frame.payload })
  }
  const next = { ...from, offset: end, lsnNext: lsn + 1, chain }
  if (frames === 0) return { from, bytes: Buffer.alloc(0), lsnLast: lsn, userFrames: -1, next }
  const bytes = Buffer.allocUnsafe(end - from.offset)
  if ((await readFully(file, bytes, from.offset)) < bytes.length) throw damaged(from, lsn, 'the file became shorter')
  return { from, bytes, lsnLast: lsn, userFrames, next }
}

/** Opens the segment of a position; undefined if it is in none of the directories. */
async function withPositioned<T>(
  { vfs, dirs }: HistoryPlace,
  { segmentId, segmentLsn, chain, offset }: LogPosition,
  use: (file: VfsFile, header: SegmentHeader, bytes: number) => Promise<T>,
): Promise<T | undefined> {
  const name = segmentName(segmentId, segmentLsn)
  // A segment moves from the log, which is the last directory, to the archive: its second name exists before the first one is removed.
  for (const dir of [...dirs, ...dirs].reverse()) {
    const segment = { name, path: join(dir, name), id: segmentId, lsnFirst: segmentLsn }
    const expected = { id: segmentId, lsnFirst: segmentLsn, chainBefore: offset === 0 ? chain : undefined }
    try {
      return await withSegment(vfs, segment, (file, head, bytes) => {
        const header = checkHeader(segment, head, expected)
        if ('why' in header) throw damagedFile(segment.path, segmentLsn, header.why)
        return use(file, header, bytes)
      })
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
  }
  return undefined
}

function damaged({ segmentId, segmentLsn }: LogPosition, lsn: number, why: string): WalError {
  return damagedFile(segmentName(segmentId, segmentLsn), lsn, why)
}

function damagedFile(file: string, lsn: number, evidence: string): WalError {
  return new WalError('log_damaged', `${file} cannot be copied: ${evidence}`, { file, lsn, evidence })
}

function missing(from: LogPosition): WalError {
  return damaged(from, from.lsnNext, `LSN ${from.lsnNext} is durable, and neither this segment nor a next one has it`)
}

function notHeld({ segmentId, segmentLsn, lsnNext }: LogPosition): WalError {
  const name = segmentName(segmentId, segmentLsn)
  return new WalError('lsn_not_held', `the log no longer has record ${lsnNext}: ${name} was removed`, { lsn: lsnNext })
}
