// Resolves a moment of the past to its record, and builds the image of one collection just after that record.

import { join } from 'node:path'
import { type LogRecord, WalError } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { decodeEvent, isCatalogRecord, peekEvent } from '../events/codec.ts'
import type { CollectionRestored } from '../events/event.ts'
import { isMissing } from '../file-damage.ts'
import type { PastRecords, Piece } from '../history/past-records.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { Moment } from '../model/backups.ts'
import { ttlOf } from '../model/schema.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { basesOf } from './archive.ts'
import type { BackupHost } from './host.ts'
import { type Image, imageManifestName, partName, readImage, type StoredImage, tailPart } from './image.ts'
import { baseOfCheckpoint, baseOfImage, type ImageBase, saysLengths } from './image-base.ts'
import { makeImage } from './make-image.ts'
import { sharedBase } from './shared-bases.ts'
import { downloadImage } from './shared-images.ts'
import { readTail } from './tail-file.ts'

/** The starting point for a moment. */
export interface Start {
  readonly base: ImageBase | undefined
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

/** Fills an empty directory with a collection as of a moment. Throws restore_unreachable. */
export async function imageOfPast(
  host: BackupHost,
  subject: PastOf,
  moment: Moment,
  dir: string,
  checkWanted: () => void,
): Promise<Image> {
  const found = await findPast(host, subject, moment)
  const timeMs = 'timeMs' in moment ? moment.timeMs : 0
  const make = () => makePastImage(host, subject, found, { dir, timeMs, linkOnly: false, checkWanted })
  return reaching(make).finally(found.start.remove)
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

/** Throws restore_unreachable, and what `collectionIdAt` throws. */
export async function findPast(
  host: BackupHost,
  subject: PastOf,
  moment: Moment,
  { keepLsns = false }: { readonly keepLsns?: boolean } = {},
): Promise<Past> {
  const past = host.past()
  const bases = await basesOf(host)
  const lsnEnd = host.log().state().lsnDurable
  const lsn = await reaching(() => lsnOf(past, bases, moment, { lsn: lsnEnd, nowMs: host.clock.now() }))
  const collectionId = await subject.collectionIdAt(lsn)
  const start = await reaching(() =>
    startOf(host, past, bases, { collectionId, stored: subject.stored, keepLsns }, lsn),
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

/** Writes the files of the image into an empty directory, without its manifest. */
export function makePastImage(
  host: BackupHost,
  subject: Pick<PastOf, 'database' | 'collection'>,
  { lsn, collectionId, start, records }: Past,
  options: {
    readonly dir: string
    readonly timeMs: number
    readonly linkOnly: boolean
    readonly checkWanted: () => void
  },
): Promise<Image> {
  const { dir, timeMs, linkOnly, checkWanted } = options
  return makeImage(host.vfs, dir, {
    base: start.base,
    records,
    linkOnly,
    older: undefined,
    checkWanted,
    onProgress: () => undefined,
    facts: {
      name: '',
      database: subject.database,
      collection: subject.collection,
      takenAtMs: host.clock.now(),
      source: { uuid: host.identity().uuid, collectionId: start.base?.collectionId ?? collectionId },
      lsn,
      timeMs,
      hashSeed: start.hashSeed,
      fields: start.fields,
      ...ttlOf(start),
      ...(start.base?.expires && { expires: true as const }),
      // The number is known when the image is loaded.
      objects: 0,
      fieldsNow: start.fields.map((field) => ({ ...field, elements: 0 })),
      digest: '',
    },
  })
}

/** The records of two moments; without the second one, the end of the log. Throws restore_unreachable. */
export async function lsnsOf(
  host: BackupHost,
  from: Moment,
  to: Moment | undefined,
): Promise<{ readonly from: number; readonly to: number }> {
  await host.log().sync()
  const past = host.past()
  const bases = await basesOf(host)
  const end = { lsn: host.log().state().lsnDurable, nowMs: host.clock.now() }
  const resolve = (moment: Moment) => reaching(() => lsnOf(past, bases, moment, end))
  return { from: await resolve(from), to: to === undefined ? end.lsn : await resolve(to) }
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
    throw unreachable(`LSN ${moment.lsn} is in the future: the log ends with LSN ${end.lsn}`)
  }
  const { timeMs } = moment
  if (!(timeMs <= end.nowMs))
    throw unreachable(`${timeOf(timeMs)} is in the future: the log ends at ${timeOf(end.nowMs)}`)
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
  throw unreachable(`${wanted} cannot be reached: the oldest record in the log is LSN ${first.lsnFirst}`)
}

async function startOf(
  host: BackupHost,
  past: PastRecords,
  bases: readonly Checkpoint[],
  {
    collectionId,
    stored,
    keepLsns,
  }: { readonly collectionId: number; readonly stored: StoredImage | undefined; readonly keepLsns: boolean },
  lsn: number,
): Promise<Start> {
  let best = stored && stored.image.lsn <= lsn ? startWithImage(host, stored, stored.image.lsn) : undefined
  for (const checkpoint of bases) {
    const start = startWithCheckpoint(checkpoint, collectionId, lsn, keepLsns)
    if (start && (best === undefined || best.lsn < start.lsn)) best = start
  }
  if (best && (best.lsn === lsn || (await holds(past, best.lsn + 1)))) return best
  const shared = host.shared && (await sharedBase(host, host.shared, { collectionId, lsn }))
  if (!shared) return best ?? startWithBirth(host, past, bases, collectionId, lsn)
  return { ...(startWithCheckpoint(shared, collectionId, lsn, keepLsns) as Start), remove: () => shared.remove() }
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
  const start = Math.max(collection.lsn, Math.min(manifest.lsn, lsn))
  return { base, lsn: start, tail: undefined, hashSeed, fields, ...ttlOf(collection), lsnCreated, lsnOfCollection }
}

export function startWithImage(host: BackupHost, stored: StoredImage, lsn: number): Start {
  const { dir, image } = stored
  const { bytes, sum } = image.tail
  const head = { collectionId: image.source.collectionId, lsn: image.lsn, bytes, sum }
  const tail = readTail(host.vfs, join(dir, partName(tailPart)), head)
  const base = image.snapshotLsn === 0 ? undefined : baseOfImage(stored)
  return { base, lsn, tail, hashSeed: image.hashSeed, fields: image.fields, ...ttlOf(image) }
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
      throw unreachable(error.message, error)
    if (isMissing(error))
      throw unreachable(
        `a file is missing: ${(error as Error).message}. A newer checkpoint may have replaced it; try again`,
        error,
      )
    throw error
  }
}

export function unreachable(why: string, cause?: unknown): EngineError {
  return new EngineError('restore_unreachable', why, {}, { cause })
}

function timeOf(timeMs: number): string {
  return Number.isFinite(timeMs) && Math.abs(timeMs) < 8.64e15 ? new Date(timeMs).toISOString() : String(timeMs)
}
