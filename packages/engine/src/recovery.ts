// Brings the engine's state to the end of the log. The records after the checkpoint are first counted by collection, so
// that each collection serves as soon as its own last record is applied. Then they are applied in order, each
// collection through its own queue. A collection that cannot be rebuilt is put in quarantine, and the others continue.

import type { Log, LogRecord, Lsn } from '@annal/wal'
import type { MemoryGuard } from './admission/memory-guard.ts'
import { Catalog } from './catalog/catalog.ts'
import type { CatalogState, CollectionEntry } from './catalog/catalog-state.ts'
import { outOfServiceReason } from './disk-errors.ts'
import { assert } from './errors.ts'
import { decodeEvent, isCatalogEvent, isCatalogRecord, peekEvent } from './events/codec.ts'
import { requestOf } from './events/request-record.ts'
import type { CatalogEvent, Event, ObjectEvent } from './model/event.ts'
import type { FieldSchema } from './model/schema.ts'
import type { Replica } from './replica/replica.ts'
import type { WriteGate } from './replica/write-gate.ts'
import type { KeyTable } from './requests/key-table.ts'

/** Decoded events waiting to be applied. Memory during a replay does not grow with the log. */
const waitingBytesMax = 64 * 1024 * 1024

/** A collection during recovery. */
export interface RecoveringCollection {
  readonly entry: CollectionEntry
  /** Undefined in quarantine: its records are skipped. */
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
  ready(): void
  replayRebuild(lsn: number, fields: readonly FieldSchema[]): Promise<void>
  quarantine(reason: string): Promise<void>
}

/** The parts of the engine that recovery fills. */
export interface RecoveryTarget {
  readonly memory: Pick<MemoryGuard, 'checkUnavoidable'>
  readonly catalog: Catalog
  loaded(id: number): RecoveringCollection | undefined
  applyCatalog(lsn: number, event: CatalogEvent): Promise<void>
  /** Counts replayed events like written ones: they too wait for the next checkpoint. */
  applied(event: Event, bytes: number): void
}

/** Overview of the records that a replay will apply. */
export interface Outlook {
  readonly lsnLast: number
  readonly timeMs: number
  readonly records: number
  /** The last record of each collection that has any. */
  readonly lsnLastOf: ReadonlyMap<number, number>
  /** The catalog at the end of the log: authentication and listings must not wait for the replay. */
  readonly catalog: Catalog
}

/** Reads the records from `from` without applying them to any collection. Request keys are complete afterwards. */
export async function survey(
  log: Log,
  from: {
    readonly lsn: number
    readonly timeMs: number
    readonly catalog: CatalogState
    /** Gets the request keys of the records. */
    readonly keys: KeyTable
  },
): Promise<Outlook> {
  const lsnLastOf = new Map<number, number>()
  const catalog = new Catalog(from.catalog)
  let { timeMs } = from
  let records = 0
  let lsnLast = from.lsn - 1
  for await (const record of log.read(from.lsn as Lsn)) {
    const event = peekEvent(record.payload)
    for (const id of event.collectionIds) lsnLastOf.set(id, record.lsn)
    addKey(from.keys, record, event.timeMs)
    if (isCatalogRecord(record) && record.lsn > catalog.lsn) applyTo(catalog, record)
    timeMs = Math.max(timeMs, event.timeMs)
    lsnLast = record.lsn
    records++
  }
  return { lsnLast, timeMs, records, lsnLastOf, catalog }
}

/** Keys of a checkpoint may be newer than its LSN. */
function addKey(keys: KeyTable, record: LogRecord, timeMs: number): void {
  const { lsn } = record
  const request = requestOf(record)
  if (request && lsn > keys.lsnLast) keys.add({ ...request, lsn, timeMs })
}

function applyTo(catalog: Catalog, record: LogRecord): void {
  const event = decodeEvent(record)
  if (isCatalogEvent(event)) catalog.apply(record.lsn, event)
}

/** Applies every record from `lsnFrom` that the state does not reflect yet. */
export async function replay(
  log: Log,
  target: RecoveryTarget,
  lsnFrom: number,
  outlook: Outlook,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const waiting = new Waiting()
  let done = 0
  if (outlook.records > 0) {
    for await (const record of log.read(lsnFrom as Lsn)) {
      await applyRecord(record, target, outlook, waiting)
      onProgress(++done, outlook.records)
    }
  }
  await waiting.drain()
}

async function applyRecord(
  record: LogRecord,
  target: RecoveryTarget,
  outlook: Outlook,
  waiting: Waiting,
): Promise<void> {
  const event = decodeEvent(record)
  target.applied(event, record.payload.length)
  if (isCatalogEvent(event)) {
    if (record.lsn > target.catalog.lsn) await target.applyCatalog(record.lsn, event)
    if (event.kind === 'collection-created' || event.kind === 'collection-restored')
      readyWhenLast(record.lsn, event.collectionId, target, outlook)
    return
  }
  const collection = target.loaded(event.collectionId)
  // Ids are assigned in order, so a missing one was deleted later in the log or never assigned.
  assert(
    collection || event.collectionId < target.catalog.nextCollectionId,
    `record ${record.lsn} is for a collection that was created`,
  )
  if (!collection) return
  const { gate } = collection
  const applied = gate.queue(record.payload.length, async () => {
    const check = () => target.memory.checkUnavoidable('the record', record.payload.length)
    await applyOrQuarantine(record.lsn, event, collection, check)
    readyWhenLast(record.lsn, event.collectionId, target, outlook)
  })
  await waiting.add(record.payload.length, applied)
}

async function applyOrQuarantine(
  lsn: number,
  event: Exclude<Event, CatalogEvent>,
  collection: RecoveringCollection,
  /** Throws if there is no memory for the event. A start must not end for want of memory again and again. */
  checkMemory: () => void,
): Promise<void> {
  try {
    await applyEvent(lsn, event, collection, (change, replica) => {
      checkMemory()
      return replica.apply(lsn, change)
    })
  } catch (error) {
    await collection.quarantine(`record ${lsn} could not be applied: ${outOfServiceReason(error)}`)
  }
}

/** Applies an event to its collection, unless the state reflects it already. `change` applies what is not a rebuild. */
export async function applyEvent(
  lsn: number,
  event: Exclude<Event, CatalogEvent>,
  collection: RecoveringCollection,
  change: (event: ObjectEvent, replica: Replica) => Promise<unknown>,
): Promise<void> {
  const replica = collection.recovering
  // A snapshot may reflect records after the checkpoint's LSN.
  if (!replica || lsn <= replica.lsnApplied) return
  if (event.kind === 'collection-rebuilt') await collection.replayRebuild(lsn, event.fields)
  else await change(event, replica)
}

function readyWhenLast(lsn: number, collectionId: number, target: RecoveryTarget, outlook: Outlook): void {
  if (outlook.lsnLastOf.get(collectionId) === lsn) target.loaded(collectionId)?.ready()
}

/** Limits the events that are decoded and not yet applied. */
class Waiting {
  #bytes = 0
  readonly #all = new Set<Promise<void>>()
  #failure: unknown

  async add(bytes: number, applied: Promise<void>): Promise<void> {
    this.#bytes += bytes
    const settled: Promise<void> = applied
      .catch((error: unknown) => {
        this.#failure ??= error
      })
      .finally(() => {
        this.#bytes -= bytes
        this.#all.delete(settled)
      })
    this.#all.add(settled)
    while (this.#bytes > waitingBytesMax) await Promise.race(this.#all)
    if (this.#failure !== undefined) throw this.#failure
  }

  async drain(): Promise<void> {
    await Promise.all(this.#all)
    if (this.#failure !== undefined) throw this.#failure
  }
}
