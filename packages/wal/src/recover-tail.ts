// Makes the end of a scanned log safe to append to. After an unclean stop the page cache may hold bytes that the disk
// never received (a failed sync marks pages as clean). So the good part is written again into a new file; old tails are
// never appended to. The cache may have lost such bytes since the scan, so the new file is verified.
import { join } from 'node:path'
import { FrameReader } from './frame-reader.ts'
import type { LogScan } from './scan-log.ts'
import type { ScannedSegment } from './scan-segment.ts'
import { segmentHeaderBytes } from './segment-header.ts'
import { copyRange, createSegment, startAfter, type Tail, type TailPlace } from './tail.ts'
import type { Vfs, VfsFile } from './vfs.ts'

/** Rewrites the last segment when the stop was not clean, and returns the new segment to append to. Can be retried. */
export async function recoverTail(place: TailPlace, scan: LogScan): Promise<Tail> {
  const last = scan.segments.at(-1)
  if (last !== undefined && last.frames !== 0 && !scan.cleanlyClosed) {
    const range = { source: last.file.path, target: last.file.path, from: 0, to: last.end }
    await copyRange(place.vfs, range, (copy) => verifyCopy(copy, last))
  }
  return createSegment(place, startAfter(scan))
}

/** Throws EIO unless the file has the frames that the scan found: the system read other bytes meanwhile, which nothing else would show before the next start. */
async function verifyCopy(copy: VfsFile, { file, header, end, frames, chain }: ScannedSegment): Promise<void> {
  const epoch = header?.epoch ?? 0n
  const reader = new FrameReader(copy, { epoch, position: segmentHeaderBytes, end, payloads: 'lend' })
  let [count, sum] = [0, header?.chainBefore]
  for (let frame = await reader.next(); frame !== undefined; frame = await reader.next()) {
    if (frame.header.prevSum !== sum) break
    count++
    sum = frame.sum
  }
  if (count === frames && sum === chain && reader.position === end) return
  const what = `EIO: ${file.path} has other bytes at offset ${reader.position} than when it was scanned`
  throw Object.assign(new Error(what), { code: 'EIO' })
}

/** On a disk too full to rewrite the tail, syncs the existing tail so that it can be read until there is space. */
export async function syncTailInPlace(vfs: Vfs, dir: string, scan: LogScan): Promise<void> {
  await vfs.syncDirectory(dir)
  const last = scan.segments.at(-1)
  if (last === undefined) return
  const file = await vfs.open(last.file.path, 'write')
  try {
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Removes what an interrupted write left. */
export async function removeTemporaries(vfs: Vfs, dir: string, scan: LogScan): Promise<void> {
  for (const name of scan.files.temporaries) await vfs.remove(join(dir, name))
  if (scan.files.temporaries.length > 0) await vfs.syncDirectory(dir)
}
