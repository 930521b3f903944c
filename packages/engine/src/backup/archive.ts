// How far back a restore can go. Segments that the log gives up, and checkpoints that recovery does not need any more, go to
// `archive/`; both are given up from the old end, so that what is left always begins with a checkpoint that can be loaded (or
// with the first record of all) and goes on without a gap.
import { join } from 'node:path'
import { type HistoryPlace, historySegments, type SegmentFile, sizeOf, type Vfs } from '@annal/wal'
import { type Checkpoint, type CheckpointPlace, findCheckpoints } from '../snapshot/checkpoint.ts'
import type { Manifest } from '../snapshot/manifest.ts'

export interface ArchiveLimits {
  readonly maxBytes: number
  readonly maxAgeMs: number
}

/** Archived checkpoints kept besides the oldest; more would shorten replays only a little. */
const basesMax = 6

export interface ArchivePlace {
  readonly vfs: Vfs
  readonly dataDir: string
}

export function archivedLogDir(dataDir: string): string {
  return join(dataDir, 'archive', 'wal')
}

export function archivedCheckpointsDir(dataDir: string): string {
  return join(dataDir, 'archive', 'checkpoints')
}

/** The log with what is archived of it. */
export function historyOf(
  { vfs, dataDir }: ArchivePlace,
  line: { readonly timeline: number; readonly forkedAfterLsn: number },
): HistoryPlace {
  const timeline = { id: line.timeline, after: line.forkedAfterLsn }
  return { vfs, dirs: [archivedLogDir(dataDir), join(dataDir, 'wal')], timeline }
}

/** Checkpoints from which a moment can be reached, oldest first; those that are damaged are left out. */
export async function basesOf({ vfs, dataDir }: ArchivePlace): Promise<Checkpoint[]> {
  const found: Checkpoint[] = []
  for (const dir of [archivedCheckpointsDir(dataDir), join(dataDir, 'checkpoints')])
    found.push(...(await findCheckpoints(placeOf({ vfs, dataDir }, dir))).good)
  return found.sort((a, b) => a.manifest.lsn - b.manifest.lsn)
}

/** How far back and how much. */
export interface Reach {
  /** The oldest record after which a moment can be restored, and its time. */
  readonly lsn: number
  readonly timeMs: number
  readonly bytes: number
  readonly segments: number
}

/** Gives up what is older or more than the limits allow, and says what is left. */
export async function trimArchive(place: ArchivePlace, limits: ArchiveLimits, nowMs: number): Promise<Reach> {
  const { vfs, dataDir } = place
  const dir = archivedCheckpointsDir(dataDir)
  const live = await findCheckpoints(placeOf(place, join(dataDir, 'checkpoints')))
  const oldestLive = live.good.at(-1)?.manifest
  let bases = (await findCheckpoints(placeOf(place, dir))).good.reverse()
  const drop = async (base: Checkpoint) => {
    bases = bases.filter((other) => other !== base)
    await vfs.removeTree(base.path)
    await vfs.syncDirectory(dir)
  }
  // One that is not before the live ones came back with a copy of the directory.
  for (const base of bases) if (oldestLive && base.manifest.lsn >= oldestLive.lsn) await drop(base)
  const startMs = nowMs - limits.maxAgeMs
  while (bases[0] && (bases[1]?.manifest ?? oldestLive ?? { timeMs: Infinity }).timeMs <= startMs) await drop(bases[0])
  while (bases.length > basesMax) await drop(leastUseful(bases))
  await dropSegments(place, await firstNeeded(place, bases, oldestLive, startMs))
  while ((await archivedBytes(place, bases)) > limits.maxBytes) {
    const oldest = bases[0]
    if (!oldest && !(await hasArchivedSegments(place))) break
    if (oldest) await drop(oldest)
    await dropSegments(place, bases[0]?.manifest.lsn ?? oldestLive?.lsn ?? 0)
  }
  return reachOf(place, bases, oldestLive)
}

/** The first record that must stay: that of the oldest base, or the first of all as long as that is within the time. */
async function firstNeeded(
  place: ArchivePlace,
  bases: readonly Checkpoint[],
  oldestLive: Manifest | undefined,
  startMs: number,
): Promise<number> {
  const oldest = bases[0]?.manifest ?? oldestLive
  if (oldest === undefined) return 0
  const [first] = await historySegments(historyOf(place, { timeline: 0, forkedAfterLsn: Infinity }))
  return first?.lsnFirst === 1 && oldest.timeMs > startMs ? 0 : oldest.lsn
}

async function dropSegments({ vfs, dataDir }: ArchivePlace, lsn: number): Promise<void> {
  const dir = archivedLogDir(dataDir)
  const segments = await historySegments(historyOf({ vfs, dataDir }, { timeline: 0, forkedAfterLsn: Infinity }))
  for (const [i, segment] of segments.entries()) {
    const follower = segments[i + 1]
    if (!follower || follower.lsnFirst > lsn || !(await vfs.exists(join(dir, segment.name)))) return
    await vfs.remove(join(dir, segment.name))
    // One at a time, or a power cut could leave a gap.
    await vfs.syncDirectory(dir)
  }
}

/** The one whose neighbours are nearest to each other; never the oldest, which is where everything begins. */
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

/** What is kept, without giving anything up. */
export async function currentReach(place: ArchivePlace): Promise<Reach> {
  const { good: live } = await findCheckpoints(placeOf(place, join(place.dataDir, 'checkpoints')))
  const { good: bases } = await findCheckpoints(placeOf(place, archivedCheckpointsDir(place.dataDir)))
  return reachOf(place, bases.reverse(), live.at(-1)?.manifest)
}

export async function reachOf(
  place: ArchivePlace,
  bases: readonly Checkpoint[],
  oldestLive: Manifest | undefined,
): Promise<Reach> {
  const archived = await archivedSegments(place)
  const [first] = await historySegments(historyOf(place, { timeline: 0, forkedAfterLsn: Infinity }))
  const oldest = bases[0]?.manifest ?? oldestLive
  const begins = first?.lsnFirst === 1 || oldest === undefined
  return {
    lsn: begins ? 0 : oldest.lsn,
    timeMs: begins ? 0 : oldest.timeMs,
    bytes: await archivedBytes(place, bases),
    segments: archived.length,
  }
}

async function archivedBytes(place: ArchivePlace, bases: readonly Checkpoint[]): Promise<number> {
  let bytes = 0
  for (const segment of await archivedSegments(place)) bytes += await sizeOf(place.vfs, segment.path)
  for (const { manifest } of bases)
    for (const { files, originalBytes = [] } of manifest.collections)
      bytes += files.reduce((sum, file) => sum + file.bytes, 0) + originalBytes.reduce((sum, one) => sum + one, 0)
  return bytes
}

async function archivedSegments({ vfs, dataDir }: ArchivePlace): Promise<SegmentFile[]> {
  return historySegments({ vfs, dirs: [archivedLogDir(dataDir)] })
}

async function hasArchivedSegments(place: ArchivePlace): Promise<boolean> {
  return (await archivedSegments(place)).length > 0
}

function placeOf({ vfs, dataDir }: ArchivePlace, dir: string): CheckpointPlace {
  return { vfs, dir, originalsDir: join(dataDir, 'originals') }
}
