// Creates a collection with the current content of another one, in a time that does not depend on its size: links the
// files of its newest snapshot, writes the records after it, and appends one record that creates the clone. The content
// is then loaded from these files.
import { basename } from 'node:path'
import type { Acknowledgement } from '../model/object.ts'
import type { Replica } from '../replica/replica.ts'
import { checkDigest } from './check-digest.ts'
import { checkSpace } from './check-space.ts'
import type { Imaged } from './host.ts'
import { clearExpiries } from './image/clear-expiries.ts'
import { growingBytes, type Image, imageBytes, type StoredImage } from './image/image.ts'
import { type LoadAs, loadImage } from './image/load-image.ts'
import { imageCollection } from './image-collection.ts'
import {
  damaged,
  freeBytesMin,
  type ImportHost,
  importImage,
  type RestoreTarget,
  type RestoreWatch,
} from './restore-image.ts'

/** Applying more records than this takes longer than a checkpoint. */
const tailBytesMax = 1024 * 1024

export interface Cloned {
  readonly acknowledged: Acknowledgement
  /** The newest record of the source that it reflects. */
  readonly contentLsn: number
  readonly bytes: number
  /** Settles when the clone is loaded, or when loading fails. */
  readonly loaded: Promise<unknown>
}

/** Rejects with no files left and nothing changed. */
export async function cloneCollection(
  host: ImportHost,
  source: Imaged,
  target: RestoreTarget,
  watch: RestoreWatch,
): Promise<Cloned> {
  const { side } = host
  const growth = memoryOf(source.replica)
  const admit = () => side.memory.admit('the clone', { growth })
  const release = admit()
  /** Memory of the first load. Later ones are admitted when they begin. */
  let admitted: typeof release | undefined = release
  const { promise: loaded, resolve, reject } = Promise.withResolvers<unknown>()
  // Requests to the clone report a failure, so nothing needs to await this.
  loaded.catch(() => undefined)
  const stored = await importImage(side, async (dir) => {
    const image = await linkedImage(host, source, dir, watch.checkWanted)
    await checkSpace(side, growingBytes(image) + freeBytesMin)
    return target.keepExpired ? clearExpiries(side.vfs, dir, image) : image
  }).catch((error) => {
    release()
    throw error
  })
  const { image } = stored
  const id = host.nextCollectionId()
  const as = { id, name: target.name, host: side.replicaHost(image.hashSeed) }
  const coming = {
    objects: image.objects,
    elements: image.fieldsNow.map(({ elements }) => elements),
    isAlone: !host.isShared,
    async load(checkWanted: () => void) {
      const releaseThis = admitted ?? admit()
      admitted = undefined
      const onRead = (bytes: number) => {
        watch.onRead(bytes)
        checkWanted()
      }
      const loading = target.keepExpired
        ? loadImage(side.vfs, stored, { ...as, onRead })
        : loadClone(host, source, stored, { ...as, onRead })
      loading.then(resolve, reject)
      return loading.finally(releaseThis)
    },
  }
  const draft = {
    kind: 'collection-restored',
    collectionId: id,
    databaseId: target.databaseId,
    name: target.name,
    fields: image.fieldsNow.map(({ elements: _, ...field }) => field),
    hashSeed: image.hashSeed,
    importId: basename(stored.dir),
    imageSha256: stored.sha256,
    digest: image.digest,
    ...(target.parentId !== undefined && { parent: { id: target.parentId, lsn: image.lsn } }),
  } as const
  try {
    const options = { claim: target.claim, facts: { contentLsn: image.lsn } }
    const acknowledged = await host.commitRestored(draft, coming, target.checkThere, options)
    return { acknowledged, contentLsn: image.lsn, bytes: imageBytes(image), loaded }
  } catch (error) {
    release()
    await side.vfs.removeTree(stored.dir)
    throw error
  }
}

function memoryOf(replica: Replica): number {
  return Object.values(replica.bytes()).reduce((sum, bytes) => sum + bytes, 0)
}

/** The image of a clone that only this engine reads needs no checksums of its own. */
function linkedImage(
  { side, isShared }: ImportHost,
  source: Imaged,
  dir: string,
  checkWanted: () => void,
): Promise<Image> {
  const label = { name: '', database: '' }
  return imageCollection(
    side,
    source,
    dir,
    label,
    { linkOnly: !isShared },
    { checkWanted, onProgress: () => undefined },
  )
}

async function loadClone(host: ImportHost, source: Imaged, stored: StoredImage, as: LoadAs): Promise<Replica> {
  const nearer = await nearerImage(host, source, stored)
  const replica = await loadImage(host.side.vfs, nearer ?? stored, as).finally(
    () => nearer && host.side.vfs.removeTree(nearer.dir),
  )
  const { digest } = stored.image
  return checkDigest(replica, digest, () => damaged(stored, `the digest of its state is not ${digest}`))
}

/** Returns the same state with fewer records to apply, as long as nothing was written to the source since. */
async function nearerImage(host: ImportHost, source: Imaged, stored: StoredImage): Promise<StoredImage | undefined> {
  const { lsn, tail } = stored.image
  const isUnchanged = () => source.recovering?.lsnApplied === lsn
  if (tail.bytes <= tailBytesMax || !isUnchanged()) return undefined
  try {
    await host.side.takeCheckpoint()
    if (!isUnchanged()) return undefined
    const nearer = await importImage(host.side, (dir) => linkedImage(host, source, dir, () => source.checkOpen()))
    if (nearer.image.lsn === lsn) return nearer
    await host.side.vfs.removeTree(nearer.dir)
  } catch {
    // No checkpoint could be taken, or the source is deleted: the records still lead to the state.
  }
  return undefined
}
