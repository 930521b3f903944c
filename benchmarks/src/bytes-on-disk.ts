// The size of a folder.
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'

/** Bytes of all files below a folder; 0 if there is none. */
export function bytesOnDisk(folder: string): number {
  if (!existsSync(folder)) return 0
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
}
