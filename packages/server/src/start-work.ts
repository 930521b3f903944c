// Measures how much a start has to load: the sizes of the log and of checkpoints, which determine how long it takes.
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

/** Bytes of the log and of the checkpoints of a data directory. 0 for one that does not exist yet. */
export function bytesToLoad(dataDir: string): number {
  return bytesIn(path.join(dataDir, 'wal')) + bytesIn(path.join(dataDir, 'checkpoints'))
}

/** A file that cannot be read counts as none: opening the directory reports it. */
function bytesIn(dir: string): number {
  try {
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    return files.reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
  } catch {
    return 0
  }
}
