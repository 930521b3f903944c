// Sets of files in the shared store of a cluster: an image, a backup, a snapshot. The parts of the files are stored first, and the listing
// last, so a set exists when its listing does.
import path from 'node:path'
import type { Vfs } from '@annal/wal'
import { ServerError } from '../errors.ts'
import { downloadFile, type FileInParts, type PartStore, type UploadWatch, uploadFile } from './file-parts.ts'
import type { SharedStore } from './shared-store.ts'

/** Where a set is. Sets of one folder share equal parts, so a set is removed only by a process that knows the others. */
export interface SetPlace {
  readonly store: SharedStore
  /** Ends with a slash. */
  readonly folder: string
  /** The name of the listing in the folder. It is never used again. */
  readonly name: string
}

/** The files of a set. */
export interface FileListing {
  readonly files: readonly FileInParts[]
}

/** Files of one directory. */
export interface FilesToStore {
  readonly vfs: Vfs
  readonly dir: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

/** How a set is uploaded. */
export interface SetUpload extends UploadWatch {
  /** How many bytes of it are not in the store yet, as far as the caller knows; by default all. */
  readonly bytesNew: number
}

/** Uploads files. Rejects with `shared_store_full`, StoreUnavailable, and as `checkWanted` throws; then the set does not exist. */
export async function putFileSet(
  { store, folder, name }: SetPlace,
  { vfs, dir, files }: FilesToStore,
  options: Partial<SetUpload> = {},
): Promise<FileListing> {
  const { known = new Set<string>(), onBytes = () => undefined, checkWanted = () => undefined } = options
  await store.checkRoom(options.bytesNew ?? files.reduce((sum, { bytes }) => sum + bytes, 0))
  const parts = partsIn(store, folder)
  const stored: FileInParts[] = []
  for (const file of files) stored.push(await uploadFile(vfs, parts, { dir, ...file }, { known, onBytes, checkWanted }))
  checkWanted()
  const listing = { files: stored }
  await store.put(folder + name, Buffer.from(JSON.stringify(listing)))
  return listing
}

/** How a set is downloaded. */
export interface SetDownload {
  readonly vfs: Vfs
  /** An existing directory. */
  readonly dir: string
  /** Which of its files; by default all. */
  readonly isWanted?: (name: string) => boolean
  /** Called with the bytes that were written. */
  readonly onBytes?: (bytes: number) => void
}

/** Downloads a set. Rejects with `shared_file_damaged` and StoreUnavailable. */
export async function getFileSet(
  place: SetPlace,
  { vfs, dir, isWanted = () => true, onBytes }: SetDownload,
): Promise<void> {
  const { store, folder } = place
  const listing = await readListing(place)
  const parts = partsIn(store, folder)
  if (listing === undefined) throw parts.damaged(`the listing ${folder}${place.name} is missing`)
  for (const file of listing.files.filter(({ name }) => isWanted(name)))
    await downloadFile(vfs, parts, file, { dir, ...(onBytes && { onBytes }) })
  await vfs.syncDirectory(path.resolve(dir))
}

/** The files of a set; undefined if it does not exist. */
export async function readListing({ store, folder, name }: SetPlace): Promise<FileListing | undefined> {
  const found = await store.get(folder + name)
  return found && (JSON.parse(Buffer.from(found).toString()) as FileListing)
}

/** Removes a folder with a single set: the listing first, so that no set lacks parts. */
export async function removeFileSet({ store, folder, name }: SetPlace): Promise<void> {
  await store.delete([folder + name])
  await store.delete(await store.list(folder))
}

function partsIn(store: SharedStore, folder: string): PartStore {
  return {
    partBytesMax: store.objectBytesMax,
    keyOf: (sum) => folder + sum,
    put: (sum, bytes) => store.put(folder + sum, bytes),
    get: (sum) => store.get(folder + sum),
    damaged: (problem) => new ServerError('shared_file_damaged', `in ${store.at}: ${problem}`),
  }
}
