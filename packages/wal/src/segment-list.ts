// The segments of an open log, oldest first, the tail last. It decides which can be read and which can be removed.

import { archiveSegment } from './archive-segment.ts'
import type { LogRecord } from './log.ts'
import { PositionMarks } from './position-marks.ts'
import { notHeld, type ReadRange, readRecords } from './read-log.ts'
import type { SegmentFile } from './scan-segment.ts'
import type { Vfs } from './vfs.ts'

/** A segment of an open log. */
export interface HeldSegment {
  readonly file: SegmentFile
  readonly bytes: number
  /** Where records begin, as far as they are known. */
  readonly marks: PositionMarks
}

/** The segments of an open log. */
export class SegmentList {
  readonly #vfs: Vfs
  readonly #dir: string
  readonly #archiveDir: string | undefined
  readonly #readers = new Set<{ lsn: number }>()
  #held: HeldSegment[]
  #removalFailed: unknown
  #removing: Promise<unknown> = Promise.resolve()

  /** Removed segments are kept in `archiveDir`, when it is given. */
  constructor(vfs: Vfs, dir: string, held: readonly HeldSegment[], archiveDir?: string) {
    this.#vfs = vfs
    this.#dir = dir
    this.#archiveDir = archiveDir
    this.#held = [...held]
  }

  get count(): number {
    return this.#held.length
  }

  get lsnFirst(): number | undefined {
    return this.#held[0]?.file.lsnFirst
  }

  /** Bytes of all segments except the one being written. */
  bytesWithout(tailId: number | undefined): number {
    let bytes = 0
    for (const { file, bytes: size } of this.#held) if (file.id !== tailId) bytes += size
    return bytes
  }

  /** Adds a new tail; it replaces an empty segment of the same id. */
  add(file: SegmentFile): void {
    this.#held = this.#held.filter((held) => held.file.id !== file.id)
    this.#held.push({ file, bytes: 0, marks: new PositionMarks(file.lsnFirst) })
  }

  /** Notes that a record begins at this offset of the tail. */
  noteRecord({ id }: Pick<SegmentFile, 'id'>, lsn: number, offset: number): void {
    this.#held.find(({ file }) => file.id === id)?.marks.note(lsn, offset)
  }

  markSealed(id: number, bytes: number): void {
    this.#held = this.#held.map((held) => (held.file.id === id ? { ...held, bytes } : held))
  }

  async *read(range: ReadRange): AsyncGenerator<LogRecord> {
    const lsnFirst = this.lsnFirst ?? 1
    if (range.from < lsnFirst) throw notHeld(range.from, lsnFirst)
    const place = { lsn: range.from }
    this.#readers.add(place)
    try {
      for await (const record of readRecords(this.#vfs, [...this.#held], range)) {
        place.lsn = record.lsn
        yield record
      }
    } finally {
      this.#readers.delete(place)
    }
  }

  /**
   * Removes the segments whose records are all below `lsn`; never the tail, never one that a reader still needs. Calls are carried out one
   * after the other.
   */
  removeBefore(lsn: number): Promise<void> {
    const removed = this.#removing.then(() => this.#removeBefore(lsn))
    this.#removing = removed.catch(() => undefined)
    return removed
  }

  /** Resolves when no segment is being removed. */
  async settled(): Promise<void> {
    await this.#removing
  }

  async #removeBefore(lsn: number): Promise<void> {
    for (;;) {
      const [oldest, follower] = this.#held
      if (oldest === undefined || follower === undefined) return
      if (follower.file.lsnFirst > lsn || this.#isPinned(follower.file)) return
      // After a failed removal it is unknown which names the disk keeps; removing more could leave a gap.
      if (this.#removalFailed !== undefined) throw this.#removalFailed
      if (this.#archiveDir !== undefined) await archiveSegment(this.#vfs, oldest.file, this.#archiveDir)
      // A reader may have begun meanwhile.
      if (this.#isPinned(follower.file)) return
      this.#held.shift()
      await this.#remove(oldest.file.path)
    }
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#vfs.remove(path)
      // One removal at a time. Otherwise a power cut could keep an older name and lose a newer one, which leaves a gap.
      await this.#vfs.syncDirectory(this.#dir)
    } catch (error) {
      this.#removalFailed = error
      throw error
    }
  }

  /** True while a reader has not reached `follower`: the segment before it must stay. */
  #isPinned(follower: SegmentFile): boolean {
    for (const reader of this.#readers) if (reader.lsn < follower.lsnFirst) return true
    return false
  }
}
