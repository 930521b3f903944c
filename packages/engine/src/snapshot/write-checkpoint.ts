// Writes a checkpoint. It is created under a temporary name and renamed when all of it is durable. Then the checkpoints that are no
// longer needed are removed.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { Checkpoint, CheckpointPlace, CheckpointWork, DurableSource } from './checkpoint.ts'
import { linkLeft, linkWhole } from './checkpoint-files.ts'
import { lsnHeldOf, type Manifest, type ManifestCollection, manifestName, writeManifest } from './manifest.ts'
import { removeOld } from './remove-checkpoints.ts'
import { writeRequestKeys } from './request-key-files.ts'
import { withProofs, writeCollection } from './write-collection.ts'

/**
 * Writes a checkpoint and returns the older of the two newest LSNs that are kept: records up to it are no longer
 * needed.
 */
export async function writeCheckpoint(
  place: CheckpointPlace,
  source: DurableSource,
  previous: Checkpoint | undefined,
  work: CheckpointWork,
): Promise<{ readonly checkpoint: Checkpoint; readonly lsnNotNeeded: number }> {
  const { vfs, dir } = place
  const name = `${String(source.lsn).padStart(20, '0')}-${randomBytes(4).toString('hex')}`
  const temporary = join(dir, `tmp-${name}`)
  const path = join(dir, name)
  await vfs.makeDirectory(temporary)
  const manifest = await fillCheckpoint(place, temporary, source, previous, work).catch(async (error) => {
    // A failed checkpoint must not keep its space on a full disk. When even its removal fails, the next start removes
    // it.
    await vfs.removeTree(temporary).catch(() => undefined)
    throw error
  })
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dir)
  // The log is truncated up to a checkpoint, so the name of its folder must be durable.
  await vfs.syncDirectory(dirname(dir))
  const lsnOlder = await removeOld(place, source.catalog, work)
  // A collection in quarantine may still be rebuilt from the records after its snapshot.
  const lsnNotNeeded = source.collections.every(({ recovering }) => recovering) ? lsnOlder : 0
  return { checkpoint: { path, manifest }, lsnNotNeeded }
}

async function fillCheckpoint(
  place: CheckpointPlace,
  temporary: string,
  source: DurableSource,
  previous: Checkpoint | undefined,
  work: CheckpointWork,
): Promise<Manifest> {
  const { damage, onProgress } = work
  const { vfs } = place
  const collections: ManifestCollection[] = []
  for (const collection of source.collections) {
    const { entry, recovering: replica, gate } = collection
    const before = previous?.manifest.collections.find((candidate) => candidate.id === entry.id)
    const isSame = before?.lsn === replica?.lsnApplied && gate.pending.events === 0
    const isLinked = previous !== undefined && before !== undefined && (replica === undefined || isSame)
    // In quarantine: all existing files are kept, so that the collection can be loaded again when missing files are
    // restored.
    if (isLinked && replica === undefined) {
      const left = await linkLeft(vfs, previous.path, temporary, before)
      // Records after it were not applied, although the checkpoint is later.
      collections.push({ ...left, lsnHeld: lsnHeldOf(previous.manifest, before) })
    } else if (
      isLinked &&
      !damage.has(previous, entry.id) &&
      (await linkWhole(vfs, previous.path, temporary, before))
    ) {
      const { lsnHeld: _, ...whole } = before
      collections.push(replica ? await withProofs(whole, replica) : whole)
    } else if (replica) {
      const earlier =
        before && previous && !damage.has(previous, entry.id) ? { path: previous.path, before } : undefined
      collections.push(await writeCollection(place, temporary, collection, { earlier, work }))
    }
    onProgress(collections.length, source.collections.length)
  }
  const requestKeys = await writeRequestKeys(vfs, { from: previous?.path, to: temporary }, source.keys, work.pace)
  const { lsn, timeMs, logPlace, catalog } = source
  const directory = place.directory()
  const name = basename(temporary).slice('tmp-'.length)
  const manifest: Manifest = {
    ...(directory !== undefined && { directory, name }),
    ...{ lsn, timeMs },
    ...(logPlace !== undefined && { logPlace }),
    ...{ catalog, collections },
    ...(requestKeys.length > 0 && { requestKeys }),
  }
  // Collections may have records after the LSN of the checkpoint. If the log lost them, it would give their numbers to other records.
  await work.syncLog()
  await writeManifest(vfs, join(temporary, manifestName), manifest)
  await vfs.syncDirectory(temporary)
  return manifest
}
