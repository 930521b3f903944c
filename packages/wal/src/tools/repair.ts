// Cuts a log before an LSN, on a copy; the original stays next to it under another name. This is the last resort when
// there is no backup: all records from that LSN on are lost, and the report counts them.
import { basename, dirname, join } from 'node:path'
import { WalError } from '../errors.ts'
import { FrameReader } from '../frame-reader.ts'
import { expectationAfter } from '../scan-log.ts'
import { listLogFiles, type ScannedSegment, type SegmentFile, scanSegment, withSegment } from '../scan-segment.ts'
import { segmentHeaderBytes } from '../segment-header.ts'
import { copyRange } from '../tail.ts'
import { encodeTip, readTip, tipName } from '../tip.ts'
import type { Vfs } from '../vfs.ts'
import { createWhole, writeFully } from '../whole-file.ts'

/** Options of repairLog. */
export interface RepairOptions {
  readonly vfs: Vfs
  /** The log's directory; no other process may have it open. */
  readonly dir: string
  /** The first LSN that is dropped. */
  readonly truncateAt: number
  /** Must be true: the caller accepts the loss of data. */
  readonly acceptDataLoss: boolean
}

/** What a repair did. */
export interface RepairReport {
  readonly lsnLast: number
  /** Where the original log is kept. */
  readonly original: string
  readonly droppedBytes: number
  /** LSNs of dropped records that could still be read. */
  readonly droppedReadable: number
}

/**
 * Truncates a copy of a log and puts it in the place of the original, which is kept. Throws repair_refused or the errors of a
 * scan.
 */
export async function repairLog(options: RepairOptions): Promise<RepairReport> {
  const { vfs, dir, truncateAt } = options
  if (!options.acceptDataLoss)
    throw refusal('repair deletes records permanently; confirm that with the option for accepted data loss', options)
  const kept = await segmentsBelow(options)
  const last = kept.at(-1)
  if (last === undefined) throw refusal(`the oldest record held is not below LSN ${truncateAt}`, options)
  const cutAt = await offsetOf(vfs, last, truncateAt)
  const dropped = await countDropped(options, last.file, cutAt)
  const copy = `${dir}.repair-tmp`
  await vfs.removeTree(copy)
  await vfs.makeDirectory(copy)
  for (const segment of kept.slice(0, -1)) await vfs.link(segment.file.path, join(copy, segment.file.name))
  await copyRange(vfs, { source: last.file.path, target: join(copy, last.file.name), from: 0, to: cutAt })
  const tip = await readTip(vfs, dir)
  const slot = { seq: (tip.newest?.seq ?? 1) + 1, durableLsn: truncateAt - 1, segmentId: last.file.id }
  await createWhole(vfs, join(copy, tipName), (file) => writeFully(file, encodeTip(slot), 0))
  const original = await freeName(vfs, `${dir}.damaged`)
  await vfs.rename(dir, original)
  await vfs.rename(copy, dir)
  await vfs.syncDirectory(dirname(dir))
  return { lsnLast: truncateAt - 1, original, ...dropped }
}

/** Returns the segments that begin below the cut. Each must be good as far as the cut needs it. */
async function segmentsBelow({ vfs, dir, truncateAt }: RepairOptions): Promise<ScannedSegment[]> {
  const { segments } = await listLogFiles(vfs, dir)
  const kept: ScannedSegment[] = []
  for (const file of segments.filter((segment) => segment.lsnFirst < truncateAt || segment === segments[0])) {
    const scanned = await scanSegment(vfs, file, expectationAfter(kept.at(-1)))
    const follower = segments[segments.indexOf(file) + 1]
    const needed = Math.min(truncateAt, follower?.lsnFirst ?? truncateAt) - 1
    if (scanned.header === undefined || scanned.lsnLast < needed) {
      const lsn = scanned.header === undefined ? file.lsnFirst : scanned.lsnLast + 1
      const why = `${file.name} is good only below LSN ${lsn} (${scanned.bad?.why ?? 'it ends there'}); cut at ${lsn} or lower`
      throw new WalError('repair_refused', why, { file: file.path, lsn, value: truncateAt })
    }
    kept.push(scanned)
  }
  return kept
}

/** Returns the offset where the record of `lsn` begins, or would begin. */
function offsetOf(vfs: Vfs, segment: ScannedSegment, lsn: number): Promise<number> {
  if (segment.lsnLast < lsn) return Promise.resolve(segment.end)
  return withSegment(vfs, segment.file, async (file) => {
    const epoch = segment.header?.epoch ?? 0n
    const reader = new FrameReader(file, { epoch, position: segmentHeaderBytes, end: segment.end, payloads: 'lend' })
    for (let next = segment.file.lsnFirst; next < lsn; next++) await reader.next()
    return reader.position
  })
}

async function countDropped({ vfs, dir }: RepairOptions, last: SegmentFile, cutAt: number) {
  let droppedBytes = 0
  let droppedReadable = 0
  const { segments } = await listLogFiles(vfs, dir)
  for (const segment of segments.filter(({ id }) => id >= last.id)) {
    await withSegment(vfs, segment, async (file, head, bytes) => {
      const position = segment.id === last.id ? cutAt : 0
      droppedBytes += bytes - position
      if (head.length < segmentHeaderBytes) return
      const epoch = head.readBigUInt64LE(32)
      const reader = new FrameReader(file, {
        epoch,
        position: Math.max(position, segmentHeaderBytes),
        end: bytes,
        payloads: 'lend',
      })
      while ((await reader.find()) !== undefined) droppedReadable++
    })
  }
  return { droppedBytes, droppedReadable }
}

async function freeName(vfs: Vfs, path: string): Promise<string> {
  let name = path
  for (let i = 2; await vfs.exists(name); i++) name = `${path}-${i}`
  return name
}

function refusal(why: string, { dir, truncateAt }: RepairOptions): WalError {
  return new WalError('repair_refused', `${basename(dir)} was not touched: ${why}`, { file: dir, value: truncateAt })
}
