// Creates an image of a collection as it is now. The cut is made between two events, while writers and readers
// continue.

import { join } from 'node:path'
import { type LogRecord, type Lsn, WalError } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { isCatalogRecord, peekEvent } from '../events/codec.ts'
import { isMissing } from '../file-damage.ts'
import { ttlOf } from '../model/schema.ts'
import type { Replica } from '../replica/replica.ts'
import { lsnHeldOf } from '../snapshot/manifest.ts'
import { digestInBackground } from './background-digest.ts'
import type { BackupHost, Imaged } from './host.ts'
import { type Image, readImage, type StoredImage } from './image/image.ts'
import { baseOfCheckpoint, bytesOf, saysLengths } from './image/image-base.ts'
import { makeImage } from './image/make-image.ts'
import { type Start, startWithImage } from './past.ts'

export interface ImageLabel {
  readonly name: string
  readonly database: string
  /** Aliases of the collection, for information. */
  readonly aliases?: readonly string[]
}

/** The purpose of an image. */
export interface ImageUse {
  /** An image of the same collection whose files may be linked. */
  readonly older?: StoredImage | undefined
  /** The image stays in this directory and is not a backup, so its files are not hashed. */
  readonly linkOnly?: boolean
}

export interface ImageWatch {
  /** Throws when the image is no longer wanted. */
  readonly checkWanted: () => void
  readonly onProgress: (bytesDone: number, bytes: number) => void
  /** How long events that were ready to be applied waited for the cut. */
  readonly onHeld?: (ms: number) => void
}

/** Hashing this many bytes takes a fraction of a millisecond, which writers may wait. */
const digestAtOnceMax = 1024 * 1024
/** Checkpoints and the log advance while an image is made from them, so attempts are repeated. */
const attempts = 5

interface Moment {
  readonly lsn: number
  readonly timeMs: number
  readonly replica: Replica
  readonly facts: Pick<Image, 'objects' | 'fieldsNow' | 'digest'>
  readonly heldMs: number
  release(): void
}

/** Fills an empty directory with everything except the manifest. */
export async function imageCollection(
  host: BackupHost,
  collection: Imaged,
  dir: string,
  label: ImageLabel,
  use: ImageUse,
  watch: ImageWatch,
): Promise<Image> {
  let start = await startOf(host, collection, use)
  const moment = await momentOf(host, collection)
  watch.onHeld?.(moment.heldMs)
  try {
    // An image must never be ahead of the log.
    await host.log().sync()
    for (let attempt = 1; ; attempt++) {
      watch.checkWanted()
      try {
        // The missing file may be part of an older image.
        const tried = attempt === 1 ? use : { ...use, older: undefined }
        const image = await imageAt(host, collection, { dir, start, moment, label, use: tried, watch })
        if (image.digest !== '' || use.linkOnly) return image
        return { ...image, digest: await digestIfUnchanged(moment, watch.checkWanted) }
      } catch (error) {
        const isLost = isDamaged(error) || (attempt > 1 && isMissing(error))
        if (attempt === attempts || !(isLost || hasMovedOn(error))) throw error
        // The image of a deleted collection may be gone as well.
        collection.checkOpen()
        for (const name of await host.vfs.list(dir)) await host.vfs.remove(join(dir, name))
        // A file that is missing again was not replaced by a newer checkpoint: it is lost, like one that is damaged, and the
        // collection is written again.
        if (isLost) {
          host.renewSnapshot(collection.entry.id)
          await host.takeCheckpoint()
        }
        start = await startOf(host, collection, use, moment.lsn)
      }
    }
  } finally {
    moment.release()
  }
}

async function imageAt(
  host: BackupHost,
  collection: Imaged,
  source: {
    readonly dir: string
    readonly start: Start
    readonly moment: Moment
    readonly label: ImageLabel
    readonly use: ImageUse
    readonly watch: ImageWatch
  },
): Promise<Image> {
  const { start, moment, label, use, watch } = source
  const { id, definition, hashSeed } = collection.entry
  const { base, tail } = start
  async function* records(): AsyncGenerator<LogRecord> {
    if (tail) yield* tail
    for await (const record of recordsOf(host, id, start.lsn, moment.lsn)) {
      watch.checkWanted()
      yield record
    }
  }
  const bytes = base ? bytesOf(base) : 0
  return makeImage(host.vfs, source.dir, {
    base,
    records: records(),
    linkOnly: use.linkOnly ?? false,
    older: use.older,
    checkWanted: watch.checkWanted,
    onProgress: (done) => watch.onProgress(Math.min(done, bytes), bytes),
    facts: {
      ...label,
      takenAtMs: host.clock.now(),
      collection: definition.name,
      source: { uuid: host.identity().uuid, collectionId: base?.collectionId ?? id },
      lsn: moment.lsn,
      timeMs: moment.timeMs,
      hashSeed,
      fields: start.fields,
      ...ttlOf(start),
      ...(base?.expires && { expires: true as const }),
      ...moment.facts,
    },
  })
}

/**
 * The newest snapshot of the collection, not later than `lsnMax`; or its initial image, when the log holds all its
 * records.
 */
async function startOf(
  host: BackupHost,
  { entry }: Imaged,
  { linkOnly }: ImageUse,
  lsnMax = Number.POSITIVE_INFINITY,
): Promise<Start> {
  const { id, hashSeed, restored, lsnCreated, definition } = entry
  for (let taken = false; ; taken = true) {
    const checkpoint = host.newestCheckpoint()
    const collection = checkpoint?.manifest.collections.find((candidate) => candidate.id === id)
    if (checkpoint && collection && saysLengths(collection) && collection.lsn <= lsnMax) {
      // Nothing was written between its snapshot and the checkpoint, and the log may not reach back to the snapshot.
      const lsn = Math.max(collection.lsn, lsnHeldOf(checkpoint.manifest, collection))
      const base = baseOfCheckpoint(checkpoint.path, collection)
      return { base, lsn, tail: undefined, hashSeed, fields: base.fields, ...ttlOf(base) }
    }
    const isInLog = lsnCreated >= host.log().state().lsnFirst
    if (isInLog && !restored)
      return {
        base: undefined,
        lsn: lsnCreated,
        tail: undefined,
        hashSeed,
        fields: definition.fields,
        ...ttlOf(definition),
      }
    // The files of an import contain another collection's number, which a backup must not.
    if (isInLog && restored && linkOnly)
      return startWithImage(
        host,
        await readImage(host.vfs, join(host.dataDir, 'imports', restored.importId)),
        lsnCreated,
      )
    assert(!taken, `a checkpoint contains collection ${id}`)
    await host.takeCheckpoint()
  }
}

function momentOf(host: BackupHost, collection: Imaged): Promise<Moment> {
  return collection.gate.between(() => {
    const from = performance.now()
    collection.checkOpen()
    const { replica } = collection
    replica.checkWhole()
    const { definition, count: objects } = replica
    const fieldsNow = definition.fields.map((field, index) => ({ ...field, elements: replica.rowsAt(index) }))
    const digest = sizeOf(replica) <= digestAtOnceMax ? replica.digest() : ''
    const facts = { objects, fieldsNow, digest }
    // The replica stays open until the digest is computed, whatever is rebuilt or deleted. No version is this high, so
    // no writer waits for the pin.
    const release = replica.pins.pin(Number.MAX_SAFE_INTEGER)
    const heldMs = performance.now() - from
    return { lsn: replica.lsnApplied, timeMs: host.timeMs(), replica, facts, heldMs, release }
  })
}

/**
 * The digest of a large collection is computed afterwards, and is known only when nothing was written in the meantime.
 */
async function digestIfUnchanged({ replica, lsn }: Moment, checkWanted: () => void): Promise<string> {
  return (replica.lsnApplied === lsn && (await digestInBackground(replica, checkWanted))) || ''
}

/** Records of one collection after `from` up to `to`. */
async function* recordsOf(host: BackupHost, collectionId: number, from: number, to: number): AsyncGenerator<LogRecord> {
  if (from >= to) return
  for await (const record of host.log().read((from + 1) as Lsn)) {
    if (record.lsn > to) return
    if (!isCatalogRecord(record) && peekEvent(record.payload).collectionIds.includes(collectionId)) yield record
  }
}

/** Whether a file or a record was removed during the read because newer checkpoints hold it. */
function hasMovedOn(error: unknown): boolean {
  return isMissing(error) || (error instanceof WalError && error.code === 'lsn_not_held')
}

function isDamaged(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'snapshot_damaged' && !isMissing(error)
}

function sizeOf(replica: Replica): number {
  return sum(Object.values(replica.bytes()))
}

function sum(numbers: readonly number[] = []): number {
  return numbers.reduce((total, number) => total + number, 0)
}
