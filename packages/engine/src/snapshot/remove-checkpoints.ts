// Decides which checkpoints are kept and removes the others: the two newest are kept, and one that does not share the files of changed
// parts. Removes unfinished checkpoints, and the files of deleted collections.
import { basename, dirname, join } from 'node:path'
import { makeDurableDirectory, type Vfs } from '@annal/wal'
import type { CatalogState } from '../catalog/catalog-state.ts'
import { isMissing } from '../file-damage.ts'
import type { Checkpoint, CheckpointPlace, CheckpointWork } from './checkpoint.ts'
import { namesOf } from './checkpoint-files.ts'
import { findCheckpoints } from './find-checkpoints.ts'
import { type Manifest, type ManifestCollection, manifestName, writeManifest } from './manifest.ts'

const keptCount = 2

/** Removes unfinished checkpoints that a crash left behind. */
export async function sweepTemporary({ vfs, dir }: CheckpointPlace): Promise<void> {
  if (!(await vfs.exists(dir))) return
  for (const name of await vfs.list(dir)) if (name.startsWith('tmp-')) await vfs.removeTree(join(dir, name))
}

export async function removeOld(
  place: CheckpointPlace,
  catalog: CatalogState,
  { damage, isLogWhole }: Pick<CheckpointWork, 'damage' | 'isLogWhole'>,
): Promise<number> {
  const { good, damaged } = await findCheckpoints(place)
  const whole = good.filter((checkpoint) => !damage.has(checkpoint))
  const { kept, isEnough } = keptOf(whole)
  const oldest = kept.at(-1)
  for (const checkpoint of whole) {
    if (kept.includes(checkpoint)) continue
    // Moments after the oldest checkpoint can be restored from it.
    if (oldest && checkpoint.manifest.lsn > oldest.manifest.lsn) await discard(place, checkpoint.path)
    else await retire(place, checkpoint.path)
  }
  // Damaged checkpoints stay until there are two recovery paths without them.
  const lost = [...good.filter((checkpoint) => damage.has(checkpoint)), ...damaged.filter(({ isLost }) => isLost)]
  if (isEnough || isLogWhole) for (const { path } of lost) await discard(place, path)
  const living = new Set(catalog.collections.map(({ id }) => id))
  // An archived checkpoint must lead to every moment it covers, including those before the deletion.
  if (place.archiveDir === undefined)
    for (const older of kept.slice(1)) await removeDropped(place.vfs, older, (id) => !living.has(id))
  // Without two recovery paths the whole log is kept. The same holds when a collection was in quarantine or not loaded
  // when the oldest checkpoint was taken.
  if (!oldest || !isEnough) return 0
  const held = new Set(oldest.manifest.collections.flatMap(({ id, lsnHeld }) => (lsnHeld === undefined ? id : [])))
  const isWhole = oldest.manifest.catalog.collections.every(({ id }) => held.has(id) || !living.has(id))
  return isWhole ? oldest.manifest.lsn : 0
}

/**
 * The checkpoints to keep, newest first: the two newest, and for each collection of which the newest one has changes only, one that does not
 * need the same files. `isEnough`: damage of one file leaves a way to recover every collection.
 */
function keptOf(whole: readonly Checkpoint[]): { readonly kept: readonly Checkpoint[]; readonly isEnough: boolean } {
  const kept = new Set(whole.slice(0, keptCount))
  let isEnough = kept.size === keptCount
  const [newest, ...others] = whole
  for (const collection of newest?.manifest.collections ?? []) {
    if (!collection.files.some(({ deltas }) => deltas?.length)) continue
    // Two checkpoints share the files of a collection that nobody writes to.
    if (others[0]?.manifest.collections.some(({ id, lsn }) => id === collection.id && lsn === collection.lsn)) continue
    const independent = others.find((other) => isIndependent(other.manifest, collection))
    if (independent) kept.add(independent)
    else isEnough = false
  }
  return { kept: whole.filter((checkpoint) => kept.has(checkpoint)), isEnough }
}

/** Whether a start from the manifest gets the collection without the files on which its newest changes depend. */
function isIndependent(manifest: Manifest, { id, files }: ManifestCollection): boolean {
  // The collection was created later, so the log has all its records.
  if (!manifest.catalog.collections.some((entry) => entry.id === id)) return true
  const other = manifest.collections.find((collection) => collection.id === id)
  return (
    other !== undefined &&
    !files.some(({ deltas, sum }) => deltas?.length && other.files.some((file) => file.sum === sum))
  )
}

/**
 * Removes the files of collections whose deletion is durable from a checkpoint. A start from it replays the deletion
 * later in the log, so it needs only their entries in the catalog. Returns the changed manifest.
 */
export async function removeDropped(
  vfs: Vfs,
  { path, manifest }: Checkpoint,
  isDropped: (id: number) => boolean,
): Promise<Checkpoint> {
  const removedCollections = manifest.collections.filter(({ id }) => isDropped(id))
  if (removedCollections.length === 0) return { path, manifest }
  const remaining = { ...manifest, collections: manifest.collections.filter(({ id }) => !isDropped(id)) }
  // The manifest is written first: after a crash it must not name files that are gone.
  await writeManifest(vfs, join(path, manifestName), remaining)
  for (const collection of removedCollections)
    for (const name of namesOf(collection))
      await vfs.remove(join(path, name)).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
  return { path, manifest: remaining }
}

async function retire(place: CheckpointPlace, path: string): Promise<void> {
  const { vfs, dir, archiveDir } = place
  if (archiveDir === undefined) return discard(place, path)
  await makeDurableDirectory(vfs, archiveDir, dirname(dir))
  await vfs.rename(path, join(archiveDir, basename(path)))
  await vfs.syncDirectory(archiveDir)
  await vfs.syncDirectory(dir)
}

async function discard({ vfs, dir }: CheckpointPlace, path: string): Promise<void> {
  // The folder is renamed first: after a crash there must be no manifest whose files are gone.
  const temporary = join(dir, `tmp-${basename(path)}`)
  await vfs.rename(path, temporary)
  await vfs.syncDirectory(dir)
  await vfs.removeTree(temporary)
}
