// Reads one snapshot file from its first byte to its last.
import { errnoOf, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { SnapshotSource } from '../snapshot/snapshot-source.ts'

type Expected = Parameters<typeof SnapshotSource.open>[2]

/** Returns the fault of the file; undefined when it is intact. */
export function snapshotFault(vfs: Vfs, path: string, expected: Expected): Promise<string | undefined> {
  return faultOf(async () => {
    const source = await SnapshotSource.open(vfs, path, expected)
    try {
      while (await source.piece()) {
        // The source verifies each piece before it yields it.
      }
      await source.end()
    } finally {
      await source.close()
    }
  })
}

/** Returns the fault of its length and its header. */
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
