// Watches the room on the disk: has what can be done without given up in time, warns before the disk refuses, and finds out when
// there is room again.
import { join } from 'node:path'
import type { Clock } from './clock.ts'
import { errnoOf } from './errors.ts'
import { reserveBelowBytes, reserveBytes } from './limits.ts'
import type { Reserve } from './reserve.ts'
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

/** Gives up what can be done without, for about so many bytes; says whether there was any. Never rejects. */
export type MakeRoom = (bytes: number) => Promise<boolean>

export interface SpaceWatchOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly clock: Clock
  readonly limits: SpaceLimits
  readonly isReadOnly: () => boolean
  readonly makeRoom: MakeRoom
  readonly reserve: Reserve | undefined
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

  /** The first look, at once; its failure says nothing that the next would not. */
  async begin(): Promise<void> {
    await this.#check().catch(ignoreDisk)
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
    const { limits, clock } = this.#options
    const free = await this.#free()
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

  /** After everything that can be done without is gone, where there is little. */
  async #free(): Promise<number> {
    const { vfs, dir, limits, makeRoom, reserve } = this.#options
    let free = await vfs.freeBytes(dir)
    while (free < limits.freeBytesLow && (await makeRoom(limits.freeBytesLow - free))) free = await vfs.freeBytes(dir)
    if (reserve !== undefined && free < reserveBelowBytes && free > limits.freeBytesHard + reserveBytes)
      await reserve.take().catch(ignoreDisk)
    return free
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

function ignoreDisk(error: unknown): void {
  if (errnoOf(error) === undefined) throw error
}
