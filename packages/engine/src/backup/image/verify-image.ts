// Compares an image with its manifest: every file exists, there are no others, and each has its length and checksum.
import { join } from 'node:path'
import { errnoOf, sizeOf, type Vfs } from '@annal/wal'
import { unreadableFile } from '../../file-damage.ts'
import { hashFile } from './hash-file.ts'
import { filesOf, imageManifestName, type StoredImage } from './image.ts'

/** Returns one sentence for each fault; none for an intact image. Reads only. Rejects with an error of the system that says nothing about a file. */
export async function verifyImage(
  vfs: Vfs,
  { dir, image }: StoredImage,
  onRead: (bytes: number) => void = () => undefined,
): Promise<string[]> {
  const faults: string[] = []
  const files = filesOf(image)
  const names = new Set([...files.map(({ name }) => name), imageManifestName])
  if (!(await vfs.exists(dir))) return [`its directory ${dir} is missing`]
  for (const name of await vfs.list(dir)) if (!names.has(name)) faults.push(`${name} does not belong to this image`)
  for (const { name, bytes, sha256 } of files) {
    const path = join(dir, name)
    try {
      const size = await sizeOf(vfs, path)
      if (size !== bytes) faults.push(`${name} has ${size} bytes, but its manifest says ${bytes}`)
      else if ((await hashFile(vfs, path, onRead)).sha256 !== sha256) faults.push(`${name} is damaged: wrong checksum`)
    } catch (error) {
      // Errors that say nothing about the file, such as too many open files, are not faults of it.
      if (unreadableFile(error, path) === undefined) throw error
      faults.push(`${name} cannot be read: ${errnoOf(error)}`)
    }
  }
  return faults
}
