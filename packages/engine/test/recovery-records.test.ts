// The survey and the replay of records, without an engine: which records reach which collection, in what order, when a collection is
// ready, what a failed record does, and how much is decoded ahead.
import { setImmediate } from 'node:timers/promises'
import type { Log, LogRecord, Lsn } from '@annal/wal'
import { test } from 'tap'
import { Catalog } from '../src/catalog/catalog.ts'
import { encodeEvent } from '../src/events/codec.ts'
import type { CatalogEvent, Event } from '../src/model/event.ts'
import { type RecoveringCollection, type RecoveryTarget, replay, survey } from '../src/recovery.ts'
import type { Replica } from '../src/replica/replica.ts'
import { WriteGate } from '../src/replica/write-gate.ts'
import { KeyTable } from '../src/requests/key-table.ts'

const mebibyte = 1024 * 1024

function created(collectionId: number, timeMs: number, databaseId = 1): Event {
  const hashSeed = { low: 1, high: 2 }
  return {
    kind: 'collection-created',
    timeMs,
    collectionId,
    databaseId,
    name: `c${collectionId}`,
    fields: [],
    hashSeed,
  }
}

function restored(collectionId: number, timeMs: number): Event {
  const image = { importId: `${collectionId}`, imageSha256: '', digest: '' }
  return {
    ...(created(collectionId, timeMs) as Extract<Event, { kind: 'collection-created' }>),
    ...image,
    kind: 'collection-restored',
  }
}

function deleted(collectionId: number, timeMs: number, bytes = 1): Event {
  return { kind: 'objects-deleted', timeMs, collectionId, ids: ['x'.repeat(bytes)] }
}

/** A log of these events by LSN. `onRead` is awaited before each record is handed out. */
function logOf(events: ReadonlyMap<number, Event>, onRead: (lsn: number) => unknown = () => undefined): Log {
  async function* read(from: number): AsyncGenerator<LogRecord> {
    for (const [lsn, event] of events) {
      if (lsn < from) continue
      await onRead(lsn)
      const { type, version, payload } = encodeEvent(event)
      yield { lsn: lsn as Lsn, type, version, payload: payload as Uint8Array }
    }
  }
  return { read } as unknown as Log
}

interface FakeCollection extends RecoveringCollection {
  readonly fail: Set<number>
}

class FakeTarget implements RecoveryTarget {
  readonly memory = { checkUnavoidable: () => undefined }
  readonly trace: string[] = []
  readonly catalog: Catalog
  readonly collections = new Map<number, FakeCollection>()
  /** Applies of a collection wait for it. */
  readonly holds = new Map<number, Promise<void>>()

  constructor(catalog = new Catalog()) {
    this.catalog = catalog
  }

  /** `lsnApplied` undefined: in quarantine. */
  add(id: number, lsnApplied: number | undefined): FakeCollection {
    const { trace } = this
    const fail = new Set<number>()
    const apply = async (lsn: number, what: string) => {
      await this.holds.get(id)
      await setImmediate()
      if (fail.has(lsn)) throw new Error(`cannot apply ${lsn}`)
      trace.push(`${id} ${what} ${lsn}`)
    }
    const replica = { lsnApplied, apply: (lsn: number, event: Event) => apply(lsn, event.kind) }
    const collection: FakeCollection = {
      fail,
      entry: { id } as RecoveringCollection['entry'],
      recovering: lsnApplied === undefined ? undefined : (replica as unknown as Replica),
      gate: new WriteGate(),
      ready: () => trace.push(`${id} ready`),
      replayRebuild: (lsn, fields) => apply(lsn, `rebuild of ${fields.length} fields`),
      quarantine: async (reason) => {
        await setImmediate()
        trace.push(`${id} quarantine: ${reason}`)
      },
    }
    this.collections.set(id, collection)
    return collection
  }

  loaded(id: number): RecoveringCollection | undefined {
    return this.collections.get(id)
  }

  async applyCatalog(lsn: number, event: CatalogEvent): Promise<void> {
    await setImmediate()
    this.catalog.apply(lsn, event)
    this.trace.push(`catalog ${event.kind} ${lsn}`)
    if (
      (event.kind === 'collection-created' || event.kind === 'collection-restored') &&
      !this.collections.has(event.collectionId)
    )
      this.add(event.collectionId, lsn)
  }

  readonly counted: [string, number][] = []
  applied(event: Event, bytes: number): void {
    this.counted.push([event.kind, bytes])
  }
}

function noKeys(): KeyTable {
  return new KeyTable({ max: 1, maxAgeMs: 1 })
}

async function recover(
  target: FakeTarget,
  events: ReadonlyMap<number, Event>,
  lsn = 1,
  onRead?: (lsn: number) => unknown,
) {
  const outlook = await survey(logOf(events), { lsn, timeMs: 0, catalog: target.catalog.state(), keys: noKeys() })
  const progress: [number, number][] = []
  await replay(logOf(events, onRead), target, lsn, outlook, (done, total) => progress.push([done, total]))
  return progress
}

test('a survey names the last record, the last time, and the last record of each collection, and knows the final catalog', async (t) => {
  const events = new Map<number, Event>([
    [3, created(1, 100)],
    [4, created(2, 300)],
    [6, deleted(1, 200)],
    [9, { kind: 'collection-dropped', timeMs: 250, collectionId: 2 }],
    [10, { kind: 'database-created', timeMs: 255, databaseId: 2, name: 'acme', type: 'pro' }],
    [11, created(8, 257, 2)],
    [12, { kind: 'database-dropped', timeMs: 260, databaseId: 2, collectionIds: [8] }],
    [13, deleted(1, 270)],
  ])
  const catalog = new Catalog().state()
  const found = await survey(logOf(events), { lsn: 3, timeMs: 50, catalog, keys: noKeys() })
  t.strictSame([found.lsnLast, found.timeMs, found.records], [13, 300, 8])
  t.strictSame(
    [...found.lsnLastOf],
    [
      [1, 13],
      [2, 9],
      [8, 12],
    ],
  )
  t.strictSame(
    found.catalog.state().collections.map(({ id }) => id),
    [1],
  )
  t.equal(found.catalog.lsn, 12)

  const none = await survey(logOf(events), { lsn: 20, timeMs: 777, catalog, keys: noKeys() })
  t.strictSame([none.lsnLast, none.timeMs, none.records, none.lsnLastOf.size], [19, 777, 0, 0])
})

test('a survey does not apply catalog records that the checkpoint reflects already', async (t) => {
  const events = new Map<number, Event>([
    [3, created(1, 100)],
    [4, created(2, 100)],
  ])
  const before = new Catalog()
  before.apply(3, created(1, 100) as CatalogEvent)
  const found = await survey(logOf(events), { lsn: 3, timeMs: 0, catalog: before.state(), keys: noKeys() })
  t.strictSame(
    found.catalog.state().collections.map(({ id }) => id),
    [1, 2],
  )
})

test('a replay applies records in order and reports collections as ready with their last record', async (t) => {
  const target = new FakeTarget()
  const events = new Map<number, Event>([
    [1, created(1, 1)],
    [2, restored(9, 1)],
    [3, deleted(1, 2)],
    [5, { kind: 'collection-rebuilt', timeMs: 3, collectionId: 1, fields: [] }],
    [6, { kind: 'setting-put', timeMs: 4, key: 'k', value: 'v' }],
    [7, created(3, 5)],
    [8, deleted(3, 6)],
  ])
  const progress = await recover(target, events)
  const linesOf = (part: string) => target.trace.filter((line) => line.startsWith(part))
  t.strictSame(linesOf('catalog'), [
    'catalog collection-created 1',
    'catalog collection-restored 2',
    'catalog setting-put 6',
    'catalog collection-created 7',
  ])
  t.strictSame(linesOf('1 '), ['1 objects-deleted 3', '1 rebuild of 0 fields 5', '1 ready'])
  t.strictSame(linesOf('3 '), ['3 objects-deleted 8', '3 ready'])
  const at = (line: string) => target.trace.indexOf(line)
  t.ok(at('catalog collection-restored 2') < at('9 ready'), 'a collection without records is ready when it exists')
  t.equal(target.trace.filter((line) => line.endsWith('ready')).length, 3, 'each once')
  t.strictSame(
    progress,
    [1, 2, 3, 4, 5, 6, 7].map((done) => [done, 7]),
  )
  t.strictSame(
    target.counted,
    [...events.values()].map((event) => [event.kind, encodeEvent(event).payload.length]),
  )
})

test('a replay ends when everything is applied, and reads nothing when there is nothing', async (t) => {
  const release = Promise.withResolvers<void>()
  const catalog = new Catalog({ ...new Catalog().state(), nextCollectionId: 2 })
  const held = new FakeTarget(catalog)
  held.add(1, 0)
  held.holds.set(1, release.promise)
  let isOver = false
  const running = recover(held, new Map([[1, deleted(1, 1)]])).then(() => {
    isOver = true
  })
  for (let i = 0; i < 10; i++) await setImmediate()
  t.notOk(isOver)
  release.resolve()
  await running
  t.strictSame(held.trace, ['1 objects-deleted 1', '1 ready'])

  const outlook = await survey(logOf(new Map()), { lsn: 5, timeMs: 0, catalog: catalog.state(), keys: noKeys() })
  const unread = { read: () => t.fail('the log is read') } as unknown as Log
  await replay(unread, held, 5, outlook, () => t.fail('progress of nothing'))
})

test('records that the catalog or a snapshot reflects already are not applied again', async (t) => {
  const catalog = new Catalog()
  catalog.apply(1, created(1, 1) as CatalogEvent)
  catalog.apply(2, created(2, 1) as CatalogEvent)
  const target = new FakeTarget(catalog)
  target.add(1, 4)
  target.add(2, undefined)
  const events = new Map<number, Event>([
    [1, created(1, 1)],
    [2, created(2, 1)],
    [3, deleted(1, 2)],
    [4, deleted(1, 2)],
    [5, deleted(1, 2)],
    [6, deleted(2, 2)],
  ])
  await recover(target, events)
  t.strictSame(target.trace.toSorted(), ['1 objects-deleted 5', '1 ready', '2 ready'])
})

test('a record of a collection that was deleted later is passed over, one of a collection that never existed stops the start', async (t) => {
  const catalog = new Catalog({ ...new Catalog().state(), nextCollectionId: 5 })
  await recover(new FakeTarget(catalog), new Map([[1, deleted(4, 1)]]))
  await t.rejects(recover(new FakeTarget(catalog), new Map([[1, deleted(5, 1)]])), /record 1 is for a collection/)
  const later = new FakeTarget(catalog)
  later.add(7, 0)
  await recover(later, new Map([[1, deleted(7, 1)]]))
  t.strictSame(later.trace, ['7 objects-deleted 1', '7 ready'], 'a loaded collection exists')
})

test('a record that cannot be applied puts its collection in quarantine, and the others continue', async (t) => {
  const catalog = new Catalog({ ...new Catalog().state(), nextCollectionId: 3 })
  const target = new FakeTarget(catalog)
  target.add(1, 0).fail.add(2)
  target.add(2, 0)
  const events = new Map<number, Event>([
    [2, deleted(1, 1)],
    [3, deleted(2, 1)],
  ])
  await recover(target, events)
  t.strictSame(
    target.trace.filter((line) => line.startsWith('1 ')),
    ['1 quarantine: record 2 could not be applied: cannot apply 2', '1 ready'],
  )
  t.strictSame(
    target.trace.filter((line) => line.startsWith('2 ')),
    ['2 objects-deleted 3', '2 ready'],
  )
})

test('a rebuild that cannot be repeated puts its collection in quarantine', async (t) => {
  const target = new FakeTarget(new Catalog({ ...new Catalog().state(), nextCollectionId: 3 }))
  target.add(1, 0).fail.add(2)
  const fields = [{ kind: 'sparse', name: 's', params: { model: 'default', dimension: 9 } }] as const
  await recover(
    target,
    new Map<number, Event>([
      [1, { kind: 'collection-rebuilt', timeMs: 1, collectionId: 1, fields }],
      [2, { kind: 'collection-rebuilt', timeMs: 1, collectionId: 1, fields }],
    ]),
  )
  t.strictSame(target.trace, [
    '1 rebuild of 1 fields 1',
    '1 quarantine: record 2 could not be applied: cannot apply 2',
    '1 ready',
  ])
})

test('an error that is not of one record ends the replay, at once', async (t) => {
  for (const last of [1, 50]) {
    const target = new FakeTarget(new Catalog({ ...new Catalog().state(), nextCollectionId: 3 }))
    const collection = target.add(1, 0)
    collection.fail.add(1)
    Object.assign(collection, { quarantine: async () => Promise.reject(new Error('not even that')) })
    const events = new Map<number, Event>()
    for (let lsn = 1; lsn <= last; lsn++) events.set(lsn, deleted(1, 1))
    let read = 0
    const onRead = async (lsn: number) => {
      read = lsn
      for (let i = 0; i < 5; i++) await setImmediate()
    }
    await t.rejects(recover(target, events, 1, onRead), /not even that/)
    t.ok(read < 10, `${read} records were read`)
  }
})

test('at most 64 MiB of records wait to be applied', async (t) => {
  const target = new FakeTarget(new Catalog({ ...new Catalog().state(), nextCollectionId: 3 }))
  target.add(1, 0)
  target.add(2, 0)
  // A small record of another collection, sixteen records of exactly 4 MiB, and small ones after them.
  const size = 4 * mebibyte
  const head = encodeEvent(deleted(1, 1, size)).payload.length - size
  t.equal(encodeEvent(deleted(1, 1, size - head)).payload.length, size)
  const events = new Map<number, Event>([[1, deleted(2, 1)]])
  for (let lsn = 2; lsn <= 30; lsn++) events.set(lsn, deleted(1, 1, lsn <= 17 ? size - head : 1))
  const release = Promise.withResolvers<void>()
  target.holds.set(1, release.promise)
  const read: number[] = []
  const running = recover(target, events, 1, (lsn) => read.push(lsn))
  for (let i = 0; i < 100; i++) await setImmediate()
  t.strictSame(target.trace, ['2 objects-deleted 1', '2 ready'])
  t.equal(read.at(-1), 18, '16 records are 64 MiB exactly, and one more is too many')
  release.resolve()
  await running
  t.equal(target.trace.filter((line) => line.startsWith('1 objects-deleted')).length, 29)
})
