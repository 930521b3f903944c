// Files in a bucket archive, in parts of a limited size. The name of a part is its SHA-256, so a part that is there already is never
// written again, and every part that is read is proved.
import { createHash } from 'node:crypto'
import path from 'node:path'
import { readFully, type Vfs, writeFully } from '@annal/wal'
import { StoreUnavailable } from '@annal/wal/replicated'
import type { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'

/** A file of the archive. */
export interface ArchivedFile {
  readonly name: string
  readonly bytes: number
  /** SHA-256 of each part, in order. */
  readonly parts: readonly string[]
}

/** The folders of parts begin with this. */
export const partsFolders = 'files'
/** The folder of the first writer. */
const partsFolderFirst = `${partsFolders}/`
const partBytesMax = 16 * 1024 * 1024

/** What an upload needs. */
export interface PartsPlace {
  readonly vfs: Vfs
  readonly objects: Objects
  readonly folder: string | undefined
  /** Parts that are known to be in the bucket; those that are uploaded are added. */
  readonly known: Set<string>
  readonly onBytes: (bytes: number) => void
  /** Throws when the upload is no longer wanted. */
  readonly checkWanted: () => void
}

/**
 * The folder of a writer that took over with this message; 0 for the first writer. Each has its own, because an earlier one may still
 * delete files of its own.
 */
export function partsFolderOf(owner: number): string {
  return owner === 0 ? partsFolderFirst : `${partsFolders}-${owner}/`
}

/** The key of a part. */
export function partKey(sum: string, folder = partsFolderFirst): string {
  return `${folder}${sum}`
}

/** Uploads the first `bytes` bytes of a file. */
export async function uploadFile(
  place: PartsPlace,
  { dir, name, bytes }: { readonly dir: string; readonly name: string; readonly bytes: number },
): Promise<ArchivedFile> {
  const parts: string[] = []
  const file = await place.vfs.open(path.join(dir, name), 'read')
  try {
    for (let offset = 0; offset < bytes; offset += partBytesMax) {
      const part = Buffer.allocUnsafe(Math.min(partBytesMax, bytes - offset))
      if ((await readFully(file, part, offset)) < part.length)
        throw new ArchiveError('archive_damaged', `${name} ended before byte ${bytes} while it was uploaded`)
      parts.push(await uploadPart(place, part))
    }
  } finally {
    await file.close()
  }
  return { name, bytes, parts }
}

async function uploadPart({ objects, folder, known, onBytes, checkWanted }: PartsPlace, part: Buffer): Promise<string> {
  checkWanted()
  const sum = sha256(part)
  if (known.has(sum)) return sum
  const outcome = await objects.put(partKey(sum, folder), part, 'absent')
  if (outcome === 'unknown')
    throw objects.putTrouble ?? new StoreUnavailable('the bucket did not confirm a part of a file')
  if (outcome === 'stored') onBytes(part.length)
  known.add(sum)
  return sum
}

/** Downloads a file into a folder. Throws archive_damaged if a part is missing or differs. */
export async function downloadFile(
  { vfs, objects, folder, onBytes }: Pick<PartsPlace, 'vfs' | 'objects' | 'folder' | 'onBytes'>,
  { name, bytes, parts }: ArchivedFile,
  dir: string,
): Promise<void> {
  if (path.basename(name) !== name) throw new ArchiveError('archive_damaged', `a listing names ${name} as a file`)
  const file = await vfs.open(path.join(dir, name), 'create')
  try {
    let offset = 0
    for (const sum of parts) {
      const key = partKey(sum, folder)
      const found = await objects.get(key)
      if (found === undefined) throw new ArchiveError('archive_damaged', `the object ${key} of ${name} is missing`)
      if (sha256(found.bytes) !== sum)
        throw new ArchiveError('archive_damaged', `the object ${key} of ${name} is damaged`)
      const part = Buffer.from(found.bytes.buffer, found.bytes.byteOffset, found.bytes.byteLength)
      await writeFully(file, part, offset)
      offset += part.length
      onBytes(part.length)
    }
    if (offset !== bytes) throw new ArchiveError('archive_damaged', `${name} has ${offset} bytes instead of ${bytes}`)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** The SHA-256 of some bytes in hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
