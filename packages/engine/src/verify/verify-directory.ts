// Checks a closed data directory and reports every fault with its fix. Every byte of the log and of every checkpoint is
// checked. A deep check also builds the state in every possible way, from each checkpoint and from the whole log where
// it is kept, and compares the results: every way must produce the same state. It writes nothing to the directory
// except its lock during the check.
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, nodeVfs, readIdentity, type Vfs, verifyLog } from '@annal/wal'
import { LocalCollection } from '../collection/collection.ts'
import { codingDiskErrors } from '../disk-errors.ts'
import { openEngine } from '../engine.ts'
import { EngineError } from '../errors.ts'
import { checkedDataDir } from '../input/engine-options.ts'
import { checkObject } from '../model/ids.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { createWorkerPool } from '../vector/open-pool.ts'
import type { WorkerPool } from '../vector/pool.ts'
import { type CheckedCheckpoints, checkCheckpoints } from './check-checkpoints.ts'
import { checkImages } from './check-images.ts'
import { overlayVfs } from './overlay-vfs.ts'

/** The data directory that is checked, and how thoroughly. */
export interface VerifyDirectoryOptions {
  readonly dataDir: string
  /** Also build the state in every possible way and compare. Needs the memory and the time of several starts. */
  readonly deep?: boolean
  /** Threads of a deep check; by default the number of cores. */
  readonly threads?: number
  /** Where a deep check may write temporary files; by default the system's folder for them. */
  readonly scratchDir?: string
  readonly onProgress?: (progress: DirectoryProgress) => void
}

/** The progress of one step of the check. */
export interface DirectoryProgress {
  readonly step: 'log' | 'checkpoints' | 'state'
  /** Bytes read of the log, files of checkpoints, or states built. */
  readonly done: number
  /** Unknown for the log. */
  readonly total?: number
}

/** A fault or a remark: what is wrong, and how to fix it, as sentences. */
export interface DirectoryFinding {
  /** `damage`: something is lost or would be refused. `notice`: a start handles it. */
  readonly severity: 'damage' | 'notice'
  /** Path relative to the data directory. */
  readonly file: string
  readonly what: string
  readonly cure: string
}

/** The state that one way produced. */
export interface DirectoryState {
  /** The LSN of the checkpoint it began from; 0 for the whole log. */
  readonly fromLsn: number
  readonly lsn: number
  readonly collections: readonly {
    readonly database: string
    readonly name: string
    readonly objects: number
    /** Undefined when the collection is out of service. */
    readonly digest: string | undefined
  }[]
}

/** What the check found. `isGood` is false if any finding is damage. */
export interface DirectoryReport {
  readonly isGood: boolean
  readonly findings: readonly DirectoryFinding[]
  readonly records: number
  /** LSNs of the intact checkpoints, newest first. */
  readonly checkpoints: readonly number[]
  /** Empty unless the check was deep. */
  readonly states: readonly DirectoryState[]
}

const repairCure = 'restore a backup, or use `annal repair` to see how much of the log can be kept'

/**
 * A check of files takes no lock; a deep check throws WalError directory_locked while the directory is in use. Both
 * throw identity_damaged or format_too_new when the directory cannot be read.
 *
 * @example
 * ```ts
 * const { isGood, findings } = await verifyDataDirectory({ dataDir: './data', deep: true })
 * for (const { severity, file, what, cure } of findings) console.log(severity, file, what, cure)
 * ```
 */
export function verifyDataDirectory(given: VerifyDirectoryOptions): Promise<DirectoryReport> {
  return codingDiskErrors(() => verifyIn(given))
}

async function verifyIn(given: VerifyDirectoryOptions): Promise<DirectoryReport> {
  checkObject(given, 'options')
  const vfs = nodeVfs()
  const dataDir = checkedDataDir(given.dataDir)
  const options = { ...given, dataDir }
  const findings: DirectoryFinding[] = []
  const identity = await readIdentity({ vfs, dir: dataDir })
  if (!identity)
    throw new EngineError('invalid_argument', `${dataDir} is not a data directory: it has no IDENTITY`, {
      value: dataDir,
    })
  const log = await checkLog(vfs, options, identity, findings)
  const { onProgress } = options
  const { faults, unproved, whole, newestLsn, lsnReached, lsnHeld } = await checkCheckpoints({
    ...{ vfs, dataDir, directory: identity.uuid, isDeep: true, isLogWhole: log.isGood && log.lsnFirst === 1 },
    onFile: (done, total) => onProgress?.({ step: 'checkpoints', done, total }),
  })
  // While a server runs, the checkpoint may be newer than what was read of the log.
  const isShort = lsnReached > log.lsnLast
  const { lsnFirst, lsnLast } = isShort ? await verifyLog(logOf(vfs, dataDir, identity)) : log
  const missing = log.segments === 0 ? [] : missingRecords({ lsnFirst, lsnLast }, { newestLsn, lsnReached, lsnHeld })
  for (const what of missing) findings.push({ severity: 'damage', file: 'wal', what, cure: repairCure })
  for (const file of unproved) findings.push({ severity: 'notice', ...file })
  const imageFaults = await checkImages({ vfs, dataDir, isDeep: options.deep ?? false })
  for (const fault of [...faults, ...imageFaults]) findings.push({ severity: 'damage', ...fault })
  const states =
    options.deep && log.isGood
      ? await buildStates(vfs, options, { checkpoints: whole, lsnFirst: log.lsnFirst }, findings)
      : []
  return {
    isGood: findings.every(({ severity }) => severity !== 'damage'),
    findings,
    records: log.frames,
    checkpoints: whole.map(({ manifest }) => manifest.lsn),
    states,
  }
}

function logOf(vfs: Vfs, dataDir: string, identity: Identity) {
  return { vfs, identity, dir: join(dataDir, 'wal') }
}

/** The log must continue the newest checkpoint, or begin with the first record: a start is refused otherwise. */
function missingRecords(
  log: { readonly lsnFirst: number; readonly lsnLast: number },
  { newestLsn, lsnReached, lsnHeld }: Pick<CheckedCheckpoints, 'newestLsn' | 'lsnReached' | 'lsnHeld'>,
): string[] {
  const faults: string[] = []
  if (newestLsn !== undefined && log.lsnLast < newestLsn)
    faults.push(`the log ends at LSN ${log.lsnLast}, but the newest checkpoint is of LSN ${newestLsn}`)
  else if (log.lsnLast < lsnReached)
    faults.push(`the log ends at LSN ${log.lsnLast}, but the newest checkpoint has records up to LSN ${lsnReached}`)
  if (log.lsnFirst > lsnHeld + 1) {
    const needed = newestLsn === undefined ? 'there is no checkpoint' : `the newest checkpoint holds LSN ${lsnHeld}`
    faults.push(`the log begins with LSN ${log.lsnFirst}, but ${needed}`)
  }
  return faults
}

async function checkLog(
  vfs: Vfs,
  { dataDir, onProgress }: VerifyDirectoryOptions,
  identity: Identity,
  findings: DirectoryFinding[],
) {
  const report = await verifyLog({
    ...logOf(vfs, dataDir, identity),
    onProgress: ({ bytes }) => onProgress?.({ step: 'log', done: bytes }),
  })
  if (report.segments === 0) {
    const what = 'the log is missing: it has no segment, but IDENTITY records a log'
    findings.push({ severity: 'damage', file: 'wal', what, cure: repairCure })
  }
  for (const { severity, file, offset, lsn, what } of report.findings) {
    const cure = severity === 'damage' ? repairCure : 'none needed: the next start handles it'
    findings.push({ severity, file: join('wal', file), what: `at offset ${offset}, LSN ${lsn}: ${what}`, cure })
  }
  return report
}

/** Builds the state from the newest checkpoint, from each older one, and from the whole log where it is kept. */
async function buildStates(
  vfs: Vfs,
  { dataDir, threads, scratchDir = tmpdir(), onProgress }: VerifyDirectoryOptions,
  from: { readonly checkpoints: readonly Checkpoint[]; readonly lsnFirst: number },
  findings: DirectoryFinding[],
): Promise<DirectoryState[]> {
  // One more than the number of checkpoints: with all of them hidden the whole log is folded.
  const ways =
    from.checkpoints.length + (from.lsnFirst === 1 && (await hasImages(vfs, dataDir, from.checkpoints[0])) ? 1 : 0)
  const states: DirectoryState[] = []
  const pool = await createWorkerPool(threads === undefined ? {} : { threads })
  try {
    for (let hidden = 0; hidden < ways; hidden++) {
      const scratch = join(scratchDir, `annal-verify-${randomBytes(6).toString('hex')}`)
      await vfs.makeDirectory(scratch)
      try {
        const over = overlayVfs(vfs, { dir: dataDir, scratch })
        for (const { path } of from.checkpoints.slice(0, hidden)) await over.removeTree(path)
        const fromLsn = from.checkpoints[hidden]?.manifest.lsn ?? 0
        states.push(await buildState(over, { dataDir, pool, fromLsn, isFirst: hidden === 0 }, findings))
      } finally {
        await vfs.removeTree(scratch)
      }
      onProgress?.({ step: 'state', done: hidden + 1, total: ways })
    }
  } finally {
    await pool.close()
  }
  for (const state of states.slice(1)) compare(states[0] as DirectoryState, state, findings)
  return states
}

/**
 * Whether the whole log can be folded: the image of a restored collection is removed when two checkpoints hold the
 * collection.
 */
async function hasImages(vfs: Vfs, dataDir: string, newest: Checkpoint | undefined): Promise<boolean> {
  for (const { restored } of newest?.manifest.catalog.collections ?? [])
    if (restored && !(await vfs.exists(join(dataDir, 'imports', restored.importId)))) return false
  return true
}

async function buildState(
  vfs: Vfs,
  { dataDir, pool, fromLsn, isFirst }: { dataDir: string; pool: WorkerPool; fromLsn: number; isFirst: boolean },
  findings: DirectoryFinding[],
): Promise<DirectoryState> {
  const engine = await openEngine({ dataDir, keepLog: true }, { vfs, pool, readOnly: true })
  try {
    const { lsnApplied: lsn } = engine.stats()
    const collections: DirectoryState['collections'][number][] = []
    for (const { name: database } of engine.control.databases()) {
      for (const { name, objects, condition, reason } of engine.database(database).collections()) {
        const collection = engine.database(database).collection(name)
        const digest = condition === 'ready' ? collection.stateDigest() : undefined
        collections.push({ database, name, objects, digest })
        const what =
          digest === undefined ? `it is out of service: ${reason}` : isFirst && (await faultInOriginals(collection))
        if (what) {
          const file = `collection "${name}" of database "${database}"`
          findings.push({ severity: 'damage', file, what, cure: 'restore the collection from a backup' })
        }
      }
    }
    return { fromLsn, lsn, collections }
  } finally {
    await engine.close()
  }
}

/** Reads original vectors, which a start does not check. */
async function faultInOriginals(collection: unknown): Promise<string | undefined> {
  if (!(collection instanceof LocalCollection)) return undefined
  const { replica } = collection
  try {
    for (const ordinal of replica.storedFilters.evaluate([]).bitmap.toOrdinals())
      for (const originals of replica.originals) if (originals?.has(ordinal)) await originals.read(ordinal)
    return undefined
  } catch (error) {
    if (error instanceof EngineError) return error.message
    throw error
  }
}

function compare(newest: DirectoryState, older: DirectoryState, findings: DirectoryFinding[]): void {
  const keyOf = ({ database, name }: DirectoryState['collections'][number]) => `${database}/${name}`
  const there = new Map(older.collections.map((collection) => [keyOf(collection), collection]))
  const from = older.fromLsn === 0 ? 'the whole log' : `the checkpoint of LSN ${older.fromLsn}`
  for (const collection of newest.collections) {
    const other = there.get(keyOf(collection))
    there.delete(keyOf(collection))
    if (other?.digest === collection.digest) continue
    const what = `built from ${from} it has digest ${other?.digest ?? 'none'} with ${other?.objects ?? 0} objects, from the newest checkpoint ${collection.digest ?? 'none'} with ${collection.objects}`
    findings.push(difference(keyOf(collection), what))
  }
  for (const key of there.keys()) findings.push(difference(key, `it exists only in the state built from ${from}`))
}

function difference(key: string, what: string): DirectoryFinding {
  const cure = 'keep a copy of the directory and report this as a bug, then restore a backup'
  return { severity: 'damage', file: `collection ${key}`, what, cure }
}
