// Resolves a moment of the past to its record, and finds the starting point and the records that lead to it.

import { join } from 'node:path'
import { type LogRecord, WalError } from '@annal/wal'
import { EngineError, type ErrorDetails } from '../errors.ts'
import { decodeEvent, isCatalogRecord, peekEvent } from '../events/codec.ts'
import { isMissing } from '../file-damage.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { Moment } from '../model/backups.ts'
import type { CollectionRestored } from '../model/event.ts'
import { ttlOf } from '../model/schema.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { lsnHeldOf } from '../snapshot/manifest.ts'
import { basesOf } from './archive.ts'
import type { BackupHost } from './host.ts'
import { type Image, imageManifestName, partName, readImage, type StoredImage, tailPart } from './image/image.ts'
import { baseOfCheckpoint, baseOfImage, type ImageBase, saysLengths } from './image/image-base.ts'
import { readTail } from './image/tail-file.ts'
import type { PastRecords, Piece } from './past-records.ts'
import { sharedBase } from './shared-bases.ts'
import { downloadImage } from './shared-images.ts'

/** The starting point for a moment. */
export interface Start {
  readonly base: ImageBase | undefined
  /** Names the checkpoint or the backup that `base` belongs to, or whose records it begins with. */
  readonly origin?: string
  /** Base and tail hold everything up to this record. */
  readonly lsn: number
  readonly tail: AsyncIterable<LogRecord> | undefined
  readonly hashSeed: HashSeed
  readonly fields: Image['fields']
  readonly ttlSeconds?: number
  /** Removes files that only this start needs. */
  readonly remove?: () => Promise<void>
  /** Time of the record, if it is known. */
  readonly timeMs?: number
  /** Of the record that created the collection; 0 if it is unknown. */
  readonly lsnCreated?: number
  /** The newest record of the collection, if it is before `lsn`. */
  readonly lsnOfCollection?: number
}

/** The collection whose past is requested. */
export interface PastOf {
  readonly database: string
  readonly collection: string
  /** Finds the collection of this directory that had the name just after a record. Throws collection_not_found. */
  collectionIdAt(lsn: number): Promise<number>
  /** A backup of the collection that may serve as the base. */
  readonly stored?: StoredImage
}

/** Throws restore_unreachable for a backup from another directory. */
export function pastOfBackup(host: BackupHost, stored: StoredImage): PastOf {
  const { name, database, collection, source } = stored.image
  if (source.uuid !== host.identity().uuid)
    throw unreachable(`backup "${name}" was made in another directory; this log does not contain its collection`)
  return { database, collection, collectionIdAt: async () => source.collectionId, stored }
}

/** A collection at a moment, and the records that lead from a starting point to it. */
export interface Past {
  /** The record of the moment. */
  readonly lsn: number
  readonly collectionId: number
  readonly start: Start
  /** Records of the collection after the starting point, up to the moment. They can be read once. */
  readonly records: AsyncIterable<LogRecord>
  /**
   * Of the records read so far: the time of the newest one, of any collection; the newest one of the collection; the number of those that
   * belong to what the record of the collection began with.
   */
  readonly seen: { timeMs: number; lsnOfCollection: number; adopted: number }
}

/** How the starting point is chosen. */
export interface PastOptions {
  /** Objects keep their LSNs. */
  readonly keepLsns?: boolean
  /** Origins of starting points that turned out to be damaged. */
  readonly without?: ReadonlySet<string>
}

/** Throws restore_unreachable, and what `collectionIdAt` throws. */
export async function findPast(
  host: BackupHost,
  subject: PastOf,
  moment: Moment,
  { keepLsns = false, without = new Set() }: PastOptions = {},
): Promise<Past> {
  const past = host.past()
  const bases = await basesOf(host)
  const lsnEnd = host.log().state().lsnDurable
  const lsn = await reaching(() => lsnOf(past, bases, moment, { lsn: lsnEnd, nowMs: nowOf(host) }))
  const collectionId = await subject.collectionIdAt(lsn)
  const start = await reaching(() =>
    startOf(host, past, bases, { collectionId, stored: subject.stored, keepLsns, without }, lsn),
  )
  const base = bases.findLast(({ manifest }) => manifest.lsn <= lsn)
  const known = Math.max(base?.manifest.timeMs ?? 0, start.timeMs ?? 0)
  // No record is read that would tell the time.
  const timeMs = start.lsn < lsn ? known : await timeOfMoment(past, bases, lsn, known)
  const seen = { timeMs, lsnOfCollection: start.lsnOfCollection ?? start.lsn, adopted: 0 }
  async function* records(): AsyncGenerator<LogRecord> {
    for await (const record of start.tail ?? []) {
      seen.adopted++
      yield record
    }
    if (start.lsn >= lsn) return
    for await (const record of recordsOf(past, collectionId, { from: start.lsn + 1, to: lsn }, seen)) {
      seen.lsnOfCollection = record.lsn
      yield record
    }
  }
  return { lsn, collectionId, start, records: records(), seen }
}

/** The records of two moments, `from` and `to`; without the second one, the end of the log. Throws restore_unreachable. */
export async function lsnsOf(
  host: BackupHost,
  from: Moment,
  to: Moment | undefined,
): Promise<{ readonly from: number; readonly to: number }> {
  await host.log().sync()
  const past = host.past()
  const bases = await basesOf(host)
  const end = { lsn: host.log().state().lsnDurable, nowMs: nowOf(host) }
  const resolve = (moment: Moment, field: string) =>
    namingMoment(field, moment, () => reaching(() => lsnOf(past, bases, moment, end)))
  return { from: await resolve(from, 'from'), to: to === undefined ? end.lsn : await resolve(to, 'to') }
}

/** The later of the clock and of the newest record, which is later if the clock was set back. */
function nowOf(host: BackupHost): number {
  return Math.max(host.clock.now(), host.timeMs())
}

/** The record just before a moment. Throws restore_unreachable. */
export async function lsnOf(
  past: PastRecords,
  bases: readonly Checkpoint[],
  moment: Moment,
  end: { readonly lsn: number; readonly nowMs: number },
): Promise<number> {
  if ('lsn' in moment) {
    if (Number.isSafeInteger(moment.lsn) && moment.lsn >= 0 && moment.lsn <= end.lsn) return moment.lsn
    throw unreachable(`LSN ${moment.lsn} is in the future: the log ends with LSN ${end.lsn}`, { limit: end.lsn })
  }
  const { timeMs } = moment
  if (!(timeMs <= end.nowMs))
    throw unreachable(`${timeOf(timeMs)} is in the future: the log ends at ${timeOf(end.nowMs)}`, {
      limit: timeOf(end.nowMs),
    })
  let lsn = past.isIndexed ? await startBefore(past, timeMs) : await startAtBase(past, bases, timeMs)
  for await (const record of lsn < end.lsn ? past.records({ from: lsn + 1, to: end.lsn }) : []) {
    if (peekEvent(record.payload).timeMs > timeMs) return lsn
    lsn = record.lsn
  }
  return end.lsn
}

async function startAtBase(past: PastRecords, bases: readonly Checkpoint[], timeMs: number): Promise<number> {
  const base = bases.findLast(({ manifest }) => manifest.timeMs <= timeMs)
  return base?.manifest.lsn ?? originOf(past, timeOf(timeMs))
}

/** The first record of the newest piece that begins at or before a time. Times in a log never decrease. */
async function startBefore(past: PastRecords, timeMs: number): Promise<number> {
  const pieces = await past.pieces()
  let [low, high] = [0, pieces.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const { lsnFirst } = pieces[middle] as Piece
    const isBefore = (await timeAt(past, lsnFirst)) <= timeMs
    if (isBefore) low = middle + 1
    else high = middle
  }
  return pieces[low - 1]?.lsnFirst ?? originOf(past, timeOf(timeMs))
}

/** Time of a record. If it is not held, that of the checkpoint after it, which has the collection unchanged. */
async function timeOfMoment(
  past: PastRecords,
  bases: readonly Checkpoint[],
  lsn: number,
  known: number,
): Promise<number> {
  const next = bases.find(({ manifest }) => manifest.lsn >= lsn)
  if (next?.manifest.lsn === lsn) return next.manifest.timeMs
  const timeMs = (await holds(past, lsn)) ? await timeAt(past, lsn) : 0
  return timeMs || (next?.manifest.timeMs ?? known)
}

async function timeAt(past: PastRecords, lsn: number): Promise<number> {
  let timeMs = 0
  for await (const { payload } of past.records({ from: lsn, to: lsn })) timeMs = peekEvent(payload).timeMs
  return timeMs
}

/** 0 when the history begins with the very first record. */
export async function originOf(past: PastRecords, wanted: string): Promise<number> {
  const [first] = await past.pieces()
  if (first === undefined || first.lsnFirst === 1) return 0
  const { lsnFirst } = first
  throw unreachable(`${wanted} cannot be reached: the oldest record in the log is LSN ${lsnFirst}`, { limit: lsnFirst })
}

async function startOf(
  host: BackupHost,
  past: PastRecords,
  bases: readonly Checkpoint[],
  {
    collectionId,
    stored,
    keepLsns,
    without,
  }: { readonly collectionId: number; readonly stored: StoredImage | undefined } & Required<PastOptions>,
  lsn: number,
): Promise<Start> {
  const isUsable = stored !== undefined && stored.image.lsn <= lsn && !without.has(stored.dir)
  let best: Start | undefined = isUsable ? startWithImage(host, stored, stored.image.lsn) : undefined
  for (const checkpoint of bases) {
    if (without.has(checkpoint.path)) continue
    const start = startWithCheckpoint(checkpoint, collectionId, lsn, keepLsns)
    if (start && (best === undefined || best.lsn < start.lsn)) best = start
  }
  if (best && (best.lsn === lsn || (await holds(past, best.lsn + 1)))) return best
  const shared = host.shared && (await sharedBase(host, host.shared, { collectionId, lsn, without }))
  if (!shared) return best ?? startWithBirth(host, past, bases, collectionId, lsn)
  const start = startWithCheckpoint(shared, collectionId, lsn, keepLsns) as Start
  return { ...start, origin: shared.origin, remove: () => shared.remove() }
}

async function holds(past: PastRecords, lsn: number): Promise<boolean> {
  const [first] = await past.pieces()
  return first !== undefined && first.lsnFirst <= lsn
}

/** Undefined if the checkpoint does not hold the collection as of the record or before. */
function startWithCheckpoint(
  { path, manifest }: Checkpoint,
  collectionId: number,
  lsn: number,
  keepLsns: boolean,
): Start | undefined {
  const collection = manifest.collections.find(({ id }) => id === collectionId)
  const entry = manifest.catalog.collections.find(({ id }) => id === collectionId)
  if (!collection || !entry || !saysLengths(collection) || collection.lsn > lsn) return undefined
  const base = baseOfCheckpoint(path, collection, { keepLsns })
  const { hashSeed, lsnCreated } = entry
  const { fields, lsn: lsnOfCollection } = collection
  // A collection that was not written to has no records up to that of the checkpoint.
  const start = Math.max(collection.lsn, Math.min(lsnHeldOf(manifest, collection), lsn))
  const own = { base, origin: path, lsn: start, tail: undefined, lsnCreated, lsnOfCollection }
  return { ...own, hashSeed, fields, ...ttlOf(collection) }
}

export function startWithImage(host: BackupHost, stored: StoredImage, lsn: number): Start {
  const { dir, image } = stored
  const { bytes, sum } = image.tail
  const head = { collectionId: image.source.collectionId, lsn: image.lsn, bytes, sum }
  const tail = readTail(host.vfs, join(dir, partName(tailPart)), head)
  const base = image.snapshotLsn === 0 ? undefined : baseOfImage(stored)
  return { base, origin: dir, lsn, tail, hashSeed: image.hashSeed, fields: image.fields, ...ttlOf(image) }
}

/** The record that created the collection. */
async function startWithBirth(
  host: BackupHost,
  past: PastRecords,
  bases: readonly Checkpoint[],
  collectionId: number,
  lsn: number,
): Promise<Start> {
  const before = bases.findLast(
    ({ manifest }) => manifest.lsn <= lsn && manifest.catalog.collections.every(({ id }) => id !== collectionId),
  )
  const from = before?.manifest.lsn ?? (await originOf(past, `LSN ${lsn}`))
  for await (const record of from < lsn ? past.records({ from: from + 1, to: lsn }) : []) {
    if (!isCatalogRecord(record)) continue
    const event = decodeEvent(record)
    if (!('collectionId' in event) || event.collectionId !== collectionId) continue
    const { lsn: lsnCreated } = record
    if (event.kind === 'collection-created')
      return { ...event, base: undefined, lsn: lsnCreated, tail: undefined, lsnCreated }
    if (event.kind === 'collection-restored') {
      const start = startWithImage(host, await importedImage(host, event), record.lsn)
      return { ...start, timeMs: event.timeMs, lsnCreated }
    }
  }
  throw unreachable(`the collection does not exist yet at LSN ${lsn}`)
}

/** The image of a restored or cloned collection, as long as it is kept. */
async function importedImage(
  host: BackupHost,
  restored: Pick<CollectionRestored, 'importId' | 'imageSha256'>,
): Promise<StoredImage> {
  const { vfs, dataDir, shared } = host
  const dir = join(dataDir, 'imports', restored.importId)
  try {
    if (shared && !(await vfs.exists(join(dir, imageManifestName)))) await downloadImage(host, shared, restored)
    return await readImage(vfs, dir)
  } catch (error) {
    if (!isMissing(error)) throw error
    throw unreachable(
      'the initial image of the collection is no longer kept, and no earlier checkpoint holds the collection',
      {},
      error,
    )
  }
}

async function* recordsOf(
  past: PastRecords,
  collectionId: number,
  range: { readonly from: number; readonly to: number },
  seen: { timeMs: number },
): AsyncGenerator<LogRecord> {
  for await (const record of past.records(range)) {
    const { timeMs, collectionIds } = peekEvent(record.payload)
    seen.timeMs = Math.max(seen.timeMs, timeMs)
    if (!collectionIds.includes(collectionId)) continue
    if (!isCatalogRecord(record)) yield record
    else throw unreachable(`the collection no longer exists at LSN ${range.to}: it was deleted by ${record.lsn}`)
  }
}

/** A missing or damaged part of the log means here that the moment cannot be reached. */
export async function reaching<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof WalError && (error.code === 'lsn_not_held' || error.code === 'log_damaged'))
      throw unreachable(error.message, {}, error)
    if (isMissing(error))
      throw unreachable(
        `a file is missing: ${(error as Error).message}. A newer checkpoint may have replaced it; try again`,
        {},
        error,
      )
    throw error
  }
}

export function unreachable(why: string, details: ErrorDetails = {}, cause?: unknown): EngineError {
  return new EngineError('restore_unreachable', why, details, { cause })
}

/** Runs `act`; its restore_unreachable names the moment: `asOf.lsn` and the LSN, or `asOf.timeMs` and the time. */
export async function namingMoment<T>(field: string, moment: Moment, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'restore_unreachable') throw error
    const named = { field: `${field}.${'lsn' in moment ? 'lsn' : 'timeMs'}`, value: shownMoment(moment) }
    throw new EngineError(error.code, error.message, { ...named, ...error.details }, { cause: error })
  }
}

/** A moment as errors show it: its LSN, or its time. */
export function shownMoment(moment: Moment): number | string {
  return 'lsn' in moment ? moment.lsn : timeOf(moment.timeMs)
}

function timeOf(timeMs: number): string {
  return Number.isFinite(timeMs) && Math.abs(timeMs) < 8.64e15 ? new Date(timeMs).toISOString() : String(timeMs)
}
