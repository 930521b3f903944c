// Makes the end of a scanned log safe to append to. After an unclean stop the page cache may hold bytes that the disk
// never received (a failed sync marks pages as clean). So the good part is written again into a new file; old tails are
// never appended to.
import { join } from 'node:path'
import type { LogScan } from './scan-log.ts'
import { copyRange, createSegment, startAfter, type Tail, type TailPlace } from './tail.ts'
import type { Vfs } from './vfs.ts'

/** Rewrites the last segment when the stop was not clean, and returns the new segment to append to. Can be retried. */
export async function recoverTail(place: TailPlace, scan: LogScan): Promise<Tail> {
  const last = scan.segments.at(-1)
  if (last !== undefined && last.frames !== 0 && !scan.cleanlyClosed) {
    await copyRange(place.vfs, { source: last.file.path, target: last.file.path, from: 0, to: last.end })
  }
  return createSegment(place, startAfter(scan))
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
