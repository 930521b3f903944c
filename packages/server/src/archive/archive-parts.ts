// The parts of files in a bucket archive: objects in the folder of the writer.
import { StoreUnavailable } from '@annal/wal/replicated'
import type { PartStore } from '../cluster/file-parts.ts'
import type { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'

/** The folders of parts begin with this. */
export const partsFolders = 'files'
/** The folder of the first writer. */
const partsFolderFirst = `${partsFolders}/`
const partBytesMax = 16 * 1024 * 1024

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

/** The parts in a folder of a bucket. */
export function archiveParts(objects: Objects, folder: string | undefined): PartStore {
  return {
    partBytesMax,
    keyOf: (sum) => partKey(sum, folder),
    async put(sum, bytes) {
      const outcome = await objects.put(partKey(sum, folder), bytes, 'absent')
      if (outcome === 'unknown')
        throw objects.putTrouble ?? new StoreUnavailable('the bucket did not confirm a part of a file')
      return outcome === 'stored' ? 'stored' : 'exists'
    },
    get: async (sum) => (await objects.get(partKey(sum, folder)))?.bytes,
    damaged: (problem) => new ArchiveError('archive_damaged', problem),
  }
}
