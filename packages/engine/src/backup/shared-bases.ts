// Checkpoints of other engines on the same log as bases of a restore to a moment: only the files of one collection are downloaded.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeDurableDirectory } from '@annal/wal'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { type Manifest, manifestName, readManifest, snapshotFiles } from '../snapshot/manifest.ts'
import { checkSpace } from './check-space.ts'
import type { BackupHost } from './host.ts'
import { baseOfCheckpoint, bytesOf, saysLengths } from './image/image-base.ts'
import type { SharedCheckpoint, SharedFiles } from './shared-files.ts'

/** Free disk space that a download must leave. */
const freeBytesMin = 64 * 1024 * 1024

/** A downloaded part of a checkpoint. */
export interface SharedBase extends Checkpoint {
  /** Identifies the checkpoint in the store. */
  readonly origin: string
  remove(): Promise<void>
}

/**
 * Downloads a collection of the newest shared checkpoint that can begin a restore to a record. Undefined if there is none. Rejects as the
 * store does.
 */
export async function sharedBase(
  host: BackupHost,
  shared: SharedFiles,
  {
    collectionId,
    lsn,
    without,
  }: {
    readonly collectionId: number
    readonly lsn: number
    /** Origins of checkpoints that turned out to be damaged. */
    readonly without: ReadonlySet<string>
  },
): Promise<SharedBase | undefined> {
  for (const checkpoint of [...(await shared.checkpoints())].reverse()) {
    if (without.has(originOf(checkpoint))) continue
    const base = await download(host, shared, checkpoint, ({ catalog, collections }) => {
      const collection = collections.find(({ id }) => id === collectionId)
      const isUsable = collection && saysLengths(collection) && collection.lsn <= lsn
      return isUsable && catalog.collections.some(({ id }) => id === collectionId) ? collection : undefined
    })
    if (base) return base
  }
  return undefined
}

function originOf({ folder, name }: SharedCheckpoint): string {
  return `${folder}/${name}`
}

/** The catalogs of the shared checkpoints, oldest first. Rejects as the store does. */
export async function sharedCatalogs(host: BackupHost, shared: SharedFiles): Promise<readonly Manifest['catalog'][]> {
  const catalogs: Manifest['catalog'][] = []
  for (const checkpoint of await shared.checkpoints())
    await download(host, shared, checkpoint, ({ catalog }) => {
      catalogs.push(catalog)
      return undefined
    })
  return catalogs
}

/** Downloads the manifest, and the files of the collection that `choose` returns. Nothing is left without one. */
async function download(
  host: BackupHost,
  shared: SharedFiles,
  checkpoint: SharedCheckpoint,
  choose: (manifest: Manifest) => Manifest['collections'][number] | undefined,
): Promise<SharedBase | undefined> {
  const { vfs, dataDir } = host
  // A start removes what has this name.
  const path = join(dataDir, 'imports', `tmp-${randomBytes(16).toString('hex')}`)
  const remove = () => vfs.removeTree(path)
  try {
    await makeDurableDirectory(vfs, path, dataDir)
    await shared.getCheckpoint(checkpoint, path, (name) => name === manifestName)
    const manifest = await readManifest(vfs, join(path, manifestName))
    const collection = choose(manifest)
    if (collection) {
      await checkSpace(host, bytesOf(baseOfCheckpoint(path, collection)) + freeBytesMin)
      const names = new Set([...snapshotFiles(collection).map(({ name }) => name), ...collection.originals])
      await shared.getCheckpoint(checkpoint, path, (name) => names.has(name))
      return { path, manifest, origin: originOf(checkpoint), remove }
    }
  } catch (error) {
    await remove()
    throw error
  }
  await remove()
  return undefined
}
