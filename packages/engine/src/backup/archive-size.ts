// Measures the disk space that some files take and other files do not already hold. Files that are links to each other
// are identified by their content: a snapshot of a collection as of one record is written once, and files of original
// vectors only grow.
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { listedRequestKeys, snapshotFiles } from '../snapshot/manifest.ts'
import type { SnapshotHead } from '../snapshot/snapshot-format.ts'
import { type Image, imageManifestName, listedParts, originalsName } from './image/image.ts'

export interface DiskFile {
  /** Equal for two names of one file. */
  readonly key: string
  readonly bytes: number
}

/** Disks allocate whole blocks. */
const blockBytes = 4096

/** The disk space of `files` that `others` do not hold. */
export function heldBeyond(files: readonly DiskFile[], others: readonly DiskFile[]): number {
  const counted = new Set(others.map(({ key }) => key))
  let bytes = 0
  for (const file of files) {
    if (counted.has(file.key)) continue
    counted.add(file.key)
    bytes += Math.ceil(file.bytes / blockBytes) * blockBytes
  }
  return bytes
}

export function filesOfCheckpoint({ path, manifest }: Checkpoint): DiskFile[] {
  const files: DiskFile[] = [{ key: path, bytes: blockBytes }]
  for (const { expected } of listedRequestKeys(manifest)) files.push({ key: partKey(expected), bytes: expected.bytes })
  for (const collection of manifest.collections) {
    const { originals, originalBytes = [] } = collection
    for (const { expected } of snapshotFiles(collection)) files.push({ key: partKey(expected), bytes: expected.bytes })
    for (const [index, name] of originals.entries()) files.push({ key: name, bytes: originalBytes[index] ?? 0 })
  }
  return files
}

/** `uuid` is that of the directory that holds the image. */
export function filesOfImage(id: string, image: Image, uuid: string): DiskFile[] {
  const { source, parts, originals, tail } = image
  const own = (name: string) => `${id}/${name}`
  const isOfHere = source.uuid === uuid
  const files: DiskFile[] = [
    { key: own(imageManifestName), bytes: blockBytes },
    { key: own('tail'), bytes: tail.bytes },
  ]
  for (const { name, expected } of parts.flatMap((file) => listedParts(image, file)))
    files.push({ key: isOfHere ? partKey(expected) : own(name), bytes: expected.bytes })
  for (const file of originals) {
    const { generation, field, chunk, full, bytes, sha256 } = file
    // Images of backups hold copies of files that were still growing; those of clones link them.
    const isLink = isOfHere && (full || sha256 === '')
    const name = `collection-${source.collectionId}-generation-${generation}-field-${field}-chunk-${chunk}.f32`
    files.push({ key: isLink ? name : own(originalsName(file)), bytes })
  }
  return files
}

function partKey({ collectionId, lsn, part, since }: SnapshotHead): string {
  return `${collectionId} ${lsn} ${part} ${since ?? ''}`
}
