// Creates a whole data directory as of a moment in another place. The source directory is only read. The result has its
// own identity and timeline, so that the two logs can never be mixed.
import { randomBytes, randomUUID } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import {
  copyFile,
  copyHistory,
  createIdentity,
  durableLsnOf,
  errnoOf,
  type HistoryPlace,
  historySegments,
  linkOrCopy,
  makeDurableDirectory,
  makeNamedDirectory,
  newTimeline,
  nodeVfs,
  readHistory,
  readIdentity,
  type Vfs,
  WalError,
} from '@annal/wal'
import { EngineError } from '../errors.ts'
import { peekEvent } from '../events/codec.ts'
import { accessing } from '../file-damage.ts'
import { checkedDataDir } from '../input/engine-options.ts'
import type { Moment } from '../model/backups.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import {
  listedRequestKeys,
  lsnHeldByAll,
  lsnReachedBy,
  manifestName,
  snapshotFiles,
  writeManifest,
} from '../snapshot/manifest.ts'
import { basesOf, historyOf } from './archive.ts'
import { lsnOf, originOf, reaching, unreachable } from './past.ts'
import { recordsInFiles } from './past-records.ts'

export interface RestoreDirectoryOptions {
  /** A data directory, in use or not, or a copy of one. */
  readonly from: string
  /** Must not exist yet. */
  readonly to: string
  /** Defaults to the end of the log. */
  readonly moment?: Moment | undefined
  readonly vfs?: Vfs
  /** Opens the result, replays it and closes it again; rejects when that fails. */
  readonly prove: (dir: string) => Promise<void>
}

/** Throws restore_unreachable, invalid_argument or read_only; then nothing was created. */
export async function restoreDirectory(options: RestoreDirectoryOptions): Promise<{ readonly lsn: number }> {
  const vfs = options.vfs ?? nodeVfs()
  const [from, to] = [checkedDataDir(options.from, 'from'), checkedDataDir(options.to, 'to')]
  if (await vfs.exists(to))
    throw new EngineError('invalid_argument', `${to} already exists and is not overwritten`, { field: 'to' })
  const identity = await readIdentity({ dir: from, vfs })
  if (!identity) throw new EngineError('invalid_argument', `${from} is not a data directory`, { field: 'from' })
  const place = historyOf({ vfs, dataDir: from }, identity)
  const bases = await basesOf({ vfs, dataDir: from, identity: () => identity })
  const lsn = await reaching(async () => lsnWanted(place, bases, options.moment))
  const usable = bases.filter(({ manifest }) => lsnReachedBy(manifest) <= lsn).reverse()
  let failure: EngineError | undefined
  // When a checkpoint is damaged, the one before it leads to the same state with more records.
  for (const base of [...usable, undefined]) {
    try {
      const start = base ? lsnHeldByAll(base.manifest) : await originOf(recordsInFiles(place), `LSN ${lsn}`)
      await makeDirectory(vfs, options, { place, base, start, lsn })
      return { lsn }
    } catch (error) {
      if (!(error instanceof EngineError && retried.has(error.code))) throw error
      failure ??= error
    }
  }
  throw failure?.code === 'snapshot_damaged' ? unreachable(failure.message, {}, failure) : failure
}

/** Errors that another base may avoid. */
const retried: ReadonlySet<string> = new Set(['snapshot_damaged', 'restore_unreachable'])

async function makeDirectory(
  vfs: Vfs,
  options: RestoreDirectoryOptions,
  way: {
    readonly place: HistoryPlace
    readonly base: Checkpoint | undefined
    readonly start: number
    readonly lsn: number
  },
): Promise<void> {
  const { place, base, start, lsn } = way
  const [from, to] = [resolve(options.from), resolve(options.to)]
  const uuid = randomUUID()
  const making = join(dirname(to), `tmp-${basename(to)}-${randomBytes(4).toString('hex')}`)
  try {
    await makeNamedDirectory(vfs, dirname(to))
    await makeDurableDirectory(vfs, join(making, 'wal'), dirname(making))
    if (base) await copyCheckpoint(vfs, base, join(making, 'checkpoints', basename(base.path)), uuid)
    await copyImports(vfs, join(from, 'imports'), join(making, 'imports'))
    await reaching(() =>
      copyHistory(place, { from: Math.max(1, Math.min(start + 1, lsn)), to: lsn, into: join(making, 'wal') }),
    )
    await createIdentity({ dir: making, vfs }, { uuid, timeline: newTimeline(), forkedAfterLsn: lsn })
    await options.prove(making)
    await vfs.rename(making, to)
    await vfs.syncDirectory(dirname(to))
  } catch (error) {
    await vfs.removeTree(making)
    throw error
  }
}

async function lsnWanted(
  place: HistoryPlace,
  bases: readonly Checkpoint[],
  moment: Moment | undefined,
): Promise<number> {
  const from = bases.at(-1)?.manifest
  const end = await endOf(place, from?.lsn ?? 0, from?.timeMs ?? 0)
  if (end.damage !== undefined) {
    // Records before the damage can be restored by their LSN, and only by that: the end and the time of others are not known.
    if (moment && 'lsn' in moment && moment.lsn >= 1 && moment.lsn < Number(end.damage.details.lsn)) return moment.lsn
    throw end.damage
  }
  if (moment === undefined) return end.lsn
  const lsn = await lsnOf(recordsInFiles(place), bases, moment, { lsn: end.lsn, nowMs: end.timeMs })
  if (lsn > 0) return lsn
  throw unreachable('there is no record before that moment')
}

/** The newest readable record, and its time. `damage`: durable records followed. */
async function endOf(
  place: HistoryPlace,
  from: number,
  baseTimeMs: number,
): Promise<{ readonly lsn: number; readonly timeMs: number; readonly damage?: WalError }> {
  // Before the log is read: a server may be appending to it.
  const lsnDurable = await durableLsnOf(place.vfs, place.dirs.at(-1) as string)
  const segments = await historySegments(place)
  let lsn = from
  let timeMs = baseTimeMs
  const start = Math.max(from + 1, segments[0]?.lsnFirst ?? 1)
  try {
    for await (const record of readHistory(place, { from: start, to: Number.MAX_SAFE_INTEGER, lsnDurable })) {
      lsn = record.lsn
      timeMs = Math.max(timeMs, peekEvent(record.payload).timeMs)
    }
  } catch (error) {
    if (!(error instanceof WalError)) throw error
    if (error.code === 'log_damaged') return { lsn, timeMs, damage: error }
    // This is a normal end; a gap or damage before the end has its own code.
    if (error.code !== 'lsn_not_held') throw error
  }
  return { lsn, timeMs }
}

/** The files stay unchanged; the manifest is rewritten for the new directory and names the writers of the files. */
async function copyCheckpoint(vfs: Vfs, { path, manifest }: Checkpoint, to: string, directory: string): Promise<void> {
  await vfs.makeDirectory(to)
  for (const collection of manifest.collections) {
    const { originals, originalBytes = [] } = collection
    for (const { name } of snapshotFiles(collection))
      await accessing(join(path, name), () => linkOrCopy(vfs, join(path, name), join(to, name)))
    // Files of original vectors may still grow in the other directory, so they are never shared with it.
    for (const [index, name] of originals.entries())
      await accessing(join(path, name), () => copyFile(vfs, join(path, name), join(to, name), originalBytes[index]))
  }
  for (const { name } of listedRequestKeys(manifest))
    await accessing(join(path, name), () => linkOrCopy(vfs, join(path, name), join(to, name)))
  await writeManifest(vfs, join(to, manifestName), { ...manifest, directory, name: basename(to) })
  await vfs.syncDirectory(to)
  await vfs.syncDirectory(dirname(to))
}

/** Images that records of the log refer to; the first start removes the others. */
async function copyImports(vfs: Vfs, from: string, to: string): Promise<void> {
  if (!(await vfs.exists(from))) return
  for (const id of await vfs.list(from)) {
    if (id.startsWith('tmp-')) continue
    await vfs.makeDirectory(join(to, id))
    try {
      for (const name of await vfs.list(join(from, id))) await linkOrCopy(vfs, join(from, id, name), join(to, id, name))
      await vfs.syncDirectory(join(to, id))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
      // Removed in the meantime by a running server; the proof of the directory finds what needed it.
      await vfs.removeTree(join(to, id))
    }
  }
  if (await vfs.exists(to)) await vfs.syncDirectory(to)
}
