// Reads the records of a log without opening it: no lock, no writes, also while its owner appends. Every frame is verified and
// must follow the one before it.
import { recordType } from '../frame.ts'
import { FrameReader } from '../frame-reader.ts'
import { historySegments } from '../history.ts'
import type { LogRecord, Lsn } from '../log.ts'
import { refusal } from '../scan-log.ts'
import { checkHeader, type SegmentFile } from '../scan-segment.ts'
import { segmentHeaderBytes } from '../segment-header.ts'
import type { Vfs } from '../vfs.ts'
import { readFully } from '../whole-file.ts'

export interface ReadFilesOptions {
  readonly vfs: Vfs
  readonly dir: string
  /** Where older segments were put away; may be absent. */
  readonly archiveDir?: string | undefined
  readonly lsnFrom?: number
  readonly lsnTo?: number
}

/** Where the next segment must go on. */
interface Place {
  readonly id: number
  readonly lsnFirst: number
  readonly chainBefore: bigint
}

/**
 * Records in order, as far as whole frames reach; what a write in flight has left at the very end is not given. Throws WalError
 * log_damaged where a sealed segment is not whole or does not follow the one before.
 */
export async function* readLogFiles(options: ReadFilesOptions): AsyncGenerator<LogRecord, void> {
  const { vfs, dir, archiveDir, lsnFrom = 1, lsnTo = Infinity } = options
  // The archive last: a segment that is put away meanwhile is then found there.
  const segments = await historySegments({ vfs, dirs: archiveDir === undefined ? [dir] : [dir, archiveDir] })
  let place: Place | undefined
  for (const [i, segment] of segments.entries()) {
    const follower = segments[i + 1]
    if (segment.lsnFirst > lsnTo) return
    if (follower !== undefined && follower.lsnFirst <= lsnFrom) continue
    for await (const found of segmentRecords(vfs, segment, { place, isLast: follower === undefined })) {
      if ('chainBefore' in found) place = found
      else if (found.lsn > lsnTo) return
      else if (found.lsn >= lsnFrom) yield found
    }
  }
}

/** The records of one segment, and at its end the place where the next one goes on. */
async function* segmentRecords(
  vfs: Vfs,
  segment: SegmentFile,
  { place, isLast }: { readonly place: Place | undefined; readonly isLast: boolean },
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
        if (isLast) return
        throw refusal(segment, offset, lsn, 'no frame that belongs here; the segment was sealed', bytes)
      }
      const { type, version } = frame.header
      // The branded number is made here, where it was read and checked.
      if (type >= recordType.userMin) yield { lsn: lsn as Lsn, type, version, payload: frame.payload }
      lsn++
      chain = frame.sum
    }
    yield { id: segment.id + 1, lsnFirst: lsn, chainBefore: chain }
  } finally {
    await file.close()
  }
}
