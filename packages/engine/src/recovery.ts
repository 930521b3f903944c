// Brings the engine's state to the end of the log: replays the records after the checkpoint, in order, each collection's
// events through its own queue so that collections are rebuilt side by side.
import type { Log, LogRecord, Lsn } from '@annal/wal'
import type { Catalog } from './catalog/catalog.ts'
import { assert } from './errors.ts'
import { decodeEvent } from './events/codec.ts'
import type { CatalogEvent, Event } from './events/event.ts'
import type { Replica } from './replica/replica.ts'
import type { WriteGate } from './replica/write-gate.ts'

/** Decoded events waiting to be applied; memory during replay does not grow with the log. */
const waitingBytesMax = 64 * 1024 * 1024

export interface RecoveryTarget {
  readonly catalog: Catalog
  collection(id: number): { readonly replica: Replica; readonly gate: WriteGate } | undefined
  applyCatalog(lsn: number, event: CatalogEvent): Promise<void>
}

export interface Recovered {
  readonly lsn: number
  readonly timeMs: number
  readonly records: number
}

/** Applies every record after `from.lsn`. Throws what apply throws: a log that cannot be applied must not be served. */
export async function replay(
  log: Log,
  target: RecoveryTarget,
  from: { readonly lsn: number; readonly timeMs: number },
  onProgress: (done: number, total: number) => void,
): Promise<Recovered> {
  const total = log.state().lsnLast - from.lsn
  // Ids below it were given out before the checkpoint: one that is missing now was dropped later in the log.
  const nextCollectionId = target.catalog.nextCollectionId
  const waiting = new Waiting()
  let recovered: Recovered = { lsn: from.lsn, timeMs: from.timeMs, records: 0 }
  for await (const record of log.read((from.lsn + 1) as Lsn)) {
    const event = decodeEvent(record)
    await dispatch(record, event, target, nextCollectionId, waiting)
    recovered = { lsn: record.lsn, timeMs: Math.max(recovered.timeMs, event.timeMs), records: recovered.records + 1 }
    onProgress(record.lsn - from.lsn, total)
  }
  await waiting.drain()
  return recovered
}

async function dispatch(
  record: LogRecord,
  event: Event,
  target: RecoveryTarget,
  nextCollectionId: number,
  waiting: Waiting,
): Promise<void> {
  if (event.kind === 'collection-created' || event.kind === 'collection-dropped') {
    if (event.kind === 'collection-dropped' && !target.catalog.byId(event.collectionId)) return
    await target.applyCatalog(record.lsn, event)
    return
  }
  const collection = target.collection(event.collectionId)
  if (!collection) {
    assert(
      event.collectionId < nextCollectionId,
      `record ${record.lsn} is for collection ${event.collectionId}, which was never created`,
    )
    return
  }
  const { replica, gate } = collection
  if (gate.pending.events === 0 && record.lsn <= replica.lsnApplied) return
  await waiting.add(
    record.payload.length,
    gate.queue(record.payload.length, async () => {
      // A snapshot may reflect records after the checkpoint's LSN.
      if (record.lsn > replica.lsnApplied) await replica.apply(record.lsn, event)
    }),
  )
}

/** Bounds what is decoded and not yet applied, and keeps the first failure. */
class Waiting {
  #bytes = 0
  #failure: unknown
  readonly #all = new Set<Promise<void>>()

  async add(bytes: number, applied: Promise<void>): Promise<void> {
    this.#bytes += bytes
    const done = applied.then(
      () => undefined,
      (error) => {
        this.#failure ??= error
      },
    )
    const settled = done.finally(() => {
      this.#bytes -= bytes
      this.#all.delete(settled)
    })
    this.#all.add(settled)
    while (this.#bytes > waitingBytesMax && this.#failure === undefined) await Promise.race(this.#all)
    if (this.#failure !== undefined) throw this.#failure
  }

  async drain(): Promise<void> {
    await Promise.all(this.#all)
    if (this.#failure !== undefined) throw this.#failure
  }
}
