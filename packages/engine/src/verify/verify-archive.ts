// Reads every byte of the archive, also while a server has the directory open. Disks lose data silently, and archived
// data is otherwise not read until it is needed.
import { join } from 'node:path'
import { nodeVfs, readIdentity, type Vfs, verifyLog } from '@annal/wal'
import { archivedCheckpointsDir, archivedLogDir } from '../backup/archive.ts'
import { codingDiskErrors } from '../disk-errors.ts'
import { checkedDataDir } from '../input/engine-options.ts'
import { checkObject } from '../model/ids.ts'
import { originalsFault } from '../originals/check-originals.ts'
import { dimensionOf } from '../originals/originals-owner.ts'
import { findCheckpoints } from '../snapshot/find-checkpoints.ts'
import { listedOriginals, listedRequestKeys, snapshotFiles } from '../snapshot/manifest.ts'
import { snapshotFault } from './snapshot-fault.ts'

/** What the archive contains, and its faults. It is good if there are none. */
export interface ArchiveReport {
  readonly segments: number
  readonly bytes: number
  readonly records: number
  /** 0 when no segment is archived. */
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly checkpoints: number
  /** One sentence for each fault. */
  readonly faults: readonly string[]
}

/** The data directory whose archive is read. `onProgress` gets the number of bytes that were read. */
export interface VerifyArchiveOptions {
  readonly dataDir: string
  readonly vfs?: Vfs
  readonly onProgress?: (bytes: number) => void
}

/**
 * Checks every byte of the archive. Returns undefined when nothing is archived.
 *
 * @example
 * ```ts
 * const report = await verifyArchive({ dataDir: './data' })
 * for (const fault of report?.faults ?? []) console.log(fault)
 * ```
 */
export function verifyArchive(options: VerifyArchiveOptions): Promise<ArchiveReport | undefined> {
  return codingDiskErrors(() => verifyIn(options))
}

async function verifyIn(options: VerifyArchiveOptions): Promise<ArchiveReport | undefined> {
  checkObject(options, 'options')
  const { vfs = nodeVfs() } = options
  const dataDir = checkedDataDir(options.dataDir)
  const logDir = archivedLogDir(dataDir)
  const hasLog = await vfs.exists(logDir)
  if (!hasLog && !(await vfs.exists(archivedCheckpointsDir(dataDir)))) return undefined
  const onProgress = ({ bytes }: { readonly bytes: number }) => options.onProgress?.(bytes)
  const log = hasLog ? await verifyLog({ vfs, dir: logDir, onProgress }) : undefined
  // An archive has no TIP and no tail, so only damage counts as a fault.
  const damage = log?.findings.filter(({ severity }) => severity === 'damage') ?? []
  const checkpoints = await verifyCheckpoints(vfs, dataDir)
  return {
    segments: log?.segments ?? 0,
    bytes: log?.bytes ?? 0,
    records: log?.frames ?? 0,
    lsnFirst: log?.lsnFirst ?? 0,
    lsnLast: log?.lsnLast ?? 0,
    checkpoints: checkpoints.count,
    faults: [
      ...damage.map(({ file, offset, lsn, what }) => `archive/wal/${file} at offset ${offset}, LSN ${lsn}: ${what}`),
      ...checkpoints.faults,
    ],
  }
}

async function verifyCheckpoints(vfs: Vfs, dataDir: string) {
  const dir = archivedCheckpointsDir(dataDir)
  const identity = await readIdentity({ vfs, dir: dataDir })
  const directory = () => identity?.uuid
  const find = () => findCheckpoints({ vfs, dir, originalsDir: join(dataDir, 'originals'), directory })
  const { good, damaged } = await find()
  // A checkpoint that is just being removed looks damaged; the second listing no longer has it.
  const stillDamaged = damaged.length === 0 ? [] : (await find()).damaged.map(({ message }) => message)
  const faults = damaged.map(({ message }) => message).filter((message) => stillDamaged.includes(message))
  for (const { path, manifest } of good) {
    for (const { name, expected } of listedRequestKeys(manifest)) {
      const file = join(path, name)
      const fault = await snapshotFault(vfs, file, expected)
      if (fault !== undefined && (await vfs.exists(path))) faults.push(`${file.slice(dataDir.length + 1)}: ${fault}`)
    }
    for (const collection of manifest.collections) {
      for (const { name, expected } of snapshotFiles(collection)) {
        const file = join(path, name)
        const fault = await snapshotFault(vfs, file, expected)
        // A checkpoint that was removed in the meantime is not a fault.
        if (fault !== undefined && (await vfs.exists(path))) faults.push(`${file.slice(dataDir.length + 1)}: ${fault}`)
      }
      for (const listed of listedOriginals(collection)) {
        const check = { dimension: dimensionOf(collection.fields[listed.field]), isDeep: true }
        const fault = await originalsFault(vfs, join(path, listed.name), listed, check)
        if (fault !== undefined && (await vfs.exists(path))) faults.push(fault)
      }
    }
  }
  return { count: good.length, faults }
}
