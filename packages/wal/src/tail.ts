// The end of the log being written: one segment file and one position. It handles bytes and syncs; its owner decides
// what a failure means.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Batch } from './batch.ts'
import { seedOf } from './frame.ts'
import type { LogScan } from './scan-log.ts'
import { encodeSegmentHeader, type SegmentHeader, segmentHeaderBytes, segmentName } from './segment-header.ts'
import type { Vfs, VfsFile } from './vfs.ts'
import { createWhole, readFully, writeFully } from './whole-file.ts'

/** Where a segment begins in the log. */
export interface SegmentStart {
  readonly id: number
  readonly lsnFirst: number
  readonly chainBefore: bigint
}

/** The directory of the log, and what is written to the headers of its segments. */
export interface TailPlace {
  readonly vfs: Vfs
  readonly dir: string
  readonly timeline: number
  readonly makeEpoch: () => bigint
}

/** The segment that is being written. */
export class Tail {
  readonly header: SegmentHeader
  readonly path: string
  readonly seed: number
  readonly #file: VfsFile
  #position = segmentHeaderBytes

  constructor(file: VfsFile, path: string, header: SegmentHeader) {
    this.#file = file
    this.path = path
    this.header = header
    this.seed = seedOf(header.epoch)
  }

  get bytes(): number {
    return this.#position
  }

  /** Appends the batch. The position moves only when every byte was written. */
  async write(batch: Batch): Promise<void> {
    let offset = this.#position
    for (const chunk of batch.chunks) {
      await writeFully(this.#file, chunk, offset)
      offset += chunk.length
    }
    this.#position = offset
  }

  sync(): Promise<void> {
    return this.#file.datasync()
  }

  /** Truncates the file to the last whole batch after a failed write. */
  async cutBack(): Promise<void> {
    await this.#file.truncate(this.#position)
    await this.#file.datasync()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Creates a new segment, which becomes visible only when its header is durable. */
export async function createSegment(place: TailPlace, start: SegmentStart): Promise<Tail> {
  const header = { ...start, epoch: place.makeEpoch(), timeline: place.timeline }
  const path = join(place.dir, segmentName(start.id, start.lsnFirst))
  await createWhole(place.vfs, path, (file) => writeFully(file, encodeSegmentHeader(header), 0))
  return new Tail(await place.vfs.open(path, 'write'), path, header)
}

/** A random number for the header of a segment. */
export function randomEpoch(): bigint {
  return randomBytes(8).readBigUInt64LE()
}

/**
 * Where the next segment begins after a scan. A last segment without records is replaced, so that repeated crashes
 * leave no chain of empty segments.
 */
export function startAfter(scan: LogScan): SegmentStart {
  const last = scan.segments.at(-1)
  const lsnFirst = scan.lsnLast + 1
  if (last === undefined) return { id: 1, lsnFirst, chainBefore: 0n }
  const id = last.frames === 0 ? last.file.id : last.file.id + 1
  return { id, lsnFirst, chainBefore: scan.chain }
}

const copyBytes = 1024 * 1024

/**
 * Copies `[from, to)` of the file at `source` into a new file at `target`, which may be the same path. Throws ENODATA if it ends before. The
 * new file gets its name after `check`.
 */
export async function copyRange(
  vfs: Vfs,
  range: { source: string; target: string; from: number; to: number },
  check?: (target: VfsFile) => Promise<void>,
): Promise<void> {
  const source = await vfs.open(range.source, 'read')
  try {
    await createWhole(vfs, range.target, async (target) => {
      const block = Buffer.allocUnsafeSlow(Math.min(copyBytes, range.to - range.from))
      for (let offset = range.from; offset < range.to; offset += block.length) {
        const part = block.subarray(0, Math.min(block.length, range.to - offset))
        const got = await readFully(source, part, offset)
        if (got < part.length) throw tooShort(range.source, range.to, offset + got)
        await writeFully(target, part, offset - range.from)
      }
      await check?.(target)
    })
  } finally {
    await source.close()
  }
}

function tooShort(path: string, bytes: number, found: number): Error {
  return Object.assign(new Error(`ENODATA: ${path} ends at byte ${found} instead of ${bytes}`), { code: 'ENODATA' })
}
