// Watches the room on the disk: warns before the disk refuses, and finds out when there is room again.
import { join } from 'node:path'
import type { Clock } from './clock.ts'
import { errnoOf } from './errors.ts'
import type { Vfs } from './vfs.ts'
import { writeFully } from './whole-file.ts'

export interface SpaceLimits {
  /** Less than this and writing stops. */
  readonly freeBytesHard: number
  /** As much as this for `resumeAfterMs`, and writing starts again. */
  readonly freeBytesLow: number
  readonly resumeAfterMs: number
  readonly checkEveryMs: number
}

export interface SpaceWatchOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly clock: Clock
  readonly limits: SpaceLimits
  readonly isReadOnly: () => boolean
  readonly onLow: (reason: string) => void
  /** There has been room for long enough, and a probe was written and synced. */
  readonly onRoom: () => void
}

export class SpaceWatch {
  readonly #options: SpaceWatchOptions
  #roomSinceMs: number | undefined
  #cancel: (() => void) | undefined
  #stopped = false

  constructor(options: SpaceWatchOptions) {
    this.#options = options
    this.#arm()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  #arm(): void {
    const { clock, limits } = this.#options
    this.#cancel = clock.after(limits.checkEveryMs, () => {
      this.#check().then(
        () => !this.#stopped && this.#arm(),
        // A disk that cannot even be asked is no reason to stop watching it.
        () => !this.#stopped && this.#arm(),
      )
    })
  }

  async #check(): Promise<void> {
    const { vfs, dir, limits, clock } = this.#options
    const free = await vfs.freeBytes(dir)
    if (!this.#options.isReadOnly()) {
      this.#roomSinceMs = undefined
      if (free < limits.freeBytesHard)
        this.#options.onLow(`${free} bytes are free; the limit is ${limits.freeBytesHard}`)
      return
    }
    if (free < limits.freeBytesLow) {
      this.#roomSinceMs = undefined
      return
    }
    this.#roomSinceMs ??= clock.nowMs()
    if (clock.nowMs() - this.#roomSinceMs < limits.resumeAfterMs) return
    if (await this.#probe()) this.#options.onRoom()
  }

  /** Free bytes can be promised and then refused (quotas, reserves), so a real write and a real sync are asked. */
  async #probe(): Promise<boolean> {
    const { vfs, dir } = this.#options
    const path = join(dir, 'probe.tmp')
    try {
      if (await vfs.exists(path)) await vfs.remove(path)
      const file = await vfs.open(path, 'create')
      try {
        await writeFully(file, new Uint8Array(64 * 1024), 0)
        await file.datasync()
      } finally {
        await file.close()
      }
      await vfs.remove(path)
      return true
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      return false
    }
  }
}
