// Opens a log directory. It scans and judges first; only a log that is accepted is cleaned up, gets a safe tail and a
// new segment.
import { type Clock, systemClock } from './clock.ts'
import { errnoOf, isDiskFull, WalError } from './errors.ts'
import { FileLog, type FileLogSettings } from './file-log.ts'
import * as limits from './limits.ts'
import type { FsyncPolicy, Log, Lsn } from './log.ts'
import { nodeVfs } from './node-vfs.ts'
import type { LogNotice } from './notice.ts'
import { recoverTail, removeTemporaries, syncTailInPlace } from './recover-tail.ts'
import { Reserve } from './reserve.ts'
import { type LogScan, type ScanProgress, scanLog } from './scan-log.ts'
import type { MakeRoom } from './space-watch.ts'
import { randomEpoch, startAfter, type Tail } from './tail.ts'
import { openTip, type Tip } from './tip.ts'
import { keepTorn, removeOldTorn } from './torn-files.ts'
import type { Vfs } from './vfs.ts'
import { syncNameOf } from './whole-file.ts'

/** Options of openFileLog. Sizes are in bytes, times in milliseconds. */
export interface FileLogOptions {
  /** The log's own directory (`<data>/wal`); created when it does not exist. */
  readonly dir: string
  readonly vfs?: Vfs
  readonly fsync?: FsyncPolicy
  readonly fsyncIntervalMs?: number
  /**
   * `commit` syncs TIP with every batch: one more sync, and no window in which damage could be mistaken for a torn
   * write.
   */
  readonly tipSync?: 'timer' | 'commit'
  readonly segmentBytesMax?: number
  readonly queueBytesMax?: number
  readonly queueRecordsMax?: number
  readonly freeBytesHard?: number
  readonly freeBytesLow?: number
  readonly resumeAfterMs?: number
  readonly spaceCheckMs?: number
  /**
   * The first LSN the caller will read; earlier records are in a verified checkpoint. The log must reach this LSN and
   * hold it.
   */
  readonly recoverFrom?: Lsn
  /** The newest record that the caller has, which may be later than those before `recoverFrom`. The log must have it. */
  readonly lsnReached?: number
  /** True when the data directory has held a log before. An empty directory is then refused, not filled. */
  readonly mustExist?: boolean
  /** True when the directory must be new. A log with user records is then refused. */
  readonly mustBeNew?: boolean
  readonly timeline?: number
  /** Segments that begin after this record must have the timeline. Without it, no segment is checked. */
  readonly timelineAfter?: number
  /** Path of a file of reserved space for records that free space. Without it, no reserve is kept. */
  readonly reservePath?: string
  /**
   * Called when the disk is nearly full. Frees expendable data, about this many bytes, and returns whether it freed
   * any.
   */
  readonly makeRoom?: MakeRoom
  /** Folder that keeps removed segments. Without it, they are deleted. */
  readonly archiveDir?: string
  readonly clock?: Clock
  readonly makeEpoch?: () => bigint
  readonly onProgress?: (progress: ScanProgress) => void
  /** Called once when the log fails for good. The process should end with the error's exit code. */
  readonly onFailed?: (error: WalError) => void
  readonly onNotice?: (notice: LogNotice) => void
}

/** Opens a log, recovers its end, and makes it ready for appends. Throws log_damaged, log_failed, disk_full, format_too_new. */
export async function openFileLog(options: FileLogOptions): Promise<Log> {
  const vfs = options.vfs ?? nodeVfs()
  const { dir } = options
  const scan = await scanOrStart(vfs, options)
  if (options.mustBeNew === true) refuseRecords(dir, scan)
  const place = { vfs, dir, timeline: options.timeline ?? 1, makeEpoch: options.makeEpoch ?? randomEpoch }
  const notice = options.onNotice ?? (() => undefined)
  const lostSlots = scan.tip.missing && scan.lsnLast > 0 ? 2 : scan.tip.damagedSlots
  if (lostSlots > 0) notice({ kind: 'tip-damaged', slots: lostSlots })
  let tornPath: string | undefined
  const recover = async (): Promise<Tail> => {
    tornPath ??= await keepTorn(vfs, dir, scan)
    return recoverTail(place, scan)
  }
  const clock = options.clock ?? systemClock()
  const tipHandler: { failed: (error: unknown) => void } = { failed: () => undefined }
  const tipOptions = {
    vfs,
    dir,
    clock,
    syncEveryMs: limits.tipSyncMs,
    found: scan.tip,
    onError: (error: unknown) => tipHandler.failed(error),
  }
  const { tail, tip, reason } = await wrapErrors(dir, async () => {
    await unlessFull(() => removeTemporaries(vfs, dir, scan))
    const made = await unlessFull(recover)
    if (made.value === undefined) await syncTailInPlace(vfs, dir, scan)
    await unlessFull(() => removeOldTorn(vfs, dir, scan, tornPath))
    const segmentId = made.value?.header.id ?? scan.segments.at(-1)?.file.id ?? 0
    try {
      const tip: Tip = await openTip(tipOptions, { durableLsn: scan.lsnLast, segmentId })
      return { tail: made.value, tip, reason: made.reason }
    } catch (error) {
      await made.value?.close()
      throw error
    }
  })
  if (scan.torn !== undefined)
    notice({ kind: 'tail-cut', bytes: scan.torn.bytes, lsnLast: scan.lsnLast, path: tornPath })
  const log = new FileLog({
    settings: settingsOf(options),
    place,
    clock,
    segments: heldSegments(scan),
    archiveDir: options.archiveDir,
    tip,
    tail,
    recover,
    reserve:
      options.reservePath === undefined
        ? undefined
        : new Reserve({ vfs, path: options.reservePath, bytes: limits.reserveBytes }),
    makeRoom: options.makeRoom ?? (async () => false),
    lsnLast: scan.lsnLast,
    chain: scan.chain,
    reason,
    onFailed: options.onFailed ?? (() => undefined),
    onNotice: notice,
  })
  tipHandler.failed = (error) => log.tipFailed(error)
  try {
    await tip.sync()
    await log.begin()
  } catch (error) {
    log.tipFailed(error)
    // Closing a failed log releases its files and rejects with the error that failed it.
    await log.close()
  }
  return log
}

async function scanOrStart(vfs: Vfs, options: FileLogOptions): Promise<LogScan> {
  const { dir } = options
  const mustExist = options.mustExist ?? false
  const mayBeMade = !mustExist && (options.recoverFrom ?? 1) <= 1
  await wrapErrors(dir, async () => {
    if (mayBeMade && !(await vfs.exists(dir))) await vfs.makeDirectory(dir)
    // Synced at every start: the process that created the directory may have been killed before its name was durable.
    await syncNameOf(vfs, dir)
  })
  const { timeline: id, timelineAfter: after } = options
  const timeline = id !== undefined && after !== undefined ? { id, after } : undefined
  const { recoverFrom, lsnReached = 0, onProgress } = options
  return scanLog({ vfs, dir, recoverFrom, lsnReached, timeline, mustExist, onProgress })
}

function refuseRecords(dir: string, scan: LogScan): void {
  if (scan.segments.every((segment) => segment.userFrames === 0)) return
  throw new WalError(
    'identity_damaged',
    `${dir} holds a log of ${scan.lsnLast} records, but its data directory has no IDENTITY. Nothing was changed. Restore IDENTITY from a copy of the directory, or restore a backup with \`annal restore\`.`,
    { file: dir, lsn: scan.lsnLast },
  )
}

/** The segments of the log after the scan. A last segment without records is replaced by the new tail. */
function heldSegments(scan: LogScan) {
  const { id } = startAfter(scan)
  const held = scan.segments.filter((segment) => segment.file.id !== id || segment.frames > 0)
  return held.map(({ file, end, marks }) => ({ file, bytes: end, marks }))
}

function settingsOf(options: FileLogOptions): FileLogSettings {
  return {
    fsync: options.fsync ?? 'always',
    fsyncIntervalMs: options.fsyncIntervalMs ?? limits.fsyncIntervalMs,
    tipSync: options.tipSync ?? 'timer',
    segmentBytesMax: options.segmentBytesMax ?? limits.segmentBytesMax,
    markerDelayMs: limits.markerDelayMs,
    slowSyncMs: limits.slowSyncMs,
    queueBytesMax: options.queueBytesMax ?? limits.queueBytesMax,
    queueRecordsMax: options.queueRecordsMax ?? limits.queueRecordsMax,
    space: {
      freeBytesHard: options.freeBytesHard ?? limits.freeBytesHard,
      freeBytesLow: options.freeBytesLow ?? limits.freeBytesLow,
      resumeAfterMs: options.resumeAfterMs ?? limits.resumeAfterMs,
      checkEveryMs: options.spaceCheckMs ?? limits.spaceCheckMs,
    },
  }
}

/** Reports an error during opening as a failed disk, unless it is damage or a full disk. */
async function wrapErrors<T>(dir: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof WalError || errnoOf(error) === undefined) throw error
    const what = error instanceof Error ? error.message : String(error)
    if (isDiskFull(error))
      throw new WalError(
        'disk_full',
        `there is no space to open the log in ${dir}: ${what}`,
        { file: dir },
        { cause: error },
      )
    throw new WalError(
      'log_failed',
      `the log in ${dir} cannot be opened for writing: ${what}`,
      { file: dir, evidence: what },
      { cause: error },
    )
  }
}

async function unlessFull<T>(act: () => Promise<T>): Promise<{ readonly value?: T; readonly reason?: string }> {
  try {
    return { value: await act() }
  } catch (error) {
    if (!isDiskFull(error)) throw error
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}
