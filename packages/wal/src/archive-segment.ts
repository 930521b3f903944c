// Puts a sealed segment into the archive before the log removes it. The archive keeps its name and holds a hard link
// where possible.
import { dirname, join, resolve } from 'node:path'
import { errnoOf, WalError } from './errors.ts'
import { type SegmentFile, withSegment } from './scan-segment.ts'
import { linkOrCopy } from './transfer.ts'
import type { Vfs } from './vfs.ts'
import { makeDurableDirectory } from './whole-file.ts'

/** Durable when the promise resolves. Never replaces an existing archive file that holds a different segment. */
export async function archiveSegment(vfs: Vfs, segment: SegmentFile, dir: string): Promise<void> {
  await makeDurableDirectory(vfs, dir, dirname(dirname(resolve(dir))))
  const path = join(dir, segment.name)
  try {
    await linkOrCopy(vfs, segment.path, path)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    // A crash between archiving and removal leaves the segment in both places.
    const [here, there] = await Promise.all([segment, { ...segment, path }].map((file) => headAndSize(vfs, file)))
    if (here !== there)
      throw new WalError(
        'log_damaged',
        `${path} and ${segment.path} have the same name and different content; neither file was changed`,
        {
          file: path,
        },
      )
  }
  await vfs.syncDirectory(dir)
}

/** The header holds a random number, so two different segments never compare as equal. */
function headAndSize(vfs: Vfs, segment: SegmentFile): Promise<string> {
  return withSegment(vfs, segment, async (_file, head, bytes) => `${bytes} ${head.toString('hex')}`)
}
