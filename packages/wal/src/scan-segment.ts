// Reads one segment file from its header to the first byte that is not part of a good frame. It only reports findings.
import { join } from 'node:path'
import { WalError } from './errors.ts'
import { recordType } from './frame.ts'
import { FrameReader, type ReadFrame } from './frame-reader.ts'
import { PositionMarks } from './position-marks.ts'
import {
  decodeSegmentHeader,
  formatVersion,
  parseSegmentName,
  parseTornName,
  type SegmentHeader,
  segmentHeaderBytes,
} from './segment-header.ts'
import type { Vfs, VfsFile } from './vfs.ts'
import { readFully, temporarySuffix } from './whole-file.ts'

/** A segment file, by its name. */
export interface SegmentFile {
  readonly name: string
  readonly path: string
  /** Taken from the file name; the header must agree. */
  readonly id: number
  readonly lsnFirst: number
}

/** The files of a log's directory, by kind. Others are not listed. */
export interface LogFiles {
  readonly segments: readonly SegmentFile[]
  /** Leftovers of an interrupted write; safe to remove. */
  readonly temporaries: readonly string[]
  /** Named like segments but not segments. Never ignored, because an ignored segment is lost data. */
  readonly strange: readonly string[]
  /** Bytes that earlier starts removed from an unclean end. */
  readonly torn: readonly string[]
}

/** The first fault in a segment. `offset` is the end of the good part. */
export interface BadSpot {
  readonly offset: number
  readonly why: string
}

/** What a scan found in one segment. */
export interface ScannedSegment {
  readonly file: SegmentFile
  readonly header: SegmentHeader | undefined
  readonly bytes: number
  /** The end of the good part. */
  readonly end: number
  readonly lsnLast: number
  /** Checksum of the last good frame, or the header's value for the segment before. */
  readonly chain: bigint
  /** -1 when the frames were not read, as for segments below the checkpoint. */
  readonly frames: number
  /** Frames of the log's user. */
  readonly userFrames: number
  readonly cleanlyClosed: boolean
  readonly bad: BadSpot | undefined
  /** Where the good frames that were read begin. */
  readonly marks: PositionMarks
}

/** What a segment must match; undefined for what is unknown. */
export interface SegmentExpectation {
  readonly id: number | undefined
  readonly lsnFirst: number | undefined
  readonly chainBefore: bigint | undefined
}

/** Lists the files of a log's directory. */
export async function listLogFiles(vfs: Vfs, dir: string): Promise<LogFiles> {
  const segments: SegmentFile[] = []
  const temporaries: string[] = []
  const strange: string[] = []
  const torn: string[] = []
  const names = (await vfs.exists(dir)) ? await vfs.list(dir) : []
  for (const name of names) {
    if (name.endsWith(temporarySuffix)) temporaries.push(name)
    else if (parseTornName(name) !== undefined) torn.push(name)
    else if (name.endsWith('.wal')) {
      const numbers = parseSegmentName(name)
      if (numbers === undefined) strange.push(name)
      else segments.push({ name, path: join(dir, name), ...numbers })
    }
  }
  segments.sort((a, b) => a.id - b.id || a.lsnFirst - b.lsnFirst)
  return { segments, temporaries, strange, torn }
}

/** Opens a segment, passes its header and size to `use`, and always closes it again. */
export async function withSegment<T>(
  vfs: Vfs,
  segment: SegmentFile,
  use: (file: VfsFile, head: Buffer, bytes: number) => Promise<T>,
): Promise<T> {
  const file = await vfs.open(segment.path, 'read')
  try {
    const bytes = await file.size()
    const head = Buffer.alloc(segmentHeaderBytes)
    const got = await readFully(file, head, 0)
    return await use(file, head.subarray(0, got), bytes)
  } finally {
    await file.close()
  }
}

/** Checks the header against the file's name and its place in the log. */
export function checkHeader(segment: SegmentFile, head: Buffer, expected: SegmentExpectation): SegmentHeader | BadSpot {
  const found = decodeSegmentHeader(head)
  if (found.kind === 'too-new') {
    throw new WalError(
      'format_too_new',
      `${segment.path} was written in log format ${found.version}, which needs a reader of at least ${found.versionMin}; this one supports ${formatVersion}. Start the version of Annal that wrote it, or a newer one.`,
      { file: segment.path, version: found.version, versionMin: found.versionMin },
    )
  }
  if (found.kind === 'damaged') return { offset: 0, why: found.why }
  const { header } = found
  if (header.id !== segment.id || header.lsnFirst !== segment.lsnFirst) {
    return { offset: 0, why: `the header belongs to segment ${header.id} with first LSN ${header.lsnFirst}` }
  }
  if (expected.id !== undefined && header.id !== expected.id) {
    return { offset: 0, why: `segment ${expected.id} is missing before it` }
  }
  if (expected.lsnFirst !== undefined && header.lsnFirst !== expected.lsnFirst) {
    return { offset: 0, why: `its first LSN is ${header.lsnFirst}; the next record must be LSN ${expected.lsnFirst}` }
  }
  if (expected.chainBefore !== undefined && header.chainBefore !== expected.chainBefore) {
    return { offset: 0, why: 'it does not continue the segment before it (chain value)' }
  }
  return header
}

/** Called for each frame that verifies, and for its bytes. */
export interface SegmentVisitor {
  readonly onFrame?: (frame: ReadFrame) => void
  readonly onBytes?: (bytes: number) => void
}

/** Reads one segment up to the first byte that does not belong to a good frame. */
export function scanSegment(
  vfs: Vfs,
  segment: SegmentFile,
  expected: SegmentExpectation,
  visitor: SegmentVisitor = {},
): Promise<ScannedSegment> {
  return withSegment(vfs, segment, async (file, head, bytes) => {
    const header = checkHeader(segment, head, expected)
    const marks = new PositionMarks(segment.lsnFirst)
    const nothing = {
      file: segment,
      bytes,
      end: 0,
      lsnLast: segment.lsnFirst - 1,
      chain: 0n,
      frames: 0,
      userFrames: 0,
      cleanlyClosed: false,
      marks,
    }
    if ('why' in header) return { ...nothing, header: undefined, bad: header }
    const reader = new FrameReader(file, {
      epoch: header.epoch,
      position: segmentHeaderBytes,
      end: bytes,
      payloads: 'lend',
    })
    let lsn = header.lsnFirst - 1
    let chain = header.chainBefore
    let frames = 0
    let userFrames = 0
    let lastType = 0
    let end = segmentHeaderBytes
    let bad: BadSpot | undefined
    while (end < bytes) {
      const frame = await reader.next()
      if (frame === undefined) bad = { offset: end, why: 'no frame verifies here (checksum, length or type)' }
      else if (frame.header.lsn !== lsn + 1) bad = { offset: end, why: `the frame here has LSN ${frame.header.lsn}` }
      else if (frame.header.prevSum !== chain)
        bad = { offset: end, why: 'the frame does not follow the one before it (chain)' }
      if (frame === undefined || bad !== undefined) break
      lsn++
      marks.note(lsn, frame.offset)
      frames++
      if (frame.header.type >= recordType.userMin) userFrames++
      chain = frame.sum
      lastType = frame.header.type
      end += frame.bytes
      visitor.onFrame?.(frame)
      visitor.onBytes?.(frame.bytes)
    }
    const cleanlyClosed = lastType === recordType.cleanClose && bad === undefined
    return { file: segment, header, bytes, end, lsnLast: lsn, chain, frames, userFrames, cleanlyClosed, bad, marks }
  })
}
