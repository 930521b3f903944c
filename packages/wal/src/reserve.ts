// Reserved space for records that free space: a file of meaningless bytes, parts of which are released when the disk is
// full. None is kept while the disk has so much free space that nothing fills it between two checks.
import { randomFillSync } from 'node:crypto'
import type { Vfs } from './vfs.ts'
import { writeFully } from './whole-file.ts'

/** The file and size of a reserve. */
export interface ReserveOptions {
  readonly vfs: Vfs
  readonly path: string
  readonly bytes: number
}

const stepBytes = 1024 * 1024

/** Disk space that can be released in parts. */
export class Reserve {
  readonly #options: ReserveOptions

  constructor(options: ReserveOptions) {
    this.#options = options
  }

  /** Extends the reserve to its full size. A full disk is not a failure: the part that fits is kept. */
  async take(): Promise<void> {
    const { vfs, path, bytes } = this.#options
    const file = await vfs.open(path, (await vfs.exists(path)) ? 'write' : 'create')
    try {
      // Random bytes, because a file system may compress zeros to nothing.
      const block = randomFillSync(Buffer.alloc(stepBytes))
      for (let offset = await file.size(); offset < bytes; offset += block.length)
        await writeFully(file, block.subarray(0, Math.min(block.length, bytes - offset)), offset)
    } finally {
      await file.close()
    }
  }

  /** Releases one part to the disk; false when nothing is left. */
  async give(): Promise<boolean> {
    const { vfs, path } = this.#options
    if (!(await vfs.exists(path))) return false
    const file = await vfs.open(path, 'write')
    try {
      const size = await file.size()
      if (size === 0) return false
      await file.truncate(Math.max(0, size - stepBytes))
      // Some file systems release blocks only when their journal is written.
      await file.datasync()
      return true
    } finally {
      await file.close()
    }
  }
}
