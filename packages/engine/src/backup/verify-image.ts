// Compares an image with its manifest: every file there, none besides, each with its length and its checksum.
import { join } from 'node:path'
import { errnoOf, sizeOf, type Vfs } from '@annal/wal'
import { hashFile } from './hash-file.ts'
import { filesOf, imageManifestName, type StoredImage } from './image.ts'

/** One sentence for each thing that is wrong; none for an image that is whole. Reads only. */
export async function verifyImage(
  vfs: Vfs,
  { dir, image }: StoredImage,
  onRead: (bytes: number) => void = () => undefined,
): Promise<string[]> {
  const faults: string[] = []
  const files = filesOf(image)
  const names = new Set([...files.map(({ name }) => name), imageManifestName])
  if (!(await vfs.exists(dir))) return [`its directory ${dir} is missing`]
  for (const name of await vfs.list(dir)) if (!names.has(name)) faults.push(`${name} is not of this image`)
  for (const { name, bytes, sha256 } of files) {
    const path = join(dir, name)
    try {
      const size = await sizeOf(vfs, path)
      if (size !== bytes) faults.push(`${name} has ${size} bytes, its manifest says ${bytes}`)
      else if ((await hashFile(vfs, path, onRead)).sha256 !== sha256)
        faults.push(`${name} is damaged: its checksum is wrong`)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      faults.push(`${name} cannot be read: ${errnoOf(error)}`)
    }
  }
  return faults
}
