// Loads one collection from a checkpoint, and repairs files of original vectors from the links in it.

import { basename, join } from 'node:path'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { accessing } from '../file-damage.ts'
import { ttlOf } from '../model/schema.ts'
import { originalsFault } from '../originals/check-originals.ts'
import { dimensionOf } from '../originals/originals-owner.ts'
import type { Replica } from '../replica/replica.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { Checkpoint, CheckpointPlace } from './checkpoint.ts'
import { fileName } from './checkpoint-files.ts'
import { chainId, listedFiles, listedOriginals, type ManifestFile } from './manifest.ts'
import { loadReplica, objectsPart } from './replica-parts.ts'
import { lsnsPart } from './snapshot-format.ts'
import { SnapshotSource } from './snapshot-source.ts'
import { watched } from './watched-vfs.ts'

export interface LoadWork {
  readonly pool: WorkerPool
  /** Reports damage that was repaired. */
  readonly onTrouble: (sentence: string) => void
  /** Called with the bytes of each read; what it throws ends the load. */
  readonly onRead?: (bytes: number) => void
}

/**
 * Loads one collection; undefined when the checkpoint does not hold it. Throws snapshot_damaged, with no file left
 * open.
 */
export async function loadCollection(
  place: CheckpointPlace,
  checkpoint: Checkpoint,
  entry: CollectionEntry,
  { pool, onTrouble, onRead }: LoadWork,
): Promise<Replica | undefined> {
  const work = { pool, onRead }
  try {
    return await loadFrom(place, checkpoint, entry, work)
  } catch (error) {
    const isOriginals = error instanceof EngineError && String(error.details.file).startsWith(place.originalsDir)
    if (!isOriginals || !(await replaceOriginals(place, checkpoint, entry, onTrouble))) throw error
    return loadFrom(place, checkpoint, entry, work)
  }
}

/**
 * Repairs files in originals/. Where such a file differs from the checkpoint's and the checkpoint's own link is intact,
 * the link replaces it, and the other file is kept under another name. Returns whether there was such a file.
 */
async function replaceOriginals(
  { vfs, originalsDir }: CheckpointPlace,
  { path, manifest }: Checkpoint,
  { id }: CollectionEntry,
  onTrouble: LoadWork['onTrouble'],
): Promise<boolean> {
  const collection = manifest.collections.find((candidate) => candidate.id === id)
  let isReplaced = false
  for (const listed of collection ? listedOriginals(collection) : []) {
    const dimension = dimensionOf(collection?.fields[listed.field])
    const [live, held] = [join(originalsDir, listed.name), join(path, listed.name)]
    const check = { dimension, isDeep: false }
    const fault = await originalsFault(vfs, live, listed, check)
    if (fault === undefined || (await originalsFault(vfs, held, listed, check)) !== undefined) continue
    const refusedPath = `${live}.refused`
    if (await vfs.exists(refusedPath)) await vfs.remove(refusedPath)
    if (await vfs.exists(live)) await vfs.rename(live, refusedPath)
    await vfs.link(held, live)
    isReplaced = true
    onTrouble(`${fault}; it is kept as ${basename(refusedPath)}, and the file linked in ${path} replaces it`)
  }
  return isReplaced
}

async function loadFrom(
  place: CheckpointPlace,
  { path, manifest }: Checkpoint,
  entry: CollectionEntry,
  { pool, onRead }: Pick<LoadWork, 'pool'> & { readonly onRead: LoadWork['onRead'] | undefined },
): Promise<Replica | undefined> {
  const collection = manifest.collections.find((candidate) => candidate.id === entry.id)
  if (!collection) return undefined
  const { vfs, originalsDir } = place
  await vfs.makeDirectory(originalsDir)
  for (const name of collection.originals) {
    const live = join(originalsDir, name)
    const held = join(path, name)
    if (!(await vfs.exists(live))) await accessing(held, () => vfs.link(held, live))
  }
  const filesOf = (part: number) => {
    const file = collection.files.find((candidate) => candidate.part === part)
    // Checkpoints of earlier versions have none.
    if (file === undefined && part === lsnsPart) return []
    const missing: ManifestFile = { name: fileName(collection.id, part), part, bytes: 0, sum: '0' }
    return listedFiles(collection, file ?? missing).map(
      ({ name, expected }) =>
        () =>
          SnapshotSource.open(watched(vfs, onRead), join(path, name), expected),
    )
  }
  const definition = { name: entry.definition.name, fields: collection.fields, ...ttlOf(collection) }
  const originals = { vfs, dir: originalsDir, directory: () => place.directory() ?? '' }
  const replica = await loadReplica({ ...entry, definition }, collection.lsn, filesOf, {
    ...{ pool, originals, listed: listedOriginals(collection) },
  })
  // The next checkpoint may contain only what is applied from here on.
  for (const file of collection.files) {
    const id = chainId(collection, file)
    if (file.part === objectsPart) replica.objectsSnapshot = id
    else if (file.part === lsnsPart) replica.lsnsSnapshot = id
    else replica.dense[file.part - 1]?.loadedAs(id)
  }
  return replica
}
