// Decides how far back a restore can go. Segments removed from the log and checkpoints that recovery no longer needs
// move to `archive/`; the images of clones and restores stay in `imports/` as long as a moment may need them. All are
// removed from the old end, so that the rest always begins with a loadable checkpoint (or with the very first record)
// and continues without a gap.
import { basename, join } from 'node:path'
import { type HistoryPlace, historySegments, type Identity, type SegmentFile, sizeOf, type Vfs } from '@annal/wal'
import type { Checkpoint, CheckpointPlace } from '../snapshot/checkpoint.ts'
import { findCheckpoints } from '../snapshot/find-checkpoints.ts'
import type { Manifest } from '../snapshot/manifest.ts'
import { type DiskFile, filesOfCheckpoint, heldBeyond } from './archive-size.ts'

export interface ArchiveLimits {
  readonly maxBytes: number
  /** 0: nothing is kept, and existing history is removed. */
  readonly maxAgeMs: number
  /** Maximum share of the free disk, where archived data counts as free: 0.1 for a tenth. */
  readonly freeShareMax?: number
}

/** Archived checkpoints kept in addition to the oldest; more would shorten replays only a little. */
const basesMax = 6

export interface ArchivePlace {
  readonly vfs: Vfs
  readonly dataDir: string
  /** The uuid of the data directory; undefined while it is unknown. */
  identity(): Pick<Identity, 'uuid'> | undefined
}

/** The image of a clone or a restore that only a moment of the past needs. */
export interface ArchivedImage {
  readonly id: string
  /** LSN of the record that names it. */
  readonly lsn: number
  readonly files: readonly DiskFile[]
}

export function archivedLogDir(dataDir: string): string {
  return join(dataDir, 'archive', 'wal')
}

export function archivedCheckpointsDir(dataDir: string): string {
  return join(dataDir, 'archive', 'checkpoints')
}

/** The log together with its archive. */
export function historyOf(
  { vfs, dataDir }: Pick<ArchivePlace, 'vfs' | 'dataDir'>,
  line: { readonly timeline: number; readonly forkedAfterLsn: number },
): HistoryPlace {
  const timeline = { id: line.timeline, after: line.forkedAfterLsn }
  return { vfs, dirs: [archivedLogDir(dataDir), join(dataDir, 'wal')], timeline }
}

/** Checkpoints from which a moment can be reached, oldest first, without damaged ones. */
export async function basesOf(place: ArchivePlace): Promise<Checkpoint[]> {
  const found = new Map<string, Checkpoint>()
  // The archive is read last: a checkpoint that moves there meanwhile is then found twice, and not at all in the other order.
  for (const dir of [join(place.dataDir, 'checkpoints'), archivedCheckpointsDir(place.dataDir)])
    for (const checkpoint of (await findCheckpoints(placeOf(place, dir))).good)
      found.set(basename(checkpoint.path), checkpoint)
  return [...found.values()].sort((a, b) => a.manifest.lsn - b.manifest.lsn)
}

/** The reach and the size of the history. */
export interface Reach {
  /** The oldest record after which a moment can be restored, and its time. */
  readonly lsn: number
  readonly timeMs: number
  /** Disk space that only the history needs. */
  readonly bytes: number
  readonly segments: number
}

/** The history that remains after a trim. */
export interface Trimmed extends Reach {
  /** No moment within the limits needs images of records up to this LSN. */
  readonly lsnNotNeeded: number
  /** Something younger than the wanted age was removed, because there was no space for more. */
  readonly isShortened: boolean
  readonly bytesMax: number
  /** The checkpoint with which the history begins after the next removal; undefined if there is none. */
  readonly next: Pick<Manifest, 'lsn' | 'timeMs'> | undefined
}

/** Removes what exceeds the limits and returns what remains. The caller removes images. */
export async function trimArchive(
  place: ArchivePlace,
  limits: ArchiveLimits,
  nowMs: number,
  images: readonly ArchivedImage[] = [],
): Promise<Trimmed> {
  const archive = await Archive.open(place, images)
  await archive.dropUnreachable()
  await archive.dropOlder(nowMs - limits.maxAgeMs)
  const bytesMax = await bytesMaxOf(place, limits, archive.bytes())
  const isShortened = await archive.dropMore(bytesMax)
  const { lsnNotNeeded, next } = archive
  return { ...(await archive.reach()), lsnNotNeeded, isShortened, bytesMax, next }
}

async function bytesMaxOf({ vfs, dataDir }: ArchivePlace, limits: ArchiveLimits, bytes: number): Promise<number> {
  const { maxBytes, freeShareMax } = limits
  if (freeShareMax === undefined) return maxBytes
  return Math.min(maxBytes, Math.floor(((await vfs.freeBytes(dataDir)) + bytes) * freeShareMax))
}

/** The archived files, and which of them can be removed. */
class Archive {
  readonly #place: ArchivePlace
  readonly #live: readonly Checkpoint[]
  readonly #images: readonly ArchivedImage[]
  #bases: readonly Checkpoint[]
  #segmentBytes: ReadonlyMap<string, number>
  #lsnNotNeeded = 0

  private constructor(
    place: ArchivePlace,
    found: {
      readonly live: readonly Checkpoint[]
      readonly bases: readonly Checkpoint[]
      readonly segmentBytes: ReadonlyMap<string, number>
      readonly images: readonly ArchivedImage[]
    },
  ) {
    this.#place = place
    this.#live = found.live
    this.#bases = found.bases
    this.#segmentBytes = found.segmentBytes
    this.#images = found.images
  }

  static async open(place: ArchivePlace, images: readonly ArchivedImage[]): Promise<Archive> {
    const { good: live } = await findCheckpoints(placeOf(place, join(place.dataDir, 'checkpoints')))
    const { good: bases } = await findCheckpoints(placeOf(place, archivedCheckpointsDir(place.dataDir)))
    const segmentBytes = new Map<string, number>()
    for (const { name, path } of await archivedSegments(place)) segmentBytes.set(name, await sizeOf(place.vfs, path))
    return new Archive(place, { live, bases: bases.reverse(), segmentBytes, images })
  }

  /** No kept moment begins before this LSN: images of records up to it are not needed. */
  get lsnNotNeeded(): number {
    return this.#lsnNotNeeded
  }

  /** The oldest checkpoint with which a restore can begin. */
  get #oldest(): Checkpoint | undefined {
    return this.#bases[0] ?? this.#live.at(-1)
  }

  get next(): Manifest | undefined {
    return (this.#bases[1] ?? this.#live.at(-1))?.manifest
  }

  /** Files that returned with a copy of the directory, and files before records that are not archived. */
  async dropUnreachable(): Promise<void> {
    const oldestLive = this.#live.at(-1)?.manifest.lsn ?? Number.POSITIVE_INFINITY
    const segments = await this.#history()
    const begin = segments.findLast(({ id }, i) => i > 0 && segments[i - 1]?.id !== id - 1)
    const lsnBegin = begin?.lsnFirst ?? 0
    for (const base of this.#bases)
      if (base.manifest.lsn >= oldestLive || base.manifest.lsn + 1 < lsnBegin) await this.#dropBase(base)
    if (begin) await this.#dropSegments(begin.lsnFirst)
  }

  async dropOlder(startMs: number): Promise<void> {
    const next = () => this.next?.timeMs ?? Number.POSITIVE_INFINITY
    while (this.#bases[0] && next() <= startMs) await this.#dropBase(this.#bases[0])
    while (this.#bases.length > basesMax) await this.#dropBase(leastUseful(this.#bases))
    const oldest = this.#oldest?.manifest
    if (oldest === undefined) return
    const [first] = await this.#history()
    const isFromTheFirst = first?.lsnFirst === 1 && oldest.timeMs > startMs
    await this.#dropBefore(isFromTheFirst ? 0 : oldest.lsn)
  }

  /** Removes the oldest history until no more than this remains; returns whether anything was removed. */
  async dropMore(bytesMax: number): Promise<boolean> {
    if (this.bytes() <= bytesMax) return false
    while (this.bytes() > bytesMax) {
      const [oldest] = this.#bases
      if (oldest) await this.#dropBase(oldest)
      await this.#dropBefore(this.#oldest?.manifest.lsn ?? 0)
      // Without a checkpoint to remove, only images of already deleted collections can remain.
      if (!oldest) break
    }
    if (this.bytes() > bytesMax) this.#lsnNotNeeded = Number.POSITIVE_INFINITY
    return true
  }

  async #dropBefore(lsn: number): Promise<void> {
    this.#lsnNotNeeded = Math.max(this.#lsnNotNeeded, lsn)
    await this.#dropSegments(lsn)
  }

  /** Disk space that only the history needs. */
  bytes(): number {
    let bytes = 0
    for (const size of this.#segmentBytes.values()) bytes += size
    const files = this.#bases.flatMap(filesOfCheckpoint)
    const needed = this.#images.filter(({ lsn }) => lsn > this.#lsnNotNeeded)
    return (
      bytes + heldBeyond([...files, ...needed.flatMap((image) => image.files)], this.#live.flatMap(filesOfCheckpoint))
    )
  }

  async reach(): Promise<Reach> {
    const [first] = await this.#history()
    const oldest = this.#oldest?.manifest
    const begins = first?.lsnFirst === 1 || oldest === undefined
    return {
      lsn: begins ? 0 : oldest.lsn,
      timeMs: begins ? 0 : oldest.timeMs,
      bytes: this.bytes(),
      segments: this.#segmentBytes.size,
    }
  }

  #history(): Promise<SegmentFile[]> {
    return historySegments(historyOf(this.#place, { timeline: 0, forkedAfterLsn: Number.POSITIVE_INFINITY }))
  }

  async #dropBase(base: Checkpoint): Promise<void> {
    const { vfs, dataDir } = this.#place
    this.#bases = this.#bases.filter((other) => other !== base)
    const dir = archivedCheckpointsDir(dataDir)
    // The folder is renamed first: after a crash there must be no manifest whose files are gone.
    const leaving = `${base.path}.tmp`
    await vfs.rename(base.path, leaving)
    await vfs.syncDirectory(dir)
    await vfs.removeTree(leaving)
  }

  /** A restore that begins after `lsn` does not need archived segments whose records are all before it. */
  async #dropSegments(lsn: number): Promise<void> {
    const { vfs, dataDir } = this.#place
    const dir = archivedLogDir(dataDir)
    const segments = await this.#history()
    for (const [i, segment] of segments.entries()) {
      const follower = segments[i + 1]
      if (!follower || follower.lsnFirst > lsn + 1 || !this.#segmentBytes.has(segment.name)) return
      await vfs.remove(join(dir, segment.name))
      // One at a time, because a power cut could otherwise leave a gap.
      await vfs.syncDirectory(dir)
      this.#segmentBytes = new Map([...this.#segmentBytes].filter(([name]) => name !== segment.name))
    }
  }
}

/** Measures what is kept, without removing anything. */
export async function currentReach(place: ArchivePlace): Promise<Reach> {
  return (await Archive.open(place, [])).reach()
}

/** Removes unfinished removals that a crash left behind. */
export async function sweepArchive({ vfs, dataDir }: ArchivePlace): Promise<void> {
  const dir = archivedCheckpointsDir(dataDir)
  if (!(await vfs.exists(dir))) return
  for (const name of await vfs.list(dir)) if (name.endsWith('.tmp')) await vfs.removeTree(join(dir, name))
}

/** Returns the checkpoint whose neighbors are closest to each other; never the oldest, with which everything begins. */
function leastUseful(bases: readonly Checkpoint[]): Checkpoint {
  let best = bases[1] as Checkpoint
  let gap = Number.POSITIVE_INFINITY
  for (let i = 1; i < bases.length - 1; i++) {
    const between = (bases[i + 1] as Checkpoint).manifest.lsn - (bases[i - 1] as Checkpoint).manifest.lsn
    if (between >= gap) continue
    gap = between
    best = bases[i] as Checkpoint
  }
  return best
}

async function archivedSegments({ vfs, dataDir }: ArchivePlace): Promise<SegmentFile[]> {
  return historySegments({ vfs, dirs: [archivedLogDir(dataDir)] })
}

function placeOf({ vfs, dataDir, identity }: ArchivePlace, dir: string): CheckpointPlace {
  return { vfs, dir, originalsDir: join(dataDir, 'originals'), directory: () => identity()?.uuid }
}
