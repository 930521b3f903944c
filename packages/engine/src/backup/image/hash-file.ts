// SHA-256 of a file, computed in slices, so that searches run in between.
import { createHash } from 'node:crypto'
import { IdlePace, readFully, type Vfs } from '@annal/wal'

const sliceBytes = 256 * 1024

/** Returns the number of bytes. `onRead` is called for each slice and stops the work by throwing. */
export async function hashFile(
  vfs: Vfs,
  path: string,
  onRead: (bytes: number) => void = () => undefined,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const file = await vfs.open(path, 'read')
  try {
    const hash = createHash('sha256')
    const slice = new Uint8Array(sliceBytes)
    const pace = new IdlePace()
    let offset = 0
    for (;;) {
      const got = await readFully(file, slice, offset)
      if (got === 0) break
      hash.update(slice.subarray(0, got))
      offset += got
      onRead(got)
      await pace.spend(got)
    }
    return { bytes: offset, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
