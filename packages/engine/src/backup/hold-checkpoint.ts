// Keeps the files of the newest checkpoint under names of their own, so that they can be copied elsewhere while newer checkpoints replace
// it. The names are links; a file that still grows belongs to the checkpoint up to a known size only.
import { basename, join } from 'node:path'
import { type Identity, makeDurableDirectory, nodeVfs, sizeOf, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { isMissing } from '../file-damage.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { findCheckpoints } from '../snapshot/find-checkpoints.ts'
import { listedRequestKeys, lsnHeldByAll, lsnReachedBy, manifestName, snapshotFiles } from '../snapshot/manifest.ts'

/** A checkpoint whose files stay until its folder is removed. */
export interface HeldCheckpoint {
  /** Name of the checkpoint in `checkpoints/`. */
  readonly name: string
  /** The folder with its files. */
  readonly dir: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  /** A replay continues after this record. */
  readonly lsn: number
  /** The newest record that any part of it reflects: it can begin a restore to this record, and none to an earlier one. */
  readonly lsnReached: number
  readonly timeMs: number
}

/** The checkpoint that a replay of the log would begin with; undefined if there is none. */
export interface HoldCheckpoint {
  readonly dataDir: string
  readonly identity: Pick<Identity, 'uuid'>
  /** An existing folder on the same disk. */
  readonly into: string
  readonly vfs?: Vfs
}

const attemptsMax = 5

/** Links the newest checkpoint into a new folder of `into`. Returns undefined if there is no checkpoint. */
export async function holdCheckpoint(options: HoldCheckpoint): Promise<HeldCheckpoint | undefined> {
  const vfs = options.vfs ?? nodeVfs()
  for (let attempt = 1; ; attempt++) {
    const newest = await newestCheckpoint({ ...options, vfs })
    if (newest === undefined) return undefined
    try {
      return await link(vfs, newest, options.into)
    } catch (error) {
      // A newer checkpoint replaced it meanwhile.
      if (!isMissing(error) || attempt === attemptsMax) throw error
    }
  }
}

/** The LSN of the newest checkpoint; 0 if there is none. */
export async function newestCheckpointLsn(options: Omit<HoldCheckpoint, 'into'>): Promise<number> {
  const newest = await newestCheckpoint({ ...options, vfs: options.vfs ?? nodeVfs() })
  return newest?.manifest.lsn ?? 0
}

/** The LSN of the newest checkpoint, and the newest record that any part of it reflects; both 0 if there is none. */
export async function newestCheckpointReach(
  options: Omit<HoldCheckpoint, 'into'>,
): Promise<{ readonly lsn: number; readonly lsnReached: number }> {
  const newest = await newestCheckpoint({ ...options, vfs: options.vfs ?? nodeVfs() })
  return { lsn: newest?.manifest.lsn ?? 0, lsnReached: newest === undefined ? 0 : lsnReachedBy(newest.manifest) }
}

async function newestCheckpoint(options: Omit<HoldCheckpoint, 'into'> & { readonly vfs: Vfs }) {
  const { vfs, dataDir, identity } = options
  const place = {
    ...{ vfs, dir: join(dataDir, 'checkpoints'), originalsDir: join(dataDir, 'originals') },
    directory: () => identity.uuid,
  }
  return (await findCheckpoints(place)).good[0]
}

async function link(vfs: Vfs, { path, manifest }: Checkpoint, into: string): Promise<HeldCheckpoint> {
  const name = basename(path)
  const dir = join(into, name)
  await vfs.removeTree(dir)
  await makeDurableDirectory(vfs, dir, into)
  const files: { name: string; bytes: number }[] = []
  for (const collection of manifest.collections) {
    for (const { name: file } of snapshotFiles(collection))
      files.push({ name: file, bytes: await sizeOf(vfs, join(path, file)) })
    for (const [index, file] of collection.originals.entries()) {
      const bytes = collection.originalBytes?.[index] ?? (await sizeOf(vfs, join(path, file)))
      files.push({ name: file, bytes })
    }
  }
  for (const { name: file } of listedRequestKeys(manifest))
    files.push({ name: file, bytes: await sizeOf(vfs, join(path, file)) })
  files.push({ name: manifestName, bytes: await sizeOf(vfs, join(path, manifestName)) })
  for (const file of files) {
    await vfs.link(join(path, file.name), join(dir, file.name))
    const size = await sizeOf(vfs, join(dir, file.name))
    if (size < file.bytes)
      throw new EngineError('snapshot_damaged', `${file.name} has ${size} bytes instead of ${file.bytes}`)
  }
  const { timeMs } = manifest
  return { name, dir, files, lsn: lsnHeldByAll(manifest), lsnReached: lsnReachedBy(manifest), timeMs }
}
