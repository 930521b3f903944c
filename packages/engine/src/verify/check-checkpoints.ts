// Checks every file that a checkpoint lists: that it exists and has its length; a deep check reads every byte. Also
// checks the files in originals/, which a start continues to use. Each fault comes with a fix that depends on what is
// intact.
import { join, relative } from 'node:path'
import type { Vfs } from '@annal/wal'
import { type ListedOriginals, originalsFault } from '../originals/check-originals.ts'
import { dimensionOf } from '../originals/originals-owner.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { findCheckpoints } from '../snapshot/find-checkpoints.ts'
import { listedOriginals, listedRequestKeys, lsnHeldByAll, lsnReachedBy, snapshotFiles } from '../snapshot/manifest.ts'
import { snapshotFault, snapshotHeadFault } from './snapshot-fault.ts'

/** What is checked, and how thoroughly. */
export interface CheckpointCheck {
  readonly vfs: Vfs
  readonly dataDir: string
  /** The uuid of the data directory. */
  readonly directory: string
  /** Whether every byte of the files is read. */
  readonly isDeep: boolean
  /** Whether the log has all its records, so that the state can be built without a checkpoint. */
  readonly isLogWhole: boolean
  readonly onFile?: (done: number, total: number) => void
}

/** A fault of a file: what is wrong, and how to fix it, as sentences. */
export interface CheckpointFault {
  /** Path relative to the data directory. */
  readonly file: string
  readonly what: string
  readonly cure: string
}

/** What the check found. */
export interface CheckedCheckpoints {
  readonly faults: readonly CheckpointFault[]
  /** Files of an earlier version that do not prove, or not fully prove, to which field they belong. */
  readonly unproved: readonly CheckpointFault[]
  /** Newest first. */
  readonly whole: readonly Checkpoint[]
  /** LSN of the newest checkpoint, intact or not; undefined without one. */
  readonly newestLsn: number | undefined
  /** The newest record that any part of it reflects; 0 without a checkpoint. */
  readonly lsnReached: number
  /** A start from it reads the log after this record; 0 without a checkpoint. */
  readonly lsnHeld: number
}

/**
 * Checks the files of the checkpoints and the original vectors that they name.
 *
 * @example
 * ```ts
 * import { nodeVfs, readIdentity } from '@annal/wal'
 *
 * const [vfs, dataDir] = [nodeVfs(), './data']
 * const identity = await readIdentity({ vfs, dir: dataDir })
 * const directory = identity?.uuid ?? ''
 * const { faults } = await checkCheckpoints({ vfs, dataDir, directory, isDeep: true, isLogWhole: false })
 * ```
 */
export async function checkCheckpoints(check: CheckpointCheck): Promise<CheckedCheckpoints> {
  const { vfs, dataDir, onFile } = check
  const originalsDir = join(dataDir, 'originals')
  const directory = () => check.directory
  const place = { vfs, dir: join(dataDir, 'checkpoints'), originalsDir, directory }
  const { good, damaged } = await findCheckpoints(place)
  const unproved: CheckpointFault[] = []
  const misplaced: CheckpointFault[] = []
  const found: { readonly file: string; readonly what: string }[] = []
  // While a server runs, a checkpoint may be removed during the check; that is not a fault.
  for (const { path, message } of damaged)
    if (await vfs.exists(path)) found.push({ file: relative(dataDir, path), what: message })
  const filesIn = ({ manifest }: Checkpoint) => [
    ...manifest.collections.flatMap(snapshotFiles),
    ...listedRequestKeys(manifest),
  ]
  const total = good.flatMap(filesIn).length
  const whole: Checkpoint[] = []
  let done = 0
  for (const checkpoint of good) {
    const before = found.length
    for (const { name, expected } of filesIn(checkpoint)) {
      const path = join(checkpoint.path, name)
      const what = await (check.isDeep ? snapshotFault : snapshotHeadFault)(vfs, path, expected)
      if (what !== undefined) found.push({ file: relative(dataDir, path), what })
      onFile?.(++done, total)
    }
    for (const collection of checkpoint.manifest.collections) {
      for (const listed of listedOriginals(collection)) {
        const path = join(checkpoint.path, listed.name)
        const checkOptions = { dimension: dimensionOf(collection.fields[listed.field]), isDeep: check.isDeep }
        const what = await originalsFault(vfs, path, listed, checkOptions)
        if (what !== undefined) found.push({ file: relative(dataDir, path), what })
        if (checkpoint !== good[0]) continue
        const live = join(originalsDir, listed.name)
        // A start links the checkpoint's file when it is missing here.
        if (await vfs.exists(live)) {
          const fault = await originalsFault(vfs, live, listed, checkOptions)
          if (fault !== undefined) misplaced.push({ file: relative(dataDir, live), what: fault, cure: what ?? '' })
        }
        if (listed.proof === undefined || 'marks' in listed.proof) unproved.push(unprovedFile(listed))
      }
    }
    if (found.length === before) whole.push(checkpoint)
    else if (!(await vfs.exists(checkpoint.path))) found.length = before
  }
  const cure = cureFor(whole, check.isLogWhole)
  const linked = 'start the server: it renames the file and uses the one that the checkpoint links'
  return {
    faults: [
      ...found.map((fault) => ({ ...fault, cure })),
      ...misplaced.map((fault) => ({ ...fault, cure: fault.cure === '' ? linked : cure })),
    ],
    unproved,
    whole,
    newestLsn: good[0]?.manifest.lsn,
    lsnReached: good[0] ? lsnReachedBy(good[0].manifest) : 0,
    lsnHeld: good[0] ? lsnHeldByAll(good[0].manifest) : 0,
  }
}

function unprovedFile({ name, proof }: ListedOriginals): CheckpointFault {
  const known = proof === undefined ? 'nothing proves' : 'only the checksums of some of its rows prove'
  return {
    file: join('originals', name),
    what: `it has an earlier format: each row has a checksum, but ${known} that the file belongs to this field`,
    cure: 'rebuild the collection: that writes the file in the current format',
  }
}

function cureFor([newest]: readonly Checkpoint[], isLogWhole: boolean): string {
  if (newest !== undefined)
    return `start the server: it loads the checkpoint of LSN ${newest.manifest.lsn} and replays the log from there, and its next checkpoint replaces the damaged one`
  if (isLogWhole) return 'start the server: it replays the whole log, and its next checkpoint replaces the damaged one'
  return 'restore the file from a copy of the directory, or restore the collection from a backup: no other checkpoint is intact, and the log does not reach back to its first record'
}
