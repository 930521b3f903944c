// Creates a collection from an image. Everything is built and compared separately; then one record makes the collection
// exist. The record names the image, whose files stay in imports/ as long as the record may be replayed.
import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { errnoOf, type Vfs } from '@annal/wal'
import type { CatalogImport } from '../catalog/catalog-state.ts'
import type { CommitOptions } from '../commit.ts'
import { assert, EngineError } from '../errors.ts'
import type { CollectionRestored } from '../model/event.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { Replica } from '../replica/replica.ts'
import type { Claim } from '../requests/request-keys.ts'
import type { ReplicaToCome } from './arrival.ts'
import { digestInBackground } from './background-digest.ts'
import { checkDigest } from './check-digest.ts'
import { checkSpace } from './check-space.ts'
import type { BackupHost } from './host.ts'
import {
  filesOf,
  growingBytes,
  type Image,
  imageManifestName,
  imageMemory,
  readImage,
  type StoredImage,
  writeImageManifest,
} from './image/image.ts'
import { loadImage } from './image/load-image.ts'
import { linkImage } from './image/make-image.ts'
import { verifyImage } from './image/verify-image.ts'

export interface ImportHost {
  readonly side: BackupHost
  /** Runs with the id of a collection that has no record yet. A record of another node with this id waits until it has ended. */
  /** Whether other engines read the images of this one. */
  readonly isShared: boolean
  nextCollectionId(): number
  building<T>(build: (id: number) => Promise<T>): Promise<T>
  /**
   * Appends the record and applies it with the replica that was, or will be, made for it. `checkThere` may still refuse
   * in its turn.
   */
  commitRestored(
    event: RestoredDraft,
    beginning: Replica | ReplicaToCome,
    checkThere: () => void,
    options?: CommitOptions,
  ): Promise<Acknowledgement>
}

export type RestoredDraft = Omit<CollectionRestored, 'timeMs'>

export interface RestoreTarget {
  readonly databaseId: number
  readonly name: string
  /** The request key of the call that creates it. */
  readonly claim?: Claim | undefined
  /** The collection of this directory that it is a branch of. */
  readonly parentId?: number | undefined
  /** Of a clone: its objects do not expire. */
  readonly keepExpired?: boolean
  /** Throws when the database no longer exists. */
  checkThere(): void
}

export interface RestoreWatch {
  /** Throws when the restore is no longer wanted. */
  readonly checkWanted: () => void
  /** Called with the bytes of the image read since the last call: first to compare, then to load them. */
  readonly onRead: (bytes: number) => void
}

export interface Restored {
  readonly acknowledged: Acknowledgement
  /** The newest record of the source that it reflects. */
  readonly contentLsn: number
}

/** Free disk space that a restore must leave. */
export const freeBytesMin = 64 * 1024 * 1024

/**
 * `fill` puts an image's files into an empty folder and returns the image. Rejects, with no files left and nothing
 * changed, when the image is damaged, when it produces a different state than it promises, or when the log refuses the
 * record.
 */
export async function restoreImage(
  host: ImportHost,
  target: RestoreTarget,
  watch: RestoreWatch,
  fill: (dir: string) => Promise<Image>,
): Promise<Restored> {
  const { side } = host
  const stored = await importImage(side, fill)
  try {
    return await host.building((id) => commitImage(host, stored, { ...target, id }, watch))
  } catch (error) {
    await side.vfs.removeTree(stored.dir)
    throw error
  }
}

async function commitImage(
  host: ImportHost,
  stored: StoredImage,
  target: RestoreTarget & { readonly id: number },
  watch: RestoreWatch,
): Promise<Restored> {
  const { id, name, databaseId, claim, parentId, checkThere } = target
  const { replica, digest } = await buildChecked(host.side, stored, { id, name }, watch)
  const draft: RestoredDraft = {
    kind: 'collection-restored',
    collectionId: id,
    databaseId,
    name,
    fields: replica.definition.fields,
    hashSeed: stored.image.hashSeed,
    importId: basename(stored.dir),
    imageSha256: stored.sha256,
    digest,
    ...(parentId !== undefined && { parent: { id: parentId, lsn: stored.image.lsn } }),
  }
  const contentLsn = stored.image.lsn
  const options = { claim, ...(parentId !== undefined && { facts: { contentLsn } }) }
  const acknowledged = await host.commitRestored(draft, replica, checkThere, options).catch(async (error) => {
    await replica.remove()
    throw error
  })
  return { acknowledged, contentLsn }
}

/** Links another image's files, each verified by its checksum before anything is built from them. */
export async function fillFrom(
  host: BackupHost,
  stored: StoredImage,
  dir: string,
  watch: RestoreWatch,
): Promise<Image> {
  await checkSpace(host, growingBytes(stored.image) + freeBytesMin)
  const { vfs } = host
  const faults = await verifyImage(vfs, stored, onReadOf(watch))
  if (faults.length > 0) throw damaged(stored, faults.join('; '))
  await linkImage(vfs, filesOf(stored.image), stored.dir, dir)
  return stored.image
}

/** Builds the collection of an image and compares its digest. Throws backup_damaged. */
export async function buildChecked(
  host: BackupHost,
  stored: StoredImage,
  as: { readonly id: number; readonly name: string },
  watch?: RestoreWatch,
): Promise<{ readonly replica: Replica; readonly digest: string }> {
  const { image } = stored
  const release = host.memory.admit('the collection', { growth: imageMemory(image) })
  const from = { ...as, host: host.replicaHost(image.hashSeed), ...(watch && { onRead: onReadOf(watch) }) }
  const replica = await loadImage(host.vfs, stored, from)
    .catch((error) => {
      // A system without file descriptors, for example, says nothing about the backup. A record with an invalid value does.
      const isOther = error instanceof EngineError && !['snapshot_damaged', 'invalid_argument'].includes(error.code)
      if (errnoOf(error) !== undefined || isOther) throw error
      throw damaged(stored, (error as Error).message, error)
    })
    .finally(release)
  const digest = await digestInBackground(replica, watch?.checkWanted).catch(async (error) => {
    await replica.remove()
    throw error
  })
  assert(digest !== undefined, 'nothing writes to a collection that is being built')
  const wrong = () => damaged(stored, `its state has digest ${digest}; the backup promised ${image.digest}`)
  return { replica: await checkDigest(replica, image.digest, wrong, digest), digest }
}

function onReadOf({ checkWanted, onRead }: RestoreWatch): (bytes: number) => void {
  return (bytes) => {
    onRead(bytes)
    checkWanted()
  }
}

export async function importImage(host: BackupHost, fill: (dir: string) => Promise<Image>): Promise<StoredImage> {
  const { vfs } = host
  const dir = join(host.dataDir, 'imports')
  const id = randomBytes(16).toString('hex')
  const temporary = join(dir, `tmp-${id}`)
  await vfs.makeDirectory(temporary)
  try {
    const image = await fill(temporary)
    const { folder: _, ...imported } = image
    await writeImageManifest(vfs, temporary, { ...imported, name: '' })
    await vfs.syncDirectory(temporary)
    await vfs.rename(temporary, join(dir, id))
    await vfs.syncDirectory(dir)
    await vfs.syncDirectory(host.dataDir)
  } catch (error) {
    await vfs.removeTree(temporary)
    throw error
  }
  return readImage(vfs, join(dir, id))
}

/** Builds the collection of a restore record for a replay. Throws snapshot_damaged. */
export async function replayRestored(
  host: Pick<BackupHost, 'vfs' | 'dataDir' | 'replicaHost'>,
  event: Pick<CollectionRestored, 'collectionId' | 'name' | 'hashSeed' | 'importId' | 'imageSha256' | 'digest'>,
): Promise<Replica> {
  const { collectionId: id, name, hashSeed, importId } = event
  const dir = join(host.dataDir, 'imports', importId)
  if (!(await host.vfs.exists(join(dir, imageManifestName))))
    throw new EngineError('snapshot_damaged', `the image ${importId} that it was restored from is missing`, {
      file: dir,
    })
  const stored = await readImage(host.vfs, dir)
  if (stored.sha256 !== event.imageSha256)
    throw new EngineError('snapshot_damaged', `${dir} contains another image than the log requires`, { file: dir })
  const replica = await loadImage(host.vfs, stored, { id, name, host: host.replicaHost(hashSeed) })
  const wrong = (digest: string) =>
    new EngineError('snapshot_damaged', `${dir} produces a state with digest ${digest}, not ${event.digest}`, {
      file: dir,
    })
  return checkDigest(replica, event.digest, wrong)
}

/** At start: removes the leftovers of restores that never appended their record. */
export async function sweepImports(vfs: Vfs, dataDir: string, imports: readonly CatalogImport[]): Promise<void> {
  const dir = join(dataDir, 'imports')
  if (!(await vfs.exists(dir))) return
  const kept = new Set(imports.map(({ id }) => id))
  for (const name of await vfs.list(dir)) if (!kept.has(name)) await vfs.removeTree(join(dir, name))
}

/** Removes images that neither a start nor a restore to a moment needs any more. */
export async function releaseImports(
  { vfs, dataDir, catalog }: Pick<BackupHost, 'vfs' | 'dataDir' | 'catalog'>,
  isNeeded: (image: CatalogImport) => boolean,
  /** Whether it can still be fetched for a record. */
  isShared: (image: CatalogImport) => boolean = () => false,
): Promise<void> {
  for (const image of catalog().imports) {
    if (isNeeded(image)) continue
    await vfs.removeTree(join(dataDir, 'imports', image.id))
    if (!isShared(image)) catalog().forgetImport(image.id)
  }
}

export function damaged({ image, dir }: StoredImage, why: string, cause?: unknown): EngineError {
  const what = image.name === '' ? `image ${dir}` : `backup "${image.name}"`
  return new EngineError('backup_damaged', `${what} cannot be used: ${why}`, { value: image.name }, { cause })
}
