// Watches the free space of the disk. It has expendable data freed in time, stops writing before the disk refuses, and
// detects when there is space again.
import { join } from 'node:path'
import type { Clock } from './clock.ts'
import { errnoOf } from './errors.ts'
import { reserveBelowBytes, reserveBytes } from './limits.ts'
import type { Reserve } from './reserve.ts'
import type { Vfs } from './vfs.ts'
import { writeFully } from './whole-file.ts'

/** When writing stops and resumes. */
export interface SpaceLimits {
  /** Writing stops below this. */
  readonly freeBytesHard: number
  /** Writing resumes after this much has been free for `resumeAfterMs`. */
  readonly freeBytesLow: number
  readonly resumeAfterMs: number
  readonly checkEveryMs: number
}

/** Frees expendable data, about this many bytes; returns whether it freed any. Never rejects. */
export type MakeRoom = (bytes: number) => Promise<boolean>

/** What is watched, and whom to call. */
export interface SpaceWatchOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly clock: Clock
  readonly limits: SpaceLimits
  readonly isReadOnly: () => boolean
  readonly makeRoom: MakeRoom
  readonly reserve: Reserve | undefined
  readonly onLow: (reason: string) => void
  /** There has been space for long enough, and a probe was written and synced. */
  readonly onRoom: () => void
}

/** Checks the free space of one log's disk at intervals. */
export class SpaceWatch {
  readonly #options: SpaceWatchOptions
  #roomSinceMs: number | undefined
  #cancel: (() => void) | undefined
  #checking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: SpaceWatchOptions) {
    this.#options = options
    this.#arm()
  }

  /** Runs the first check at once. Its failure is ignored, because the next check reports the same. */
  async begin(): Promise<void> {
    await this.#check().catch(ignoreDisk)
  }

  /** Resolves when no check is running, so that nothing is written to the directory afterwards. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#checking
  }

  #arm(): void {
    const { clock, limits } = this.#options
    this.#cancel = clock.after(limits.checkEveryMs, () => {
      // A failed check does not end the watch.
      this.#checking = this.#check().catch(() => undefined)
      void this.#checking.then(() => !this.#stopped && this.#arm())
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
    if ((await this.#probe()) && !this.#stopped) this.#options.onRoom()
  }

  /** Returns the free bytes. When they are few, it frees all expendable data first. */
  async #free(): Promise<number> {
    const { vfs, dir, limits, makeRoom, reserve } = this.#options
    let free = await vfs.freeBytes(dir)
    while (free < limits.freeBytesLow && (await makeRoom(limits.freeBytesLow - free))) free = await vfs.freeBytes(dir)
    if (reserve !== undefined && free < reserveBelowBytes && free > limits.freeBytesHard + reserveBytes)
      await reserve.take().catch(ignoreDisk)
    return free
  }

  /** Reported free bytes can still be refused (quotas, reserves), so the probe does a real write and a real sync. */
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
