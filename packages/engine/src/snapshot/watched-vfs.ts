// Files that report what is read of them.
import type { Vfs } from '@annal/wal'

/** Files of `open` call `onRead` with the bytes of each read; what it throws ends the read. */
export function watched(vfs: Pick<Vfs, 'open'>, onRead: ((bytes: number) => void) | undefined): Pick<Vfs, 'open'> {
  if (!onRead) return vfs
  return {
    async open(path, mode) {
      const file = await vfs.open(path, mode)
      const read = async (bytes: Uint8Array, position: number): Promise<number> => {
        const got = await file.read(bytes, position)
        onRead(got)
        return got
      }
      return {
        read,
        write: (bytes, position) => file.write(bytes, position),
        datasync: () => file.datasync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close(),
      }
    },
  }
}
