// Shows a log as it is on the disk, frame by frame, good or bad. It only reads, and may run while the log is written.
import { recordType } from '../frame.ts'
import { FrameReader, type ReadFrame } from '../frame-reader.ts'
import { listLogFiles, type SegmentFile, withSegment } from '../scan-segment.ts'
import { decodeSegmentHeader, segmentHeaderBytes } from '../segment-header.ts'
import { readTip } from '../tip.ts'
import type { Vfs } from '../vfs.ts'

/** One line of a dump: a segment, a frame, bytes that do not verify, or TIP. */
export type DumpLine =
  | {
      readonly kind: 'tip'
      readonly missing: boolean
      readonly damagedSlots: number
      readonly durableLsn: number
      readonly segmentId: number
    }
  | {
      readonly kind: 'segment'
      readonly file: string
      readonly bytes: number
      readonly id: number
      readonly lsnFirst: number
      readonly epoch: string
      readonly chainBefore: string
      readonly timeline: number
    }
  | {
      readonly kind: 'record'
      readonly file: string
      readonly offset: number
      readonly lsn: number
      readonly type: number
      readonly name?: string
      readonly version: number
      readonly length: number
      readonly durableLsn: number
      readonly sum: string
      /** False when the frame verifies alone but does not follow the one before it. */
      readonly follows: boolean
      readonly payload?: string
    }
  | {
      readonly kind: 'bad'
      readonly file: string
      readonly offset: number
      readonly bytes: number
      readonly why: string
    }

/** What to dump. */
export interface DumpOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly lsnFrom?: number
  readonly lsnTo?: number
  /** How many bytes of each payload to show, in base64; none by default. */
  readonly payloadBytes?: number
}

/** Yields the lines of a dump in the order of the log. */
export async function* dumpLog(options: DumpOptions): AsyncGenerator<DumpLine> {
  const { vfs, dir } = options
  const tip = await readTip(vfs, dir)
  const { durableLsn, segmentId } = tip.newest ?? { durableLsn: 0, segmentId: 0 }
  yield { kind: 'tip', missing: tip.missing, damagedSlots: tip.damagedSlots, durableLsn, segmentId }
  const { segments } = await listLogFiles(vfs, dir)
  for (const [i, segment] of segments.entries()) {
    const follower = segments[i + 1]
    if (follower !== undefined && follower.lsnFirst <= (options.lsnFrom ?? 0)) continue
    if (segment.lsnFirst > (options.lsnTo ?? Infinity)) return
    for (const line of await dumpSegment(options, segment)) yield line
  }
}

/** Memory holds the lines of one segment at a time. */
function dumpSegment(options: DumpOptions, segment: SegmentFile): Promise<DumpLine[]> {
  return withSegment(options.vfs, segment, async (file, head, bytes) => {
    const found = decodeSegmentHeader(head)
    if (found.kind !== 'header') {
      const why = found.kind === 'damaged' ? found.why : `format ${found.version} is too new`
      return [{ kind: 'bad', file: segment.name, offset: 0, bytes, why }]
    }
    const { id, lsnFirst, epoch, chainBefore, timeline } = found.header
    const lines: DumpLine[] = [
      {
        kind: 'segment',
        file: segment.name,
        bytes,
        id,
        lsnFirst,
        epoch: hex(epoch),
        chainBefore: hex(chainBefore),
        timeline,
      },
    ]
    const reader = new FrameReader(file, { epoch, position: segmentHeaderBytes, end: bytes, payloads: 'lend' })
    let [lsn, chain, badFrom] = [lsnFirst - 1, chainBefore, segmentHeaderBytes]
    for (let frame = await reader.find(); frame !== undefined; frame = await reader.find()) {
      if (frame.offset > badFrom) lines.push(badLine(segment, badFrom, frame.offset))
      const follows = frame.header.lsn === lsn + 1 && frame.header.prevSum === chain
      if (isWanted(options, frame)) lines.push(recordLine(options, segment, frame, follows))
      lsn = frame.header.lsn
      chain = frame.sum
      badFrom = frame.offset + frame.bytes
    }
    if (bytes > badFrom) lines.push(badLine(segment, badFrom, bytes))
    return lines
  })
}

function isWanted(options: DumpOptions, frame: ReadFrame): boolean {
  return frame.header.lsn >= (options.lsnFrom ?? 0) && frame.header.lsn <= (options.lsnTo ?? Infinity)
}

function recordLine(options: DumpOptions, segment: SegmentFile, frame: ReadFrame, follows: boolean): DumpLine {
  const { lsn, type, version, length, durableLsn } = frame.header
  const name = type === recordType.marker ? 'Marker' : type === recordType.cleanClose ? 'CleanClose' : undefined
  const shown = options.payloadBytes ?? 0
  return {
    kind: 'record',
    file: segment.name,
    offset: frame.offset,
    lsn,
    type,
    ...(name === undefined ? {} : { name }),
    version,
    length,
    durableLsn,
    sum: hex(frame.sum),
    follows,
    ...(shown > 0 ? { payload: frame.payload.subarray(0, shown).toString('base64') } : {}),
  }
}

function badLine(segment: SegmentFile, from: number, to: number): DumpLine {
  return { kind: 'bad', file: segment.name, offset: from, bytes: to - from, why: 'no frame verifies here' }
}

function hex(value: bigint): string {
  return value.toString(16).padStart(16, '0')
}
