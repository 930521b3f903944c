// Resolves a moment of the past to its record, and builds the image of one collection just after that record.
import { join } from 'node:path'
import { type HistoryPlace, historySegments, type LogRecord, readHistory, WalError } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { decodeEvent, isCatalogRecord, peekEvent } from '../events/codec.ts'
import { isMissing } from '../file-damage.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { Moment } from '../model/backups.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import { basesOf, historyOf } from './archive.ts'
import type { BackupHost } from './host.ts'
import { type Image, partName, readImage, type StoredImage, tailPart } from './image.ts'
import { baseOfCheckpoint, baseOfImage, type ImageBase, saysLengths } from './image-base.ts'
import { makeImage } from './make-image.ts'
import { readTail } from './tail-file.ts'

/** The starting point for a moment. */
export interface Start {
  readonly base: ImageBase | undefined
  /** Base and tail hold everything up to this record. */
  readonly lsn: number
  readonly tail: AsyncIterable<LogRecord> | undefined
  readonly hashSeed: HashSeed
  readonly fields: Image['fields']
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
  const { uuid } = host.identity()
  const place = historyOf(host, host.identity())
  const bases = await basesOf(host)
  const lsnEnd = host.log().state().lsnDurable
  const lsn = await reaching(() => lsnOf(place, bases, moment, { lsn: lsnEnd, nowMs: host.clock.now() }))
  const collectionId = await subject.collectionIdAt(lsn)
  const start = await reaching(() => startOf(host, place, bases, { collectionId, stored: subject.stored }, lsn))
  async function* records(): AsyncGenerator<LogRecord> {
    if (start.tail) yield* start.tail
    if (start.lsn < lsn) yield* recordsOf(place, collectionId, { from: start.lsn + 1, to: lsn })
  }
  return reaching(() =>
    makeImage(host.vfs, dir, {
      base: start.base,
      records: records(),
      linkOnly: false,
      older: undefined,
      checkWanted,
      onProgress: () => undefined,
      facts: {
        name: '',
        database: subject.database,
        collection: subject.collection,
        takenAtMs: host.clock.now(),
        source: { uuid, collectionId: start.base?.collectionId ?? collectionId },
        lsn,
        timeMs: 'timeMs' in moment ? moment.timeMs : 0,
        hashSeed: start.hashSeed,
        fields: start.fields,
        // The number is known when the image is loaded.
        objects: 0,
        fieldsNow: start.fields.map((field) => ({ ...field, elements: 0 })),
        digest: '',
      },
    }),
  )
}

/** The record just before a moment. Throws restore_unreachable. */
export async function lsnOf(
  place: HistoryPlace,
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
  const base = bases.findLast(({ manifest }) => manifest.timeMs <= timeMs)
  const from = base?.manifest.lsn ?? (await originOf(place, `${timeOf(timeMs)}`))
  let lsn = from
  for await (const record of from < end.lsn ? readHistory(place, { from: from + 1, to: end.lsn }) : []) {
    if (peekEvent(record.payload).timeMs > timeMs) return lsn
    lsn = record.lsn
  }
  return end.lsn
}

/** 0 when the history begins with the very first record. */
export async function originOf(place: HistoryPlace, wanted: string): Promise<number> {
  const [first] = await historySegments(place)
  if (first?.lsnFirst === 1) return 0
  throw unreachable(`${wanted} cannot be reached: the oldest record in the log is LSN ${first?.lsnFirst ?? 'none'}`)
}

async function startOf(
  host: BackupHost,
  place: HistoryPlace,
  bases: readonly Checkpoint[],
  { collectionId, stored }: { readonly collectionId: number; readonly stored: StoredImage | undefined },
  lsn: number,
): Promise<Start> {
  let best = stored && stored.image.lsn <= lsn ? startWithImage(host, stored, stored.image.lsn) : undefined
  for (const { path, manifest } of bases) {
    const collection = manifest.collections.find(({ id }) => id === collectionId)
    const entry = manifest.catalog.collections.find(({ id }) => id === collectionId)
    if (!collection || !entry || !saysLengths(collection) || collection.lsn > lsn) continue
    if (best && best.lsn >= collection.lsn) continue
    const { hashSeed } = entry
    const { fields } = collection
    best = { base: baseOfCheckpoint(path, collection), lsn: collection.lsn, tail: undefined, hashSeed, fields }
  }
  return best ?? startWithBirth(host, place, bases, collectionId, lsn)
}

export function startWithImage(host: BackupHost, stored: StoredImage, lsn: number): Start {
  const { dir, image } = stored
  const { bytes, sum } = image.tail
  const head = { collectionId: image.source.collectionId, lsn: image.lsn, bytes, sum }
  const tail = readTail(host.vfs, join(dir, partName(tailPart)), head)
  const base = image.snapshotLsn === 0 ? undefined : baseOfImage(stored)
  return { base, lsn, tail, hashSeed: image.hashSeed, fields: image.fields }
}

/** The record that created the collection. */
async function startWithBirth(
  host: BackupHost,
  place: HistoryPlace,
  bases: readonly Checkpoint[],
  collectionId: number,
  lsn: number,
): Promise<Start> {
  const before = bases.findLast(
    ({ manifest }) => manifest.lsn <= lsn && manifest.catalog.collections.every(({ id }) => id !== collectionId),
  )
  const from = before?.manifest.lsn ?? (await originOf(place, `LSN ${lsn}`))
  for await (const record of from < lsn ? readHistory(place, { from: from + 1, to: lsn }) : []) {
    if (!isCatalogRecord(record)) continue
    const event = decodeEvent(record)
    if (!('collectionId' in event) || event.collectionId !== collectionId) continue
    if (event.kind === 'collection-created')
      return { base: undefined, lsn: record.lsn, tail: undefined, hashSeed: event.hashSeed, fields: event.fields }
    if (event.kind === 'collection-restored')
      return startWithImage(host, await importedImage(host, event.importId), record.lsn)
  }
  throw unreachable(`the collection does not exist yet at LSN ${lsn}`)
}

/** The image of a restored or cloned collection, as long as it is kept. */
async function importedImage(host: BackupHost, id: string): Promise<StoredImage> {
  try {
    return await readImage(host.vfs, join(host.dataDir, 'imports', id))
  } catch (error) {
    if (!isMissing(error)) throw error
    throw unreachable(
      'the initial image of the collection is no longer kept, and no earlier checkpoint holds the collection',
      error,
    )
  }
}

async function* recordsOf(
  place: HistoryPlace,
  collectionId: number,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<LogRecord> {
  for await (const record of readHistory(place, range)) {
    if (!peekEvent(record.payload).collectionIds.includes(collectionId)) continue
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
