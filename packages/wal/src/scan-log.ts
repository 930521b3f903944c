// Reads the whole log and finds its end. It writes nothing: a refused log stays exactly as found.
import { join } from 'node:path'
import { errnoOf, WalError } from './errors.ts'
import { FrameReader } from './frame-reader.ts'
import { PositionMarks } from './position-marks.ts'
import {
  checkHeader,
  type LogFiles,
  listLogFiles,
  type ScannedSegment,
  type SegmentFile,
  scanSegment,
  withSegment,
} from './scan-segment.ts'
import { readTip, type TipReading, tipName } from './tip.ts'
import { judgeTail } from './torn-tail.ts'
import type { Vfs } from './vfs.ts'

/** How far a scan is. */
export interface ScanProgress {
  /** The newest LSN verified so far. */
  readonly lsn: number
  readonly bytesDone: number
  readonly segmentsDone: number
  readonly segmentsTotal: number
}

/** Options of scanLog. */
export interface ScanOptions {
  readonly vfs: Vfs
  readonly dir: string
  /** The first LSN the caller will read; earlier records are in a checkpoint. Older segments are not read. */
  readonly recoverFrom: number | undefined
  /** The newest record that the caller has; 0 if it has none, or not known. */
  readonly lsnReached?: number
  /** Segments that begin after record `after` must have this timeline. */
  readonly timeline?: { readonly id: number; readonly after: number } | undefined
  /** True when this data directory has held a log before. */
  readonly mustExist: boolean
  readonly onProgress: ((progress: ScanProgress) => void) | undefined
}

/** What a scan found. */
export interface LogScan {
  readonly files: LogFiles
  readonly segments: readonly ScannedSegment[]
  readonly tip: TipReading
  readonly lsnLast: number
  readonly chain: bigint
  /**
   * The last record is CleanClose, nothing follows it, and TIP says that it was synced. The frame alone proves nothing:
   * a process killed between write and sync leaves it in the page cache, where it can be read now and lost later.
   */
  readonly cleanlyClosed: boolean
  /** Bytes at the end of the last segment that must be cut off. */
  readonly torn: { readonly offset: number; readonly bytes: number; readonly onlyZeros: boolean } | undefined
}

/** Scans the log of a directory. Throws log_damaged, log_failed, format_too_new. */
export async function scanLog(options: ScanOptions): Promise<LogScan> {
  const { vfs, dir } = options
  const files = await wrapReadErrors(dir, () => listLogFiles(vfs, dir))
  const tip = await wrapReadErrors(join(dir, tipName), () => readTip(vfs, dir))
  refuseMissing(options, files, tip)
  const segments: ScannedSegment[] = []
  let bytesDone = 0
  let before: ScannedSegment | undefined
  for (const [i, file] of files.segments.entries()) {
    const follower = files.segments[i + 1]
    const settled = follower !== undefined && follower.lsnFirst <= (options.recoverFrom ?? 0)
    const scanned = await wrapReadErrors(file.path, () =>
      settled ? skipSegment(vfs, file, follower, before) : scanSegment(vfs, file, expectationAfter(before)),
    )
    if (follower !== undefined && scanned.bad !== undefined) {
      throw refusal(
        file,
        scanned.bad.offset,
        scanned.lsnLast + 1,
        `${scanned.bad.why}; the segment was sealed`,
        scanned.bytes,
      )
    }
    if (scanned.header === undefined) {
      throw refusal(file, 0, file.lsnFirst, scanned.bad?.why ?? 'no header', scanned.bytes)
    }
    refuseStranger(options, scanned)
    bytesDone += scanned.bytes
    segments.push(scanned)
    options.onProgress?.({ lsn: scanned.lsnLast, bytesDone, segmentsDone: i + 1, segmentsTotal: files.segments.length })
    before = scanned
  }
  const last = segments.at(-1)
  const torn = last === undefined ? undefined : await endOf(options, last, tip)
  return {
    files,
    segments,
    tip,
    lsnLast: last?.lsnLast ?? 0,
    chain: last?.chain ?? 0n,
    cleanlyClosed: last?.cleanlyClosed === true && (tip.newest?.durableLsn ?? 0) >= last.lsnLast,
    torn,
  }
}

function refuseStranger({ timeline }: ScanOptions, { file, header, bytes }: ScannedSegment): void {
  if (timeline === undefined || header === undefined || file.lsnFirst <= timeline.after) return
  if (header.timeline === timeline.id) return
  const why = `it is a segment of another directory: its timeline is ${header.timeline}, that of IDENTITY is ${timeline.id}`
  throw refusal(file, 0, file.lsnFirst, why, bytes)
}

/** What the next segment must match. A segment whose frames were not read gives no chain value. */
export function expectationAfter(before: ScannedSegment | undefined) {
  if (before === undefined) return { id: undefined, lsnFirst: undefined, chainBefore: undefined }
  const chainBefore = before.frames < 0 ? undefined : before.chain
  return { id: before.file.id + 1, lsnFirst: before.lsnLast + 1, chainBefore }
}

/**
 * For a segment below the checkpoint only the header is read; the name of the next segment says where this one ends.
 */
function skipSegment(vfs: Vfs, file: SegmentFile, follower: SegmentFile, before: ScannedSegment | undefined) {
  return withSegment(vfs, file, async (_file, head, bytes): Promise<ScannedSegment> => {
    const header = checkHeader(file, head, expectationAfter(before))
    const common = {
      file,
      bytes,
      end: bytes,
      lsnLast: follower.lsnFirst - 1,
      chain: 0n,
      frames: -1,
      userFrames: -1,
      cleanlyClosed: false,
      marks: new PositionMarks(file.lsnFirst),
    }
    return 'why' in header ? { ...common, header: undefined, bad: header } : { ...common, header, bad: undefined }
  })
}

async function endOf(options: ScanOptions, last: ScannedSegment, tip: TipReading): Promise<LogScan['torn']> {
  const lsnExpected = last.lsnLast + 1
  const needed = Math.max((options.recoverFrom ?? 1) - 1, options.lsnReached ?? 0)
  const tipLsn = tip.newest?.durableLsn ?? 0
  const durable = needed > tipLsn ? { lsn: needed, source: 'the checkpoint' } : { lsn: tipLsn, source: 'TIP' }
  const epoch = last.header?.epoch ?? 0n
  const verdict = await wrapReadErrors(last.file.path, () =>
    withSegment(options.vfs, last.file, (file) => {
      const reader = new FrameReader(file, { epoch, position: last.end, end: last.bytes, payloads: 'lend' })
      return judgeTail({ reader, bytes: last.bytes, lsnExpected, durable })
    }),
  )
  if (verdict.kind === 'damaged') throw refusal(last.file, last.end, lsnExpected, verdict.evidence, last.bytes)
  return verdict.kind === 'torn' ? { offset: last.end, bytes: verdict.bytes, onlyZeros: verdict.onlyZeros } : undefined
}

/** Refuses a log that is empty although it held records, or that misses records at either end. */
function refuseMissing(options: ScanOptions, files: LogFiles, tip: TipReading): void {
  const { dir, recoverFrom } = options
  const strange = files.strange[0]
  if (strange !== undefined) throw missing(dir, `${strange} is named like a segment but is not one`)
  const first = files.segments[0]
  const lastId = files.segments.at(-1)?.id ?? 0
  const tipSegment = tip.newest?.segmentId ?? 0
  if (first === undefined && options.mustExist)
    throw missing(dir, 'the data directory has an identity, but its log is missing')
  if (tipSegment > lastId) throw missing(dir, `TIP names segment ${tipSegment}, but the newest segment is ${lastId}`)
  if (first === undefined && (recoverFrom ?? 1) > 1)
    throw missing(dir, `a checkpoint needs LSN ${recoverFrom}, but there is no log`)
  if (first !== undefined && recoverFrom !== undefined && first.lsnFirst > recoverFrom) {
    throw missing(dir, `LSN ${recoverFrom} is needed, but the oldest segment begins at LSN ${first.lsnFirst}`)
  }
}

/** An unreadable log is not reported as damaged: cutting it would be the wrong fix for a loose cable. */
async function wrapReadErrors<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    const what = error instanceof Error ? error.message : String(error)
    throw new WalError(
      'log_failed',
      `${path} cannot be read: ${what}. Nothing was changed.`,
      { file: path, evidence: what },
      { cause: error },
    )
  }
}

/** The error for damage at a place of a segment. */
export function refusal(file: SegmentFile, offset: number, lsn: number, evidence: string, bytes: number): WalError {
  const bytesAfter = Math.max(0, bytes - offset)
  return new WalError(
    'log_damaged',
    `the log is damaged: ${file.path} at offset ${offset}, where LSN ${lsn} is expected: ${evidence}. ${bytesAfter} bytes lie after it. Nothing was changed.\n${recoveryAdvice(lsn)}`,
    { file: file.path, offset, lsn, evidence, bytesAfter },
  )
}

function missing(dir: string, evidence: string): WalError {
  return new WalError(
    'log_damaged',
    `the log in ${dir} is not complete: ${evidence}. Nothing was changed.\n${recoveryAdvice(undefined)}`,
    {
      file: dir,
      evidence,
    },
  )
}

/** DIR is the data directory, and NEW a directory that does not exist yet. */
function recoveryAdvice(lsn: number | undefined): string {
  const verify = 'Options: inspect the log with `annal verify DIR`;'
  if (lsn === undefined) return `${verify} restore a backup with \`annal restore\`; or put the missing files back.`
  return `${verify} restore it with \`annal restore DIR NEW --to-lsn ${lsn - 1}\`; or cut the log with \`annal repair DIR --truncate-at ${lsn} --accept-data-loss\`, which keeps the original log next to it.`
}
