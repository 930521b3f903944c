// Reads one file of a snapshot from the first byte to the last.
import { errnoOf, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { SnapshotSource } from '../snapshot/snapshot-source.ts'

type Expected = Parameters<typeof SnapshotSource.open>[2]

/** What is wrong with it; undefined for one that is whole. */
export function snapshotFault(vfs: Vfs, path: string, expected: Expected): Promise<string | undefined> {
  return faultOf(async () => {
    const source = await SnapshotSource.open(vfs, path, expected)
    try {
      while (await source.piece()) {
        // Each is checked before it is given.
      }
      await source.end()
    } finally {
      await source.close()
    }
  })
}

/** What is wrong with its length and its header. */
export function snapshotHeadFault(vfs: Vfs, path: string, expected: Expected): Promise<string | undefined> {
  return faultOf(async () => (await SnapshotSource.open(vfs, path, expected)).close())
}

async function faultOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    if (error instanceof EngineError || errnoOf(error) !== undefined) return (error as Error).message
    throw error
  }
}
