// Checks every byte of a log and reports every fault. It writes nothing, and may run while the log is written: TIP is
// read first, so the records it covers must exist when the tail is read.
import { errnoOf } from '../errors.ts'
import { FrameReader } from '../frame-reader.ts'
import type { Identity } from '../identity.ts'
import { expectationAfter } from '../scan-log.ts'
import { listLogFiles, type ScannedSegment, type SegmentFile, scanSegment, withSegment } from '../scan-segment.ts'
import { readTip, type TipReading } from '../tip.ts'
import { judgeTail } from '../torn-tail.ts'
import type { Vfs } from '../vfs.ts'

/** One fault, and where it is. */
export interface LogFinding {
  /** `damage`: the log would be refused. `notice`: it would start, but the finding matters. */
  readonly severity: 'damage' | 'notice'
  readonly file: string
  readonly offset: number
  /** The LSN expected there. */
  readonly lsn: number
  readonly what: string
}

/** What a verification found. */
export interface LogReport {
  readonly isGood: boolean
  readonly findings: readonly LogFinding[]
  readonly segments: number
  readonly bytes: number
  readonly frames: number
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly lsnDurableKnown: number
  readonly cleanlyClosed: boolean
}

/** Options of verifyLog. */
export interface VerifyOptions {
  readonly vfs: Vfs
  readonly dir: string
  /** The identity of the data directory: segments that begin after the fork must have its timeline. */
  readonly identity?: Pick<Identity, 'timeline' | 'forkedAfterLsn'> | undefined
  readonly onProgress?: (done: { readonly segments: number; readonly bytes: number }) => void
}

/** Verifies a log byte by byte. Reads only. */
export async function verifyLog(options: VerifyOptions): Promise<LogReport> {
  const { vfs, dir } = options
  const tip = await readTip(vfs, dir)
  const files = await listLogFiles(vfs, dir)
  const findings: LogFinding[] = []
  for (const name of files.strange) findings.push(damage(name, 0, 0, 'it is named like a segment but is not one'))
  const scanned: ScannedSegment[] = []
  let bytes = 0
  for (const [i, file] of files.segments.entries()) {
    const segment = await scanAfter(vfs, file, scanned.at(-1))
    if (segment === undefined) {
      // A log in use removes its oldest segments first; what was read from them no longer counts.
      if (await isGivenUp(options, file)) scanned.length = 0
      else findings.push(damage(file.name, 0, file.lsnFirst, 'it disappeared while the log was checked'))
      continue
    }
    scanned.push(segment)
    bytes += segment.bytes
    const isLast = i === files.segments.length - 1
    if (segment.bad !== undefined && (!isLast || segment.header === undefined)) {
      findings.push(damage(file.name, segment.bad.offset, segment.lsnLast + 1, segment.bad.why))
    }
    const stranger = strangerFault(segment, options)
    if (stranger !== undefined) findings.push(damage(file.name, 0, file.lsnFirst, stranger))
    options.onProgress?.({ segments: scanned.length, bytes })
  }
  findings.push(...(await checkEnd(vfs, scanned.at(-1), tip)))
  return {
    isGood: findings.every((finding) => finding.severity !== 'damage'),
    findings,
    segments: scanned.length,
    bytes,
    frames: scanned.reduce((sum, segment) => sum + segment.frames, 0),
    lsnFirst: scanned[0]?.file.lsnFirst ?? 1,
    lsnLast: scanned.at(-1)?.lsnLast ?? 0,
    lsnDurableKnown: tip.newest?.durableLsn ?? 0,
    cleanlyClosed: scanned.at(-1)?.cleanlyClosed ?? false,
  }
}

function strangerFault({ file, header }: ScannedSegment, { identity }: VerifyOptions): string | undefined {
  if (identity === undefined || header === undefined || file.lsnFirst <= identity.forkedAfterLsn) return undefined
  if (header.timeline === identity.timeline) return undefined
  return `it is a segment of another directory: its timeline is ${header.timeline}, that of IDENTITY is ${identity.timeline}`
}

async function isGivenUp({ vfs, dir }: VerifyOptions, file: SegmentFile): Promise<boolean> {
  const { segments } = await listLogFiles(vfs, dir)
  return segments.every(({ id }) => id > file.id)
}

/** Scans a segment and checks that it follows the one before; undefined when it was removed in the meantime. */
async function scanAfter(
  vfs: Vfs,
  file: SegmentFile,
  before: ScannedSegment | undefined,
): Promise<ScannedSegment | undefined> {
  // A segment after a damaged one is checked alone: one damage, one finding.
  const isKnown = before !== undefined && before.bad === undefined
  const expected = isKnown
    ? expectationAfter(before)
    : { id: before === undefined ? undefined : before.file.id + 1, lsnFirst: undefined, chainBefore: undefined }
  try {
    return await scanSegment(vfs, file, expected)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function checkEnd(vfs: Vfs, last: ScannedSegment | undefined, tip: TipReading): Promise<LogFinding[]> {
  const findings: LogFinding[] = []
  const known = tip.newest ?? { durableLsn: 0, segmentId: 0 }
  const lsnExpected = (last?.lsnLast ?? 0) + 1
  const name = last?.file.name ?? 'TIP'
  if (tip.missing && lsnExpected > 1) findings.push(notice('TIP', 'it is missing'))
  else if (tip.damagedSlots > 0) findings.push(notice('TIP', `${tip.damagedSlots} of 2 slots are damaged`))
  if (known.segmentId > (last?.file.id ?? 0)) {
    findings.push(damage(name, 0, lsnExpected, `TIP names segment ${known.segmentId}, which does not exist`))
  }
  if (last?.header === undefined) return findings
  const { epoch } = last.header
  const verdict = await withSegment(vfs, last.file, (file) => {
    const reader = new FrameReader(file, { epoch, position: last.end, end: last.bytes, payloads: 'lend' })
    return judgeTail({ reader, bytes: last.bytes, lsnExpected, durable: { lsn: known.durableLsn, source: 'TIP' } })
  })
  if (verdict.kind === 'damaged') findings.push(damage(name, last.end, lsnExpected, verdict.evidence))
  if (verdict.kind === 'torn') {
    const what = `${verdict.bytes} bytes at the end were never acknowledged: a write in progress, or the result of an unclean stop`
    findings.push({ severity: 'notice', file: name, offset: last.end, lsn: lsnExpected, what })
  }
  return findings
}

function damage(file: string, offset: number, lsn: number, what: string): LogFinding {
  return { severity: 'damage', file, offset, lsn, what }
}

function notice(file: string, what: string): LogFinding {
  return { severity: 'notice', file, offset: 0, lsn: 0, what }
}
