// Reads the records of a log without opening it: no lock, no writes, also while its owner appends. Every frame is
// verified and must follow the one before it.
import { recordType } from '../frame.ts'
import { FrameReader } from '../frame-reader.ts'
import { durableLsnOf, historySegments } from '../history.ts'
import type { LogRecord, Lsn } from '../log.ts'
import { refusal } from '../scan-log.ts'
import { checkHeader, type SegmentFile } from '../scan-segment.ts'
import { segmentHeaderBytes } from '../segment-header.ts'
import { judgeTail } from '../torn-tail.ts'
import type { Vfs, VfsFile } from '../vfs.ts'
import { readFully } from '../whole-file.ts'

/** The log to read, and the range of its records. */
export interface ReadFilesOptions {
  readonly vfs: Vfs
  readonly dir: string
  /** Folder of archived segments; may be absent. */
  readonly archiveDir?: string | undefined
  readonly lsnFrom?: number
  readonly lsnTo?: number
}

/** Where the next segment must continue. */
interface Place {
  readonly id: number
  readonly lsnFirst: number
  readonly chainBefore: bigint
}

/**
 * Yields records in order up to the last whole frame; a write in progress at the very end is not included. Throws
 * WalError log_damaged when a sealed segment is incomplete or does not follow the one before, or when durable records follow the last frame.
 */
export async function* readLogFiles(options: ReadFilesOptions): AsyncGenerator<LogRecord, void> {
  const { vfs, dir, archiveDir, lsnFrom = 1, lsnTo = Infinity } = options
  // Before the log is read, because its owner may append.
  const lsnDurable = await durableLsnOf(vfs, dir)
  const segments = await historySegments({ vfs, dirs: archiveDir === undefined ? [dir] : [archiveDir, dir] })
  let place: Place | undefined
  for (const [i, segment] of segments.entries()) {
    const follower = segments[i + 1]
    if (segment.lsnFirst > lsnTo) return
    if (follower !== undefined && follower.lsnFirst <= lsnFrom) continue
    for await (const found of segmentRecords(vfs, segment, { place, isLast: follower === undefined, lsnDurable })) {
      if ('chainBefore' in found) place = found
      else if (found.lsn > lsnTo) return
      else if (found.lsn >= lsnFrom) yield found
    }
  }
}

/** Yields the records of one segment; returns the place where the next one continues. */
async function* segmentRecords(
  vfs: Vfs,
  segment: SegmentFile,
  {
    place,
    isLast,
    lsnDurable,
  }: { readonly place: Place | undefined; readonly isLast: boolean; readonly lsnDurable: number },
): AsyncGenerator<LogRecord | Place, void> {
  const file = await vfs.open(segment.path, 'read')
  try {
    const bytes = await file.size()
    const head = Buffer.alloc(segmentHeaderBytes)
    await readFully(file, head, 0)
    const expected = place ?? { id: undefined, lsnFirst: undefined, chainBefore: undefined }
    const header = checkHeader(segment, head, expected)
    if ('why' in header) throw refusal(segment, 0, segment.lsnFirst, header.why, bytes)
    const reader = new FrameReader(file, {
      epoch: header.epoch,
      position: segmentHeaderBytes,
      end: bytes,
      payloads: 'give',
    })
    let [lsn, chain] = [segment.lsnFirst, header.chainBefore]
    while (reader.position < bytes) {
      const offset = reader.position
      const frame = await reader.next()
      if (frame === undefined || frame.header.lsn !== lsn || frame.header.prevSum !== chain) {
        if (!isLast)
          throw refusal(segment, offset, lsn, 'the frame that belongs here is missing; the segment was sealed', bytes)
        return await refuseDamage(file, segment, { epoch: header.epoch, offset, bytes, lsn, lsnDurable })
      }
      const { type, version } = frame.header
      // The value was read and checked, so the brand is applied here.
      if (type >= recordType.userMin) yield { lsn: lsn as Lsn, type, version, payload: frame.payload }
      lsn++
      chain = frame.sum
    }
    yield { id: segment.id + 1, lsnFirst: lsn, chainBefore: chain }
  } finally {
    await file.close()
  }
}

/** The end of the log may be a frame that is being written, or a torn one. Throws log_damaged if the record there was durable. */
async function refuseDamage(
  file: VfsFile,
  segment: SegmentFile,
  end: {
    readonly epoch: bigint
    readonly offset: number
    readonly bytes: number
    readonly lsn: number
    readonly lsnDurable: number
  },
): Promise<void> {
  const { epoch, offset, bytes, lsn, lsnDurable } = end
  const reader = new FrameReader(file, { epoch, position: offset, end: bytes, payloads: 'lend' })
  const durable = { lsn: lsnDurable, source: 'TIP' }
  const verdict = await judgeTail({ reader, bytes, lsnExpected: lsn, durable })
  if (verdict.kind === 'damaged') throw refusal(segment, offset, lsn, verdict.evidence, bytes)
}
