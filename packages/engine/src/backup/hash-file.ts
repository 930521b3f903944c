// SHA-256 of a file, in slices, so that searches go on in between.
import { createHash } from 'node:crypto'
import { readFully, type Vfs } from '@annal/wal'
import { givingWay } from './give-way.ts'

const sliceBytes = 256 * 1024

/** Of the first `bytes` bytes, or of the whole file; says how many there were. */
export async function hashFile(
  vfs: Vfs,
  path: string,
  bytes = Number.POSITIVE_INFINITY,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const file = await vfs.open(path, 'read')
  try {
    const hash = createHash('sha256')
    const slice = new Uint8Array(sliceBytes)
    const giveWay = givingWay()
    let at = 0
    while (at < bytes) {
      const got = await readFully(file, slice.subarray(0, Math.min(sliceBytes, bytes - at)), at)
      if (got === 0) break
      hash.update(slice.subarray(0, got))
      at += got
      await giveWay(got)
    }
    return { bytes: at, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
