// Reads and writes license/license.lic in the data directory: a regular file of limited size. Symbolic links are not followed, a
// named pipe cannot block, and the file is replaced atomically.
import { constants } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { createWhole, nodeVfs, writeFully } from '@annal/wal'
import { licenseBytesMax } from './license-file.ts'

/** Reads and writes the text of a license. */
export interface LicensePlace {
  /** Returns undefined if the file does not exist. Throws if it is too large or not a regular file. */
  read(): Promise<string | undefined>
  write(text: string): Promise<void>
}

/** The license file of a data directory. */
export function licensePlace(dataDir: string): LicensePlace {
  const dir = path.join(dataDir, 'license')
  const file = path.join(dir, 'license.lic')
  return {
    async read() {
      if (!(await isPlainDirectory(dir))) return undefined
      const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(absent)
      if (handle === undefined) return undefined
      try {
        const stat = await handle.stat()
        if (!stat.isFile() || stat.size > licenseBytesMax) throw new Error('license.lic is not a regular file')
        const bytes = Buffer.alloc(stat.size)
        await handle.read(bytes, 0, stat.size, 0)
        return bytes.toString('latin1')
      } finally {
        await handle.close()
      }
    },
    async write(text) {
      await mkdir(dir, { recursive: true, mode: 0o700 })
      if (!(await isPlainDirectory(dir))) throw new Error('license in the data directory is not a directory')
      await createWhole(nodeVfs(), file, (handle) => writeFully(handle, Buffer.from(text, 'latin1'), 0))
    },
  }
}

async function isPlainDirectory(dir: string): Promise<boolean> {
  const stat = await lstat(dir).catch(absent)
  return stat?.isDirectory() ?? false
}

function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
