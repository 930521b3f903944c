// Reads one file of a snapshot from the first byte to the last.
import { errnoOf, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { SnapshotSource } from '../snapshot/snapshot-source.ts'

/** What is wrong with it; undefined for one that is whole. */
export async function snapshotFault(
  vfs: Vfs,
  path: string,
  expected: Parameters<typeof SnapshotSource.open>[2],
): Promise<string | undefined> {
  try {
    const source = await SnapshotSource.open(vfs, path, expected)
    try {
      while (await source.piece()) {
        // Each is checked before it is given.
      }
      await source.end()
    } finally {
      await source.close()
    }
    return undefined
  } catch (error) {
    if (error instanceof EngineError || errnoOf(error) !== undefined) return (error as Error).message
    throw error
  }
}
