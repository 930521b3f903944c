// How far back a restore can go. Segments that the log gives up, and checkpoints that recovery does not need any more, go to
// `archive/`; the images of clones and restores stay in `imports/` for as long as a moment may need them. All are given up from
// the old end, so that what is left always begins with a checkpoint that can be loaded (or with the first record of all) and goes
// on without a gap.
import { join } from 'node:path'
import { type HistoryPlace, historySegments, type Identity, type SegmentFile, sizeOf, type Vfs } from '@annal/wal'
import { type Checkpoint, type CheckpointPlace, findCheckpoints } from '../snapshot/checkpoint.ts'
import { type DiskFile, filesOfCheckpoint, heldBeyond } from './archive-size.ts'

export interface ArchiveLimits {
  readonly maxBytes: number
  /** 0: nothing is kept, and what was kept before is removed. */
  readonly maxAgeMs: number
  /** Most of the free disk that may be taken, counting what is archived as free: 0.1 for a tenth. */
  readonly freeShareMax?: number
}

/** Archived checkpoints kept besides the oldest; more would shorten replays only a little. */
const basesMax = 6

export interface ArchivePlace {
  readonly vfs: Vfs
  readonly dataDir: string
  /** Of the data directory; undefined while it is not known. */
  identity(): Pick<Identity, 'uuid'> | undefined
}

/** The image that a clone or a restore began with, where only a moment of the past needs it. */
export interface ArchivedImage {
  readonly id: string
  /** Of the record that names it. */
  readonly lsn: number
  readonly files: readonly DiskFile[]
}

export function archivedLogDir(dataDir: string): string {
  return join(dataDir, 'archive', 'wal')
}

export function archivedCheckpointsDir(dataDir: string): string {
  return join(dataDir, 'archive', 'checkpoints')
}

/** The log with what is archived of it. */
export function historyOf(
  { vfs, dataDir }: Pick<ArchivePlace, 'vfs' | 'dataDir'>,
  line: { readonly timeline: number; readonly forkedAfterLsn: number },
): HistoryPlace {
  const timeline = { id: line.timeline, after: line.forkedAfterLsn }
  return { vfs, dirs: [archivedLogDir(dataDir), join(dataDir, 'wal')], timeline }
}

/** Checkpoints from which a moment can be reached, oldest first; those that are damaged are left out. */
export async function basesOf(place: ArchivePlace): Promise<Checkpoint[]> {
  const found: Checkpoint[] = []
  for (const dir of [archivedCheckpointsDir(place.dataDir), join(place.dataDir, 'checkpoints')])
    found.push(...(await findCheckpoints(placeOf(place, dir))).good)
  return found.sort((a, b) => a.manifest.lsn - b.manifest.lsn)
}

/** How far back and how much. */
export interface Reach {
  /** The oldest record after which a moment can be restored, and its time. */
  readonly lsn: number
  readonly timeMs: number
  /** Of the disk, that nothing but history needs. */
  readonly bytes: number
  readonly segments: number
}

/** What is left of the past after a trim. */
export interface Trimmed extends Reach {
  /** Images of records up to this one are needed for no moment within the limits. */
  readonly lsnNotNeeded: number
  /** Something younger than the age that is wanted went, since there was no room for more. */
  readonly isShortened: boolean
  readonly bytesMax: number
}

/** Gives up what is older or more than the limits allow, and says what is left. Images are left to the caller. */
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
  return { ...(await archive.reach()), lsnNotNeeded: archive.lsnNotNeeded, isShortened, bytesMax }
}

async function bytesMaxOf({ vfs, dataDir }: ArchivePlace, limits: ArchiveLimits, bytes: number): Promise<number> {
  const { maxBytes, freeShareMax } = limits
  if (freeShareMax === undefined) return maxBytes
  return Math.min(maxBytes, Math.floor(((await vfs.freeBytes(dataDir)) + bytes) * freeShareMax))
}

/** What is archived, and what of it can go. */
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

  /** No moment that is kept begins before it: images of records up to it are needed for none. */
  get lsnNotNeeded(): number {
    return this.#lsnNotNeeded
  }

  /** The oldest checkpoint that a restore can begin with. */
  get #oldest(): Checkpoint | undefined {
    return this.#bases[0] ?? this.#live.at(-1)
  }

  /** What came back with a copy of the directory, and what lies before records that nobody archived. */
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
    const next = () => (this.#bases[1] ?? this.#live.at(-1))?.manifest.timeMs ?? Number.POSITIVE_INFINITY
    while (this.#bases[0] && next() <= startMs) await this.#dropBase(this.#bases[0])
    while (this.#bases.length > basesMax) await this.#dropBase(leastUseful(this.#bases))
    const oldest = this.#oldest?.manifest
    if (oldest === undefined) return
    const [first] = await this.#history()
    const isFromTheFirst = first?.lsnFirst === 1 && oldest.timeMs > startMs
    await this.#dropBefore(isFromTheFirst ? 0 : oldest.lsn)
  }

  /** Gives up the oldest until no more than so much is left; says whether something had to go. */
  async dropMore(bytesMax: number): Promise<boolean> {
    if (this.bytes() <= bytesMax) return false
    while (this.bytes() > bytesMax) {
      const [oldest] = this.#bases
      if (oldest) await this.#dropBase(oldest)
      await this.#dropBefore(this.#oldest?.manifest.lsn ?? 0)
      // Without a checkpoint to give up, only images of collections that are dropped already can be left.
      if (!oldest) break
    }
    if (this.bytes() > bytesMax) this.#lsnNotNeeded = Number.POSITIVE_INFINITY
    return true
  }

  async #dropBefore(lsn: number): Promise<void> {
    this.#lsnNotNeeded = Math.max(this.#lsnNotNeeded, lsn)
    await this.#dropSegments(lsn)
  }

  /** Of the disk, that nothing but history needs. */
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
    // Renamed first: a crash in between must not leave a manifest whose files are gone.
    const leaving = `${base.path}.tmp`
    await vfs.rename(base.path, leaving)
    await vfs.syncDirectory(dir)
    await vfs.removeTree(leaving)
  }

  /** Archived segments all of whose records are before `lsn` are not needed by a restore that begins after it. */
  async #dropSegments(lsn: number): Promise<void> {
    const { vfs, dataDir } = this.#place
    const dir = archivedLogDir(dataDir)
    const segments = await this.#history()
    for (const [i, segment] of segments.entries()) {
      const follower = segments[i + 1]
      if (!follower || follower.lsnFirst > lsn + 1 || !this.#segmentBytes.has(segment.name)) return
      await vfs.remove(join(dir, segment.name))
      // One at a time, or a power cut could leave a gap.
      await vfs.syncDirectory(dir)
      this.#segmentBytes = new Map([...this.#segmentBytes].filter(([name]) => name !== segment.name))
    }
  }
}

/** What is kept, without giving anything up. */
export async function currentReach(place: ArchivePlace): Promise<Reach> {
  return (await Archive.open(place, [])).reach()
}

/** Removes what a crash left half given up. */
export async function sweepArchive({ vfs, dataDir }: ArchivePlace): Promise<void> {
  const dir = archivedCheckpointsDir(dataDir)
  if (!(await vfs.exists(dir))) return
  for (const name of await vfs.list(dir)) if (name.endsWith('.tmp')) await vfs.removeTree(join(dir, name))
}

/** The one whose neighbors are nearest to each other; never the oldest, which is where everything begins. */
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
