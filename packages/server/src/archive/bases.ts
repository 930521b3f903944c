// Uploads checkpoints behind the log, so that a restore does not replay it from its first record, and removes what is no longer kept:
// bases, the log before the oldest of them, and files that nothing names.
import path from 'node:path'
import { holdCheckpoint, newestCheckpointLsn } from '@annal/engine'
import { makeDurableDirectory, nodeVfs, sizeOf } from '@annal/wal'
import type { FrameStore } from '@annal/wal/replicated'
import { type FileInParts, sha256, uploadFile } from '../cluster/file-parts.ts'
import type { Objects } from '../cluster/objects.ts'
import { NewestAge } from '../newest-age.ts'
import { ArchiveError } from './archive-error.ts'
import type { ArchiveIndex, Base, IndexObject } from './archive-index.ts'
import { archiveParts, partKey, partsFolderOf, partsFolders } from './archive-parts.ts'
import type { LogUploader } from './log-uploader.ts'
import type { Line } from './message.ts'

/** When a base is worth its upload: bytes of the log since the last one, and their share of its size. */
export interface BaseDue {
  readonly logBytesMin: number
  readonly logShareMin: number
}

/** What bases are made of and where they go. */
export interface BasesParts {
  readonly dataDir: string
  readonly line: Line
  readonly store: FrameStore
  readonly objects: Objects
  readonly index: IndexObject
  readonly uploader: LogUploader
  /** The number of bases that are kept. */
  readonly keep: number
  /** The number of the message with which this directory took over the archive; 0 if it began it. */
  readonly owner: number
  readonly due: BaseDue
  readonly onNotice: (sentence: string) => void
  readonly onBytes: (bytes: number) => void
  /** Throws when the upload is no longer wanted. */
  readonly checkWanted: () => void
}

/** A base is also made when the last one is older and records followed. */
const ageMsMax = 24 * 3_600_000

/** The bases and images of one archive. */
export class Bases {
  readonly #parts: BasesParts
  /** Parts that are known to be in the bucket. */
  readonly #known = new Set<string>()
  readonly #listings = new Map<string, readonly FileInParts[]>()
  /** A restore has nothing to begin with: the log in the bucket does not begin with LSN 1, or it has a gap since the last base. */
  #isNeeded: boolean
  readonly #age = new NewestAge()
  /** Bytes of the log that were uploaded when the last base was made. */
  #logBytes = 0
  #hasOldLists = false
  /** Nothing was uploaded since objects were last checked and removed. */
  #isCollected = true
  /** An image that is not in the index yet must not be collected. */
  #exclusive: Promise<unknown> = Promise.resolve()

  constructor(parts: BasesParts, { isNeeded }: { readonly isNeeded: boolean }) {
    this.#parts = parts
    this.#isNeeded = isNeeded
  }

  /** Whether nothing that is in the bucket could be restored to its end. */
  get isNeeded(): boolean {
    return this.#isNeeded
  }

  /** Makes the image that a record names restorable. It is uploaded before the record. */
  uploadImage(id: string, lsn: number): Promise<void> {
    return this.#exclusively(() => this.#uploadImage(id, lsn))
  }

  async #uploadImage(id: string, lsn: number): Promise<void> {
    const { dataDir, index } = this.#parts
    if (index.value.images.some((image) => image.id === id)) return
    const vfs = nodeVfs()
    const dir = path.join(dataDir, 'imports', id)
    // It was removed before the archive began: the checkpoint with which the archive begins holds the collection, or it was deleted.
    if (!(await vfs.exists(dir))) return
    const files: { name: string; bytes: number }[] = []
    for (const name of await vfs.list(dir)) files.push({ name, bytes: await sizeOf(vfs, path.join(dir, name)) })
    const { listing, folder } = await this.#uploadFiles(dir, files)
    await index.change((value) => ({
      ...value,
      images: [...value.images.filter((image) => image.id !== id), { id, lsn, listing, folder }],
    }))
  }

  /**
   * Uploads the newest checkpoint as a base if one is due, and checks and removes objects unless that succeeded since the last base. Returns
   * whether it uploaded one.
   */
  async uploadIfDue(): Promise<boolean> {
    const isUploaded = await this.#uploadIfDue()
    if (!this.#isCollected) await this.#exclusively(() => this.#collect())
    return isUploaded
  }

  async #uploadIfDue(): Promise<boolean> {
    const { index, dataDir, line } = this.#parts
    if (!this.#isDue()) return false
    const lsn = await newestCheckpointLsn({ dataDir, identity: line })
    if (lsn <= (index.value.bases.at(-1)?.lsn ?? 0)) return false
    return this.#upload()
  }

  #isDue(): boolean {
    if (this.#isNeeded) return true
    const { index, uploader, due } = this.#parts
    const last = index.value.bases.at(-1)
    if (uploader.bytes - this.#logBytes >= Math.max(due.logBytesMin, (last?.bytes ?? 0) * due.logShareMin)) return true
    return last !== undefined && this.#age.ageMs(last.timeMs) > ageMsMax && uploader.lsnUploaded > last.lsnReached
  }

  async #upload(): Promise<boolean> {
    const { dataDir, line, uploader, index } = this.#parts
    const vfs = nodeVfs()
    const into = uploadsDir(dataDir)
    await makeDurableDirectory(vfs, into, dataDir)
    const logBytes = uploader.bytes
    const held = await holdCheckpoint({ dataDir, identity: line, into })
    if (held === undefined) return false
    try {
      const { listing, folder, bytes } = await this.#uploadFiles(held.dir, held.files)
      // The log must show that the base belongs to it.
      if (uploader.lsnUploaded < held.lsnReached) return false
      const { name, lsn, lsnReached, timeMs } = held
      const messageFirst = await uploader.segmentNumberOf(lsn)
      const base: Base = { name, lsn, lsnReached, timeMs, messageFirst, listing, folder, bytes }
      await index.change((value) => withBase(value, base, this.#parts.keep))
    } finally {
      await vfs.removeTree(held.dir)
    }
    this.#isNeeded = false
    this.#age.renew()
    this.#logBytes = logBytes
    this.#isCollected = false
    return true
  }

  #exclusively(act: () => Promise<void>): Promise<void> {
    const done = this.#exclusive.then(act)
    this.#exclusive = done.catch(() => undefined)
    return done
  }

  async #uploadFiles(dir: string, files: readonly { readonly name: string; readonly bytes: number }[]) {
    const { objects, onBytes, checkWanted } = this.#parts
    const folder = partsFolderOf(this.#parts.owner)
    const [vfs, store] = [nodeVfs(), archiveParts(objects, folder)]
    const watch = { known: this.#known, onBytes, checkWanted }
    const uploaded: FileInParts[] = []
    for (const { name, bytes } of files) uploaded.push(await uploadFile(vfs, store, { dir, name, bytes }, watch))
    const text = Buffer.from(JSON.stringify(uploaded))
    const listing = sha256(text)
    if ((await objects.put(partKey(listing, folder), text, 'absent')) === 'stored') onBytes(text.length)
    // Whatever the outcome was: this throws unless the object is there.
    await this.#parts.index.listing({ listing, folder })
    this.#listings.set(listing, uploaded)
    return { listing, folder, bytes: files.reduce((sum, file) => sum + file.bytes, 0) }
  }

  /** Removes the log before the oldest base, once there are as many as are kept, and files that the index does not name. */
  async #collect(): Promise<void> {
    const { store, index, objects, keep } = this.#parts
    const { bases, images } = index.value
    const oldest = bases[0]
    if (oldest !== undefined && bases.length >= keep) await store.trim(oldest.messageFirst)
    const needed = new Set<string>()
    const listings = new Set<string>()
    for (const { listing, folder } of [...bases, ...images]) {
      listings.add(listing)
      needed.add(partKey(listing, folder))
      const files = this.#listings.get(listing) ?? (await index.listing({ listing, ...(folder && { folder }) }))
      this.#listings.set(listing, files)
      for (const sum of files.flatMap(({ parts }) => parts)) needed.add(partKey(sum, folder))
    }
    for (const listing of this.#listings.keys()) if (!listings.has(listing)) this.#listings.delete(listing)
    const found = await objects.list(partsFolders)
    await this.#checkList(needed, found)
    const leftOver = found.filter((key) => !needed.has(key))
    // Before they are deleted: a part that is not known is written again.
    for (const key of leftOver) this.#known.delete(key.slice(key.lastIndexOf('/') + 1))
    await objects.delete(leftOver)
    this.#isCollected = true
  }

  /** A needed object that a list lacks is lost, or the list is old. Throws archive_damaged if one is lost. */
  async #checkList(needed: ReadonlySet<string>, found: readonly string[]): Promise<void> {
    const { objects, onNotice } = this.#parts
    const listed = new Set(found)
    const unlisted = [...needed].filter((key) => !listed.has(key))
    for (const key of unlisted)
      if (!(await objects.has(key)))
        throw new ArchiveError(
          'archive_damaged',
          `the object ${key}, which a checkpoint in the bucket needs, is missing`,
        )
    if (unlisted.length > 0 && !this.#hasOldLists)
      onNotice(
        `the lists of the bucket are old: they lack ${unlisted.length} objects that it has. Nothing depends on them; files that are not needed are deleted later`,
      )
    this.#hasOldLists = unlisted.length > 0
  }
}

/** The folder with the links to checkpoints that are being uploaded. */
export function uploadsDir(dataDir: string): string {
  return path.join(dataDir, 'uploads')
}

/** Adds a base and gives up the oldest beyond `keep`, with the images that only an older one needs. */
function withBase(index: ArchiveIndex, base: Base, keep: number): ArchiveIndex {
  const others = index.bases.filter(({ lsn }) => lsn < base.lsn)
  const bases = [...others, base].slice(-keep)
  const lsnOldest = bases.length < keep ? 0 : (bases[0]?.lsn ?? 0)
  return { ...index, bases, images: index.images.filter(({ lsn }) => lsn > lsnOldest) }
}
