// Keeps the bytes that a start removes from an unclean end, in `.torn` files next to the segments. They are evidence for a later
// inspection, never data: nothing reads them. The newest ones are kept, within a limit of files and a limit of bytes.
import { basename, join } from 'node:path'
import { errnoOf } from './errors.ts'
import { tornBytesMax, tornFilesMax } from './limits.ts'
import type { LogScan } from './scan-log.ts'
import { parseTornName, type TornName, tornName } from './segment-header.ts'
import { copyRange } from './tail.ts'
import type { Vfs } from './vfs.ts'

/** Copies the bytes that will be cut off into a file next to the segment. Returns its path; undefined when nothing is worth keeping. */
export async function keepTorn(vfs: Vfs, dir: string, scan: LogScan): Promise<string | undefined> {
  const last = scan.segments.at(-1)
  if (last === undefined || scan.torn === undefined || scan.torn.onlyZeros) return undefined
  const earlier = byAge(scan.files.torn).findLast(({ segment }) => segment === last.file.name)
  // A higher number than every earlier removal, so that numbers follow age and nothing is overwritten.
  const target = join(dir, tornName(last.file.name, (earlier?.number ?? 0) + 1))
  const from = scan.torn.offset
  await copyRange(vfs, { source: last.file.path, target, from, to: Math.min(last.bytes, from + tornBytesMax) })
  return target
}

/** Removes the oldest torn files, so that at most tornFilesMax files with at most tornBytesMax bytes are left. */
export async function removeOldTorn(vfs: Vfs, dir: string, scan: LogScan, newest: string | undefined): Promise<void> {
  const names = newest === undefined ? scan.files.torn : [...scan.files.torn, basename(newest)]
  let files = 0
  let bytes = 0
  const removed: string[] = []
  for (const { name } of byAge(names).reverse()) {
    const path = join(dir, name)
    files++
    bytes += await sizeOf(vfs, path)
    if (files > tornFilesMax || bytes > tornBytesMax) removed.push(path)
  }
  for (const path of removed) await vfs.remove(path)
  if (removed.length > 0) await vfs.syncDirectory(dir)
}

/** Oldest first. */
function byAge(names: readonly string[]): TornName[] {
  const files = names.map(parseTornName).filter((file) => file !== undefined)
  return files.sort((a, b) => (a.segment === b.segment ? a.number - b.number : a.segment < b.segment ? -1 : 1))
}

/** 0 for a file that cannot be read: evidence never keeps a log from opening. */
async function sizeOf(vfs: Vfs, path: string): Promise<number> {
  try {
    const file = await vfs.open(path, 'read')
    try {
      return await file.size()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return 0
  }
}
