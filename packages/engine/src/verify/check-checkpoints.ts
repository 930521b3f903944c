// Checks every file that a checkpoint lists: that it is there and has its length, and when asked to, every byte of it. Also the
// files in originals/, which a start continues with. Says what to do about each fault, which depends on what is whole.
import { join, relative } from 'node:path'
import { sizeOf, type Vfs } from '@annal/wal'
import { type Checkpoint, findCheckpoints } from '../snapshot/checkpoint.ts'
import { unreadableFile } from '../unreadable.ts'
import { snapshotFault, snapshotHeadFault } from './snapshot-fault.ts'

export interface CheckpointCheck {
  readonly vfs: Vfs
  readonly dataDir: string
  /** Whether every byte of the snapshot files is read. */
  readonly isDeep: boolean
  /** Whether the log has all its records, so that the state can be built without a checkpoint. */
  readonly isLogWhole: boolean
  readonly onFile?: (done: number, total: number) => void
}

export interface CheckpointFault {
  /** Below the data directory. */
  readonly file: string
  readonly what: string
  readonly cure: string
}

export interface CheckedCheckpoints {
  readonly faults: readonly CheckpointFault[]
  /** Newest first. */
  readonly whole: readonly Checkpoint[]
  /** LSN of the newest checkpoint there is, whole or not; undefined without one. */
  readonly newestLsn: number | undefined
}

export async function checkCheckpoints(check: CheckpointCheck): Promise<CheckedCheckpoints> {
  const { vfs, dataDir, onFile } = check
  const originalsDir = join(dataDir, 'originals')
  const { good, damaged } = await findCheckpoints({ vfs, dir: join(dataDir, 'checkpoints'), originalsDir })
  const found: { readonly file: string; readonly what: string }[] = []
  // Beside a server, a checkpoint that was given up meanwhile is nobody's loss.
  for (const { path, message } of damaged)
    if (await vfs.exists(path)) found.push({ file: relative(dataDir, path), what: message })
  const total = good.flatMap(({ manifest }) => manifest.collections).flatMap(({ files }) => files).length
  const whole: Checkpoint[] = []
  let done = 0
  for (const checkpoint of good) {
    const before = found.length
    for (const { id, lsn, files, originals, originalBytes = [] } of checkpoint.manifest.collections) {
      for (const { name, part, bytes, sum } of files) {
        const path = join(checkpoint.path, name)
        const expected = { collectionId: id, part, lsn, bytes, sum }
        const what = await (check.isDeep ? snapshotFault : snapshotHeadFault)(vfs, path, expected)
        if (what !== undefined) found.push({ file: relative(dataDir, path), what })
        onFile?.(++done, total)
      }
      for (const [at, name] of originals.entries()) {
        const path = join(checkpoint.path, name)
        const what = await lengthFault(vfs, path, originalBytes[at] ?? 0)
        if (what !== undefined) found.push({ file: relative(dataDir, path), what })
      }
    }
    if (found.length === before) whole.push(checkpoint)
    else if (!(await vfs.exists(checkpoint.path))) found.length = before
  }
  const cure = cureFor(whole, check.isLogWhole)
  return {
    faults: found.map((fault) => ({ ...fault, cure })),
    whole,
    newestLsn: good[0]?.manifest.lsn,
  }
}

export async function lengthFault(vfs: Vfs, path: string, bytes: number): Promise<string | undefined> {
  try {
    const size = await sizeOf(vfs, path)
    return size < bytes ? `${path} has ${size} bytes, its manifest says ${bytes}` : undefined
  } catch (error) {
    const fault = unreadableFile(error, path)
    if (fault === undefined) throw error
    return fault.message
  }
}

function cureFor([newest]: readonly Checkpoint[], isLogWhole: boolean): string {
  if (newest !== undefined)
    return `start the server: it loads the checkpoint of LSN ${newest.manifest.lsn} and replays the log from there, and its next checkpoint replaces the damaged one`
  if (isLogWhole) return 'start the server: it replays the whole log, and its next checkpoint replaces the damaged one'
  return 'put the file back from a copy of the directory, or restore the collection from a backup: no other checkpoint is whole, and the log does not go back to its first record'
}
