// SHA-256 of a file, in slices, so that searches go on in between.
import { createHash } from 'node:crypto'
import { IdlePace, readFully, type Vfs } from '@annal/wal'

const sliceBytes = 256 * 1024

/** Says how many bytes there were. `onRead` is told of each slice, and ends the work by throwing. */
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
    let at = 0
    for (;;) {
      const got = await readFully(file, slice, at)
      if (got === 0) break
      hash.update(slice.subarray(0, got))
      at += got
      onRead(got)
      await pace.spend(got)
    }
    return { bytes: at, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
