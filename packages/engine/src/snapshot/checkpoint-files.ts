// The files of a collection in a checkpoint: their names, and links to those of another checkpoint.
import { join } from 'node:path'
import type { Vfs } from '@annal/wal'
import { isMissing } from '../file-damage.ts'
import { type ManifestCollection, snapshotFiles } from './manifest.ts'
import { lsnsPart } from './snapshot-format.ts'

export function fileName(collectionId: number, part: number): string {
  return `collection-${collectionId}-${partName(part)}.snap`
}

export function deltaName(collectionId: number, part: number, lsn: number): string {
  return `collection-${collectionId}-${partName(part)}-changes-${String(lsn).padStart(20, '0')}.snap`
}

function partName(part: number): string {
  return part === lsnsPart ? 'lsns' : `part-${part}`
}

/** Links every file of a collection. When one is missing it links none, and the collection must be written again. */
export function linkWhole(vfs: Vfs, from: string, to: string, collection: ManifestCollection): Promise<boolean> {
  return linkAll(vfs, from, to, namesOf(collection))
}

/** Links every file, or none when one is missing; returns which. */
export async function linkAll(vfs: Vfs, from: string, to: string, names: readonly string[]): Promise<boolean> {
  const linked: string[] = []
  for (const name of names) {
    try {
      await vfs.link(join(from, name), join(to, name))
    } catch (error) {
      if (!isMissing(error)) throw error
      for (const one of linked) await vfs.remove(one)
      return false
    }
    linked.push(join(to, name))
  }
  return true
}

/** Links the existing files of a collection. */
export async function linkLeft(
  vfs: Vfs,
  from: string,
  to: string,
  collection: ManifestCollection,
): Promise<ManifestCollection> {
  for (const name of namesOf(collection)) {
    await vfs.link(join(from, name), join(to, name)).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }
  return collection
}

export function namesOf(collection: ManifestCollection): string[] {
  return [...snapshotFiles(collection).map(({ name }) => name), ...collection.originals]
}
