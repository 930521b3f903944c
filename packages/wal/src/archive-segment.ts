// Keeps a sealed segment in the archive before the log gives it up: under the same name, by a link where that can be made.
import { dirname, join, resolve } from 'node:path'
import { errnoOf, WalError } from './errors.ts'
import { type SegmentFile, withSegment } from './scan-segment.ts'
import { linkOrCopy } from './transfer.ts'
import type { Vfs } from './vfs.ts'
import { makeDurableDirectory } from './whole-file.ts'

/** Durable when the promise resolves. Never replaces a segment that is there and is another. */
export async function archiveSegment(vfs: Vfs, segment: SegmentFile, dir: string): Promise<void> {
  await makeDurableDirectory(vfs, dir, dirname(dirname(resolve(dir))))
  const path = join(dir, segment.name)
  try {
    await linkOrCopy(vfs, segment.path, path)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    // A crash came between the archiving and the giving up.
    const [here, there] = await Promise.all([segment, { ...segment, path }].map((file) => headAndSize(vfs, file)))
    if (here !== there)
      throw new WalError('log_damaged', `${path} is another segment than ${segment.path}; neither was changed`, {
        file: path,
      })
  }
  await vfs.syncDirectory(dir)
}

/** The head holds a random number, so that no two segments are taken for one. */
function headAndSize(vfs: Vfs, segment: SegmentFile): Promise<string> {
  return withSegment(vfs, segment, async (_file, head, bytes) => `${bytes} ${head.toString('hex')}`)
}
