// Room that is kept for records that free something: a file of bytes that mean nothing, parts of which are given back to the disk
// when it is full. Where so much is free that nobody fills it between two looks, none is held.
import { randomFillSync } from 'node:crypto'
import type { Vfs } from './vfs.ts'
import { writeFully } from './whole-file.ts'

export interface ReserveOptions {
  readonly vfs: Vfs
  readonly path: string
  readonly bytes: number
}

const stepBytes = 1024 * 1024

export class Reserve {
  readonly #options: ReserveOptions

  constructor(options: ReserveOptions) {
    this.#options = options
  }

  /** Takes the room up to its full size. A disk that has none left over is no failure: what could be taken is kept. */
  async take(): Promise<void> {
    const { vfs, path, bytes } = this.#options
    const file = await vfs.open(path, (await vfs.exists(path)) ? 'write' : 'create')
    try {
      // Bytes that a file system cannot make smaller: zeros may take no room at all.
      const block = randomFillSync(Buffer.alloc(stepBytes))
      for (let at = await file.size(); at < bytes; at += block.length)
        await writeFully(file, block.subarray(0, Math.min(block.length, bytes - at)), at)
    } finally {
      await file.close()
    }
  }

  /** Gives a part back to the disk; false when nothing is left. */
  async give(): Promise<boolean> {
    const { vfs, path } = this.#options
    if (!(await vfs.exists(path))) return false
    const file = await vfs.open(path, 'write')
    try {
      const size = await file.size()
      if (size === 0) return false
      await file.truncate(Math.max(0, size - stepBytes))
      // Some file systems give blocks to others only when their journal is written.
      await file.datasync()
      return true
    } finally {
      await file.close()
    }
  }
}
