// Expiry over replays, checkpoints, backups, clones, branches, moments of the past, and in the change feed.
import type { AsOf, Change, Collection, Database } from '@annal/engine'
import { test } from 'tap'
import { backedUp } from '../backup/rig.ts'
import { denseField } from '../search/rig.ts'
import { at, hourMs, openAt, openThings, until } from './rig.ts'

async function idsOf(database: Database, name: string): Promise<string[]> {
  const collection = database.collection(name)
  await collection.served()
  return (await collection.scroll({})).objects.map(({ id }) => id)
}

async function fill(things: Collection): Promise<void> {
  await things.upsert([
    { id: 'a', fields: at(0), filter: { n: 1 }, ttlSeconds: 60 },
    { id: 'b', fields: at(1), filter: { n: 2 }, ttlSeconds: 120 },
    { id: 'c', fields: at(2), filter: { n: 3 } },
  ])
}

test('a replay and a checkpoint give the same digest, whatever the clock says', async (t) => {
  const { clock, dataDir, engine, things } = await openThings(t, { keepLog: true })
  await fill(things)
  await things.updateFilters([{ id: 'b', filter: { n: 7 } }])
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 2)
  await things.upsert([{ id: 'd', fields: at(3), ttlSeconds: 60 }])
  clock.ms += 60_000
  await things.patch([{ id: 'c', ttlSeconds: 10 }])
  const digest = things.stateDigest()
  await engine.close()
  for (const ms of [clock.ms, clock.ms - 1_000 * hourMs, clock.ms + 1_000 * hourMs]) {
    clock.ms = ms
    const again = await openAt(clock, dataDir)
    t.equal(again.database().collection('things').stateDigest(), digest)
    await again.close()
  }
})

test('clones, branches, and restores keep the expiry of their moment, or none', async (t) => {
  const { clock, dataDir, engine, things } = await openThings(t, { archive: { maxBytes: 1e9, maxAgeMs: 1e9 } })
  const database = engine.database()
  await fill(things)
  const { lsn } = things.describe()
  await backedUp(database, 'things', 'before')
  await database.backups.clone('things', 'cloned')
  await database.collection('cloned').served()
  t.equal(database.collection('cloned').stateDigest(), things.stateDigest())
  t.strictSame(await idsOf(database, 'cloned'), ['a', 'b', 'c'])
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 4)
  t.strictSame(await idsOf(database, 'things'), ['c'])
  t.strictSame(await idsOf(database, 'cloned'), ['c'])
  await database.backups.restore('before', 'restored')
  await database.backups.restorePast('things', 'past', { lsn })
  await database.branch('things', { name: 'branched', asOf: { lsn } })
  for (const name of ['restored', 'past', 'branched']) t.strictSame(await idsOf(database, name), ['c'], name)
  const keepExpired = true
  await database.backups.restore('before', 'restored_whole', undefined, { keepExpired })
  await database.backups.restorePast('things', 'past_whole', { lsn }, { keepExpired })
  await database.branch('things', { name: 'branched_whole', asOf: { lsn } }, { keepExpired })
  // Nothing more is deleted for an hour.
  clock.ms += hourMs
  await until(() => engine.stats().expiry.clockJumps === 1)
  const again = await things.upsert([{ id: 'x', fields: at(9), ttlSeconds: 1 }])
  clock.ms += 1_000
  await database.backups.clone('things', 'cloned_whole', { keepExpired })
  await database.backups.clone('restored_whole', 'twice')
  const whole = ['restored_whole', 'past_whole', 'branched_whole', 'twice']
  const check = async (read: Database, what: string) => {
    for (const name of whole) t.strictSame(await idsOf(read, name), ['a', 'b', 'c'], `${name} ${what}`)
    t.strictSame(await idsOf(read, 'cloned_whole'), ['c', 'x'], what)
    t.equal((await read.collection('past_whole').get('a'))?.expiresAt, undefined)
    t.strictSame((await read.collection('past_whole').get('a'))?.filter, { n: 1 })
  }
  await check(database, 'at once')
  t.ok(again.lsn > lsn)
  await t.rejects(database.backups.clone('things', 'y', { keepExpired: 1 as never }), {
    code: 'invalid_argument',
    details: { field: 'keepExpired' },
  })
  const digests = whole.map((name) => database.collection(name).stateDigest())
  await engine.close()
  for (const what of ['after a start', 'after another one']) {
    const reopened = await openAt(clock, dataDir)
    await check(reopened.database(), what)
    t.strictSame(
      whole.map((name) => reopened.database().collection(name).stateDigest()),
      digests,
    )
    await reopened.close()
  }
})

test('reads of the past hide what had expired by their moment', async (t) => {
  const { clock, engine, things } = await openThings(t, { fsync: 'always' })
  const database = engine.database()
  const start = clock.ms
  await fill(things)
  clock.pass(30_000)
  const first = await things.upsert([{ id: 'd', fields: at(3) }])
  clock.pass(60_000)
  const second = await things.upsert([{ id: 'e', fields: at(4) }])
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 2)
  const read = async (asOf: Parameters<Database['asOf']>[1]) => {
    const past = await database.asOf('things', asOf)
    const { objects } = await past.scroll({})
    const ids = objects.map(({ id }) => id)
    t.equal((await past.count()).count, ids.length)
    const { results } = await past.search({ fields: { dense: { query: [0, 0, 0, 0], limit: 9 } } })
    t.strictSame(results.dense?.map(({ id }) => id).sort(), ids)
    t.strictSame((await past.getMany(['a', 'b', 'c', 'd', 'e'])).map(({ id }) => id).sort(), ids)
    return ids
  }
  for (let i = 0; i < 2; i++) {
    t.strictSame(await read({ lsn: first.lsn }), ['a', 'b', 'c', 'd'])
    t.strictSame(await read({ lsn: second.lsn }), ['b', 'c', 'd', 'e'])
    t.strictSame(await read({ lsn: second.lsn, keepExpired: true }), ['a', 'b', 'c', 'd', 'e'])
    t.strictSame(await read({ time: new Date(start + 59_999) }), ['a', 'b', 'c', 'd'])
    t.strictSame(await read({ time: new Date(start + 60_000) }), ['b', 'c', 'd'])
    t.strictSame(await read({ time: new Date(start + 119_999) }), ['b', 'c', 'd', 'e'])
    t.strictSame(await read({ time: new Date(start + 120_000) }), ['c', 'd', 'e'])
  }
  await t.rejects(database.asOf('things', { lsn: first.lsn, keepExpired: 'yes' as never }), {
    code: 'invalid_argument',
    details: { field: 'as_of.keep_expired' },
  })
})

test('an undo gives objects the expiry of their moment, or none', async (t) => {
  const { clock, dataDir, engine, things } = await openThings(t, { fsync: 'always', keepLog: true })
  const database = engine.database()
  await things.upsert([{ id: 'a', fields: at(0), filter: { n: 1 }, ttlSeconds: 60 }])
  await things.upsert([{ id: 'b', fields: at(1), filter: { n: 2 }, ttlSeconds: 3 * 3_600 }])
  const { lsn } = await things.upsert([{ id: 'c', fields: at(2), filter: { n: 3 } }])
  const expiresAt = (await things.get('b'))?.expiresAt
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 1)
  await things.patch([
    { id: 'b', expiresAt: null },
    { id: 'c', filter: { n: 4 } },
  ])
  const request = { collection: 'things', ids: ['a', 'b', 'c'], asOf: { lsn } }
  // The clock jumps, so that nothing is deleted for an hour.
  clock.ms += 1
  t.match(await database.history.undo({ ...request, dryRun: true }), { restored: 3, deleted: 0 })
  await database.history.undo(request)
  t.equal(await things.get('a'), undefined, 'it had expired since')
  t.equal((await things.get('b'))?.expiresAt, expiresAt)
  t.strictSame((await things.get('c'))?.filter, { n: 3 })
  // b was not changed since the first undo, but for the second one it has an expiry to take.
  const again = { ...request, asOf: { lsn: engine.lsnApplied }, ids: ['b', 'c'], keepExpired: true }
  t.match(await database.history.undo({ ...again, dryRun: true }), { restored: 1 })
  t.match(await database.history.undo({ ...again, keepExpired: false, dryRun: true }), { restored: 0 })
  const done = await database.history.undo({ ...request, keepExpired: true }, { requestKey: 'kept' })
  t.match(done, { restored: 3, deleted: 0 })
  t.strictSame(await database.history.undo({ ...request, keepExpired: true }, { requestKey: 'kept' }), done)
  await t.rejects(database.history.undo(request, { requestKey: 'kept' }), { code: 'request_key_reused' })
  clock.pass(10 * hourMs)
  t.strictSame(await idsOf(database, 'things'), ['a', 'b', 'c'])
  for (const id of ['a', 'b', 'c']) t.equal((await things.get(id))?.expiresAt, undefined, id)
  t.strictSame((await things.get('a'))?.filter, { n: 1 })
  const digest = things.stateDigest()
  await engine.close()
  const reopened = await openAt(clock, dataDir)
  t.equal(reopened.database().collection('things').stateDigest(), digest)
  t.strictSame(await idsOf(reopened.database(), 'things'), ['a', 'b', 'c'])
  await reopened.close()
})

test('the history of what expired in a branch begins with an earlier version', async (t) => {
  const { clock, engine, things } = await openThings(t, { fsync: 'always', keepLog: true })
  const database = engine.database()
  await fill(things)
  const { lsn } = await database.branch('things', { name: 'branched' })
  await database.collection('branched').served()
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 4)
  const { versions } = await database.history.versions({ collection: 'branched', id: 'a' })
  t.match(versions, [
    { kind: 'earlier', exists: true },
    { kind: 'expired', exists: false },
  ])
  t.equal(versions[0]?.lsn, (versions[1]?.lsn ?? 0) - 1)
  t.ok((versions[1]?.lsn ?? 0) > lsn)
})

test('a moment that a later checkpoint answers for hides what had expired by it', async (t) => {
  const options = { fsync: 'always', keepLog: true, asOf: { windowSeconds: 0 } } as const
  const { clock, dataDir, engine, things } = await openThings(t, options)
  const other = await engine.database().createCollection({ name: 'other', fields: [denseField(4)] })
  await fill(things)
  clock.pass(90_000)
  await things.upsert([{ id: 'd', fields: at(3) }])
  const { lsn } = things.describe()
  const time = clock.ms
  clock.pass(90_000)
  await other.upsert([{ id: 'x', fields: { dense: [1, 0, 0, 0] } }])
  // The only checkpoint is after the moment, and the collection was not written since.
  await engine.close()
  const reopened = await openAt(clock, dataDir, options)
  t.teardown(() => reopened.close())
  for (let i = 0; i < 2; i++) {
    const past = await reopened.database().asOf('things', { lsn })
    t.strictSame(past.asOf, { lsn, timeMs: time })
    t.strictSame(
      (await past.scroll({})).objects.map(({ id }) => id),
      ['b', 'c', 'd'],
    )
  }
  const whole = await reopened.database().asOf('things', { lsn, keepExpired: true })
  t.equal((await whole.count()).count, 4)
})

test('the change feed delivers expiries, and objects that have expired', async (t) => {
  const { clock, engine, things } = await openThings(t, { fsync: 'always' })
  const start = clock.ms
  await fill(things)
  clock.pass(hourMs)
  await until(() => engine.stats().expiry.deleted === 2)
  const seen: Change[] = []
  for await (const change of engine.database().changes({ from: 1, collections: ['things'] })) {
    seen.push(change)
    if (seen.length === 3) break
  }
  t.match(seen[1], {
    kind: 'objects-upserted',
    objects: [
      { id: 'a', filter: { n: 1 }, expiresAt: start + 60_000 },
      { id: 'b', filter: { n: 2 }, expiresAt: start + 120_000 },
      { id: 'c', filter: { n: 3 } },
    ],
  })
  t.match(seen[2], { kind: 'objects-expired', deleted: ['a', 'b'] })
  const only: Change[] = []
  const filter = [{ n: { $eq: 1 } }]
  for await (const change of engine.database().changes({ from: 1, kinds: ['objects-expired'], filter })) {
    only.push(change)
    break
  }
  t.match(only, [{ kind: 'objects-expired', left: ['a', 'b'] }])
})

test('more objects than one record takes are deleted by several', async (t) => {
  const { clock, engine, things } = await openThings(t, { limits: { batchMax: 10_000 } })
  const objects = Array.from({ length: 10_001 }, (_, n) => ({
    id: `${n}`,
    fields: { words: { indices: [1], values: [1] } },
    ttlSeconds: 60,
  }))
  await things.upsert(objects.slice(0, 6_000))
  await things.upsert(objects.slice(6_000))
  const { lsn } = things.describe()
  clock.pass(hourMs)
  t.equal(things.count().count, 0)
  await until(() => engine.stats().expiry.deleted === 10_001)
  t.ok(things.describe().lsn >= lsn + 2)
  t.equal(engine.stats().expiry.hidden, 0)
})

test('every page of the past is as of the moment of the first one', async (t) => {
  const archive = { maxBytes: 1e9, maxAgeMs: 1e9 }
  const { clock, engine, things } = await openThings(t, { archive, fsync: 'always' })
  const objects = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, n) => ({
    id,
    fields: at(n),
    ...(n % 2 === 1 && { ttlSeconds: 60 }),
  }))
  const { lsn } = await things.upsert(objects)
  const whole = ['a', 'b', 'c', 'd', 'e', 'f']
  const unexpired = ['a', 'c', 'e']
  // No record is between these times.
  const early = new Date(clock.ms + 30_000)
  const late = new Date(clock.ms + 90_000)
  clock.ms += 120_000
  const idsOfPages = async (asOf: AsOf, isRepeated: boolean) => {
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await things.scroll({ limit: 1, ...(cursor ? { cursor } : { asOf }), ...(isRepeated && { asOf }) })
      t.equal(page.asOf?.lsn, lsn)
      if ('time' in asOf) t.equal(page.asOf?.timeMs, Number(asOf.time))
      ids.push(...page.objects.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids
  }
  for (const isRepeated of [false, true]) {
    t.strictSame(await idsOfPages({ lsn }, isRepeated), whole, 'as of the record')
    t.strictSame(await idsOfPages({ time: early }, isRepeated), whole)
    t.strictSame(await idsOfPages({ time: late }, isRepeated), unexpired)
    t.strictSame(await idsOfPages({ time: late, keepExpired: true }, isRepeated), whole)
  }
  t.equal(engine.lsnApplied, lsn)
  const { cursor = '' } = await things.scroll({ limit: 1, asOf: { time: late } })
  const earlier = cursor.replace(/^(t[^.]+)\.[^.]+/, '$1')
  t.not(earlier, cursor)
  const rest = await things.scroll({ cursor: earlier })
  t.strictSame(
    rest.objects.map(({ id }) => id),
    whole.slice(1),
    'a cursor of an earlier version: as of the record',
  )
})
