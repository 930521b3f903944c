// The change feed against the log: for random requests, every record once, in order, and as an independent reading of the log has it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, ChangeBatch, ChangesRequest, Database, Engine, RecordedChange } from '@annal/engine'
import { nodeVfs, readHistory, readIdentity } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { historyOf } from '../../src/backup/archive.ts'
import { decodeEvent } from '../../src/events/codec.ts'
import type { JsonObject } from '../../src/model/json.ts'
import { denseField, openedEngine, runRandomLife, someVector, temporaryDirectory } from '../backup/rig.ts'
import { holds } from '../filter/naive.ts'

const seed = chosenSeed()
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }

/** Reads batches until one reaches an LSN. */
async function changesUpTo(database: Database, lsnLast: number, request: ChangesRequest): Promise<Change[]> {
  const changes: Change[] = []
  if ((request.from ?? 0) > lsnLast) return changes
  for await (const batch of database.changes(request).batches()) {
    changes.push(...batch.changes)
    if (batch.lsn >= lsnLast) break
  }
  return changes
}

interface Recorded {
  readonly lsn: number
  readonly kind: string
  readonly collection: string
  readonly written: readonly { readonly id: string; readonly filter: JsonObject }[]
  readonly gone: readonly string[]
}

/** Reads the log without the feed. */
async function recordsOf(engine: Engine & { readonly dataDir: string }, database: string): Promise<Recorded[]> {
  const vfs = nodeVfs()
  const identity = await readIdentity({ vfs, dir: engine.dataDir })
  const place = historyOf({ vfs, dataDir: engine.dataDir }, identity as NonNullable<typeof identity>)
  const names = new Map<number, string>()
  const ids = new Map([['default', 1]])
  const recorded: Recorded[] = []
  for await (const record of readHistory(place, { from: 1, to: engine.lsnDurable })) {
    const event = decodeEvent(record)
    if (event.kind === 'database-created') ids.set(event.name, event.databaseId)
    if (
      (event.kind === 'collection-created' || event.kind === 'collection-restored') &&
      event.databaseId === ids.get(database)
    )
      names.set(event.collectionId, event.name)
    if (!('collectionId' in event)) continue
    const collection = names.get(event.collectionId)
    if (collection === undefined) continue
    const filters = 'filters' in event ? event.filters : []
    recorded.push({
      ...{ lsn: record.lsn, kind: event.kind, collection },
      written: filters.map((text, i) => ({
        id: ('ids' in event ? event.ids[i] : undefined) as string,
        filter: text === '' ? {} : (JSON.parse(text) as JsonObject),
      })),
      gone: 'ids' in event && !('filters' in event) ? event.ids : [],
    })
  }
  return recorded
}

function wantedOf(recorded: readonly Recorded[], { from = 1, collections, kinds, filter }: ChangesRequest): unknown[] {
  const conditions = filter as JsonObject[] | undefined
  return recorded
    .filter(({ lsn }) => lsn >= from)
    .filter(({ collection }) => collections === undefined || collections.includes(collection))
    .filter(({ kind }) => kinds === undefined || (kinds as readonly string[]).includes(kind))
    .map(({ lsn, kind, collection, written, gone }) => {
      const head = { lsn, kind, collection }
      const isWrite = kind === 'objects-upserted' || kind === 'filters-replaced'
      if (conditions === undefined) {
        if (isWrite) return { ...head, objects: written }
        return gone.length > 0 ? { ...head, deleted: gone } : head
      }
      if (!isWrite) return gone.length > 0 ? { ...head, left: gone } : head
      const objects = written.filter((object) => holds(conditions, object.filter))
      const left = written.filter((object) => !holds(conditions, object.filter)).map(({ id }) => id)
      return { ...head, objects, left }
    })
}

function seen(change: Change): unknown {
  const { timeMs: _, ...rest } = change as RecordedChange
  if (rest.objects === undefined) return rest
  return { ...rest, objects: rest.objects.map(({ id, filter }) => ({ id, filter })) }
}

function randomRequest(random: Random, lsnLast: number): ChangesRequest {
  const collections = random.chance(0.4) ? [random.chance(0.5) ? 'a' : 'gone'] : undefined
  const kinds = random.chance(0.3) ? (['objects-upserted', 'objects-deleted'] as const) : undefined
  const filters = [
    [{ n: { $lt: random.below(9) } }],
    [{ m: { $eq: random.below(3) } }, { n: { $in: [1, 2, random.below(9)] } }],
    [{ $or: [{ n: { $eq: random.below(9) } }, { $not: { m: { $exists: true } } }] }],
    [],
  ]
  const filter = random.chance(0.6) ? filters[random.below(filters.length)] : undefined
  return { from: 1 + random.below(lsnLast), collections, kinds, filter } as ChangesRequest
}

test(`random requests get what the log says, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const dataDir = await temporaryDirectory(t)
  for (let round = 0; round < 3; round++) {
    const engine = await openedEngine(t, { dataDir, archive })
    const database = engine.database()
    if (round === 0) {
      await engine.control.createDatabase({ name: 'other' })
      await engine.database('other').createCollection({ name: 'a', fields: [denseField()] })
      await database.createCollection({ name: 'gone', fields: [denseField()] })
      await runRandomLife(database.collection('gone'), random, 8)
      await database.createCollection({ name: 'a', fields: [denseField(), { name: 's', type: 'sparse' }] })
    }
    await runRandomLife(database.collection('a'), random, 20)
    if (round === 1) await database.deleteCollection('gone')
    await runRandomLife(engine.database('other').collection('a'), random, 5)
    await engine.checkpoint()
    await engine.close()
  }
  const engine = await openedEngine(t, { dataDir, archive })
  const database = engine.database()
  const lsnLast = engine.lsnApplied
  const recorded = await recordsOf(engine, 'default')
  for (let i = 0; i < 60; i++) {
    const request = randomRequest(random, lsnLast)
    const changes = await changesUpTo(database, lsnLast, request)
    t.strictSame(changes.map(seen), wantedOf(recorded, request), JSON.stringify(request))
  }
  const other = await changesUpTo(engine.database('other'), lsnLast, { from: 1 })
  t.strictSame(other.map(seen), wantedOf(await recordsOf(engine, 'other'), {}), 'a database sees its own changes')
})

/** Two writers may choose to rebuild at the same time. */
function unlessRebuilding(error: { readonly code?: unknown }): void {
  if (error.code !== 'rebuild_running') throw error
}

test('consumers that come, go and pause under load miss nothing', async (t) => {
  const random = seededRandom(seed)
  const engine = await openedEngine(t, { fsync: random.chance(0.5) ? 'always' : 'interval' })
  const database = engine.database()
  const collection = await database.createCollection({ name: 'a', fields: [denseField()] })
  const from = engine.lsnApplied
  let isWriting = true
  const writing = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let i = 0; i < 80; i++) await runRandomLife(collection, random, 1).catch(unlessRebuilding)
    }),
  ).finally(() => {
    isWriting = false
  })
  const consumers = Array.from({ length: 6 }, async (_, i) => {
    const got: Change[] = []
    let lsn = from - 1
    while (isWriting || lsn < engine.lsnApplied) {
      const batches = database.changes({ from: lsn + 1, includeVectors: i % 2 === 0 }).batches()
      for await (const batch of batches) {
        if (batch.lsn < lsn || batch.lsn > engine.lsnDurable)
          t.fail(`${lsn}, then ${batch.lsn} of ${engine.lsnDurable}`)
        got.push(...batch.changes)
        lsn = batch.lsn
        if (random.chance(0.3)) await sleep(random.below(20))
        if (random.chance(0.2) || (!isWriting && lsn >= engine.lsnApplied)) break
      }
    }
    return got
  })
  await writing
  const all = await Promise.all(consumers)
  const wanted = wantedOf(await recordsOf(engine, 'default'), { from })
  for (const got of all) t.strictSame(got.map(seen), wanted)
  t.match(engine.stats().feed, { consumers: 0, bytes: 0 }, 'without consumers no record stays in memory')
})

test('a consumer that begins again and again does not keep an engine from closing', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  const collection = await database.createCollection({ name: 'a', fields: [denseField()] })
  const consumer = (async () => {
    for (;;) for await (const batch of database.changes({ from: 1 }).batches()) t.ok(batch.lsn <= engine.lsnApplied)
  })()
  await collection.upsert([{ id: 'x', fields: { v: someVector(seededRandom(seed)) } }])
  await Promise.all([t.rejects(consumer, { code: 'closed' }), engine.close()])
})

test('a change has the name that its collection had then, and aliases and promotions are changes too', async (t) => {
  const dataDir = await temporaryDirectory(t)
  let engine = await openedEngine(t, { dataDir, archive })
  const film = (id: string) => ({ id, fields: { v: [1, 2, 3, 4, 5, 6, 7, 8] } })
  for (const name of ['films', 'trial'])
    await (await engine.database().createCollection({ name, fields: [denseField()] })).upsert([film(name)])
  const from = engine.lsnApplied + 1
  await engine.database().putAlias('live', 'films')
  await engine.database().promote('trial', { over: 'films', keepAs: 'old' })
  await engine
    .database()
    .collection('films')
    .upsert([film('after')])
  await engine.database().deleteAlias('live')
  const expected = [
    { kind: 'alias-put', collection: 'films', alias: 'live' },
    { kind: 'collection-promoted', collection: 'films', keptAs: 'old' },
    { kind: 'objects-upserted', collection: 'films' },
    { kind: 'alias-dropped', collection: 'films', alias: 'live' },
  ]
  const before = [
    { kind: 'collection-created', collection: 'films' },
    { kind: 'objects-upserted', collection: 'films' },
    { kind: 'collection-created', collection: 'trial' },
    { kind: 'objects-upserted', collection: 'trial' },
  ]
  for (let start = 0; start < 3; start++) {
    const { lsnApplied } = engine
    t.match(await changesUpTo(engine.database(), lsnApplied, { from }), expected)
    t.match(await changesUpTo(engine.database(), lsnApplied, { from: 1 }), [...before, ...expected])
    const films = await changesUpTo(engine.database(), lsnApplied, { from: 1, collections: ['films'] })
    t.match(films, [...before.slice(0, 2), ...expected])
    t.equal(films.length, 6)
    // What the names were is read from the log then.
    if (start === 1) {
      await engine.database().deleteCollection('films')
      await engine.database().deleteCollection('old')
      expected.push({ kind: 'collection-dropped', collection: 'films' })
      expected.push({ kind: 'collection-dropped', collection: 'old' })
      break
    }
    await engine.close()
    engine = await openedEngine(t, { dataDir, archive })
  }
  await engine.checkpoint()
  await engine.close()
  engine = await openedEngine(t, { dataDir, archive })
  t.match(await changesUpTo(engine.database(), engine.lsnApplied, { from }), expected)
})

test('consumers of the newest records share changes', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  const collection = await database.createCollection({ name: 'a', fields: [denseField()] })
  const iterators = Array.from({ length: 3 }, () => database.changes().batches()[Symbol.asyncIterator]())
  for (const iterator of iterators) t.match((await iterator.next()).value, { changes: [], lsn: engine.lsnApplied })
  const waiting = iterators.map((iterator) => iterator.next())
  const vector = someVector(seededRandom(seed))
  const { lsn } = await collection.upsert([{ id: 'x', meta: { a: 1 }, filter: { b: 2 }, fields: { v: vector } }])
  const [first, ...others] = (await Promise.all(waiting)).map(({ value }) => value as ChangeBatch)
  t.match(first, { lsn, changes: [{ lsn, kind: 'objects-upserted', collection: 'a' }] })
  const [change] = first?.changes ?? []
  t.strictSame((change as RecordedChange).objects, [{ id: 'x', meta: { a: 1 }, filter: { b: 2 } }])
  for (const other of others) t.equal(other, first, 'the same batch')
  for (const iterator of iterators) await iterator.return?.()
})

test('vectors are delivered as given', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  const fields = [
    denseField(),
    { name: 's', type: 'sparse' },
    { name: 'm', type: 'multi_vector', params: { dimension: 2 } },
  ] as const
  await database.createCollection({ name: 'a', fields })
  const collection = database.collection<string>('a')
  const v = [1, 2, 3, 4, 5, 6, 7, 8]
  const s = { indices: [3, 9], values: [0.5, 1.5] }
  const from = engine.lsnApplied + 1
  await collection.upsert([
    { id: 'x', fields: { s } },
    {
      id: 'y',
      fields: {
        v,
        m: [
          [1, 2],
          [3, 4],
        ],
      },
    },
  ])
  for (const isLate of [false, true]) {
    if (isLate) await engine.checkpoint()
    const [change] = await changesUpTo(database, engine.lsnApplied, { from, includeVectors: true })
    const [x, y] = (change as RecordedChange).objects ?? []
    t.strictSame(x?.fields, { s: { indices: Uint32Array.from(s.indices), values: Float32Array.from(s.values) } })
    const members = [Float32Array.of(1, 2), Float32Array.of(3, 4)]
    t.strictSame(y?.fields, { v: Float32Array.from(v), m: members })
  }
})

test('a place that is not held is refused by name', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const engine = await openedEngine(t, { dataDir })
  const database = engine.database()
  await database.createCollection({ name: 'a', fields: [denseField()] })
  const code = async (request: ChangesRequest) => {
    try {
      for await (const _ of database.changes(request).batches()) return 'delivered'
    } catch (error) {
      return (error as { readonly code?: string }).code
    }
    return 'ended'
  }
  t.equal(await code({ from: engine.lsnApplied + 1 }), 'delivered')
  t.equal(await code({ from: engine.lsnApplied + 1_000 }), 'feed_position_lost')
  t.throws(() => database.changes({ from: -1 }), { code: 'limit_exceeded', details: { field: 'from' } })
  t.throws(() => database.changes({ from: 0.5 }), { code: 'invalid_argument', details: { field: 'from' } })
  t.throws(() => database.changes({ kinds: ['x'] as never }), {
    code: 'invalid_argument',
    details: { field: 'kinds[0]' },
  })
  t.throws(() => database.changes({ kinds: [] }), { code: 'invalid_argument', details: { field: 'kinds' } })
  t.throws(() => database.changes({ collections: ['/'] }), {
    code: 'invalid_argument',
    details: { field: 'collections[0]' },
  })
  t.throws(() => database.changes({ filter: [{ a: { $no: 1 } }] as never }), { code: 'invalid_filter' })
  t.throws(() => database.changes({ includeVectors: 1 as never }), { code: 'invalid_argument' })
  const waiting = code({ from: engine.lsnApplied + 1 })
  await engine.close()
  t.equal(await waiting, 'delivered')
})

test('a stream ends with its signal, its database, and the engine', async (t) => {
  const engine = await openedEngine(t)
  await engine.control.createDatabase({ name: 'other' })
  const abort = new AbortController()
  const end = async (database: Database, signal?: AbortSignal) => {
    try {
      for await (const _ of database.changes({ signal }));
      return 'ended'
    } catch (error) {
      return (error as { readonly code?: string }).code
    }
  }
  const aborted = end(engine.database(), abort.signal)
  const dropped = end(engine.database('other'))
  const closed = end(engine.database())
  await sleep(20)
  abort.abort()
  t.equal(await aborted, 'ended')
  await engine.control.deleteDatabase('other')
  t.equal(await dropped, 'database_not_found')
  await engine.close()
  t.equal(await closed, 'ended')
})
