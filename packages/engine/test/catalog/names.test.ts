// Aliases, branches, and promotion: what is refused, what every thread sees, and that a restart changes nothing.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Database, type Engine, type EngineOptions, openEngine } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import { type Test, test } from 'tap'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 3, space_type: 'l2', precision: 'float32' } },
] as const

async function directory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-names-'))
  t.teardown(() => rm(dir, { recursive: true }))
  return join(dir, 'data')
}

async function open(t: Test, dataDir: string, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await openEngine({ dataDir, threads: 1, ...options })
  t.teardown(() => engine.close())
  return engine
}

/** A collection with one object that has its name. */
async function make(database: Database, name: string): Promise<void> {
  const collection = await database.createCollection({ name, fields })
  await collection.upsert([{ id: name, fields: { v: [1, 2, 3] } }])
}

async function idsOf(collection: Pick<Collection, 'search'>): Promise<string[]> {
  const { results } = await collection.search({ fields: { v: { query: [1, 2, 3] } } })
  return (results.v ?? []).map(({ id }) => id)
}

test('every call by name takes an alias, and a handle of an alias follows it', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  await make(database, 'two')
  const put = await database.putAlias('live', 'one')
  t.match(put, { name: 'live', collection: 'one', durable: true })
  t.match(database.aliases(), [{ name: 'live', collection: 'one', lsn: put.lsn }])
  const live = database.collection('live').withMetadata<{ a: number }>()
  const direct = database.collection('one')
  t.strictSame(await idsOf(live), ['one'])
  await live.upsert([{ id: 'more', meta: { a: 1 }, fields: { v: [1, 2, 3] } }])
  t.equal(direct.describe().objects, 2)
  t.equal(live.describe().name, 'one')
  const { lsn } = await database.putAlias('live', 'two')
  t.strictSame(await idsOf(live), ['two'])
  t.strictSame((await live.search({ fields: { v: { query: [1, 2, 3] } }, minLsn: lsn })).results.v?.[0]?.id, 'two')
  t.equal(
    (await live.searchBatch([{ fields: { v: { query: [1, 2, 3] } }, minLsn: lsn }]))[0]?.results.v?.[0]?.id,
    'two',
  )
  t.equal(direct.describe().name, 'one', 'a handle of a collection stays with it')
  await database.deleteAlias('live')
  t.throws(() => live.describe(), { code: 'collection_not_found' })
  t.throws(() => database.collection('live'), { code: 'collection_not_found' })
  t.strictSame(database.aliases(), [])
})

test('names that are taken, missing, or of an alias are refused, and nothing changes', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  await make(database, 'two')
  await database.putAlias('live', 'one')
  await t.rejects(database.putAlias('one', 'two'), { code: 'collection_exists', details: { value: 'one' } })
  await t.rejects(database.putAlias('next', 'live'), { code: 'invalid_argument', details: { field: 'collection' } })
  await t.rejects(database.putAlias('next', 'none'), { code: 'collection_not_found' })
  await t.rejects(database.putAlias('a/b', 'one'), { code: 'invalid_argument', details: { field: 'name' } })
  await t.rejects(database.createCollection({ name: 'live', fields }), { code: 'alias_exists' })
  await t.rejects(database.backups.clone('one', 'live'), { code: 'alias_exists' })
  await t.rejects(database.deleteAlias('none'), { code: 'alias_not_found' })
  await t.rejects(database.deleteAlias('one'), { code: 'alias_not_found' })
  const refused = { code: 'collection_has_aliases', details: { aliases: ['live'] } }
  await t.rejects(database.deleteCollection('one'), refused)
  await t.rejects(database.deleteCollection('live'), refused)
  const promote = database.promote.bind(database)
  await t.rejects(promote('two', { over: 'live', keepAs: 'old' }), {
    code: 'invalid_argument',
    details: { field: 'over' },
  })
  await t.rejects(promote('two', { over: 'two', keepAs: 'old' }), {
    code: 'invalid_argument',
    details: { field: 'over' },
  })
  await t.rejects(promote('two', { over: 'one', keepAs: 'live' }), { code: 'alias_exists' })
  await t.rejects(promote('two', { over: 'one', keepAs: 'one' }), { code: 'collection_exists' })
  await t.rejects(promote('two', { over: 'one', keepAs: '' }), {
    code: 'invalid_argument',
    details: { field: 'keep_as' },
  })
  await t.rejects(promote('none', { over: 'one', keepAs: 'old' }), { code: 'collection_not_found' })
  t.equal(database.collections().length, 2)
  t.match(database.aliases(), [{ name: 'live', collection: 'one' }])
})

test('a database has at most 1,000 aliases, and takes them along when it is deleted', async (t) => {
  const engine = await open(t, await directory(t))
  await engine.control.createDatabase({ name: 'acme' })
  const acme = engine.database('acme')
  await make(acme, 'one')
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => acme.putAlias(`a${i}`, 'one')))
  await t.rejects(acme.putAlias('more', 'one'), { code: 'limit_exceeded', details: { limit: 1_000 } })
  await acme.putAlias('a7', 'one')
  await engine.control.deleteDatabase('acme')
  await engine.control.createDatabase({ name: 'acme' })
  t.strictSame(engine.database('acme').aliases(), [])
  await make(engine.database('acme'), 'a7')
})

test('one of two concurrent calls for a name gets it', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  const outcomes = await Promise.allSettled([
    database.putAlias('x', 'one'),
    database.createCollection({ name: 'x', fields }),
    database.createCollection({ name: 'y', fields }),
    database.putAlias('y', 'one'),
  ])
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  const [deleted, put] = await Promise.allSettled([database.deleteCollection('y'), database.putAlias('z', 'y')])
  t.strictSame([deleted.status, put.status], ['fulfilled', 'rejected'])
})

test('a repetition with a request key changes nothing', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  await make(database, 'two')
  const first = await database.putAlias('live', 'one', { requestKey: 'k1' })
  await database.putAlias('live', 'two')
  t.strictSame(await database.putAlias('live', 'one', { requestKey: 'k1' }), first)
  t.match(database.aliases(), [{ collection: 'two' }])
  const branched = await database.branch('one', { name: 'b' }, { requestKey: 'k2' })
  t.match(await database.branch('one', { name: 'b' }, { requestKey: 'k2' }), branched)
  const promoted = await database.promote('b', { over: 'one', keepAs: 'old' }, { requestKey: 'k3' })
  t.match(await database.promote('b', { over: 'one', keepAs: 'old' }, { requestKey: 'k3' }), { lsn: promoted.lsn })
  await t.rejects(database.promote('b', { over: 'one', keepAs: 'older' }, { requestKey: 'k3' }), {
    code: 'request_key_reused',
  })
})

test('a promoted branch takes name and aliases in one event; handles stay with their collections', async (t) => {
  const dataDir = await directory(t)
  const engine = await open(t, dataDir)
  const database = engine.database()
  await make(database, 'live')
  await database.putAlias('app', 'live')
  const old = database.collection('live')
  const app = database.collection('app')
  const { contentLsn } = await database.branch('live', { name: 'trial' })
  const trial = database.collection('trial')
  await trial.served()
  await trial.upsert([{ id: 'new', fields: { v: [1, 2, 3] } }])
  await database.putAlias('staging', 'trial')
  await database.promote('trial', { over: 'live', keepAs: 'old' })
  t.strictSame((await idsOf(database.collection('live'))).sort(), ['live', 'new'])
  t.strictSame((await idsOf(app)).sort(), ['live', 'new'])
  t.strictSame(await idsOf(database.collection('old')), ['live'])
  t.strictSame([old.name, old.describe().name, trial.name, app.name], ['old', 'old', 'live', 'live'])
  t.throws(() => database.collection('trial'), { code: 'collection_not_found' })
  t.match(database.aliases(), [
    { name: 'app', collection: 'live' },
    { name: 'staging', collection: 'live' },
  ])
  t.match(database.branches('live'), [
    { id: 1, name: 'old', objects: 1 },
    { id: 2, name: 'live', parentId: 1, parentLsn: contentLsn, objects: 2 },
  ])
  await database.deleteCollection('old')
  const [parent, branch] = database.branches('live')
  t.match(parent, { id: 1, name: 'old', deletedAt: Number })
  t.match(branch, { id: 2, name: 'live', parentId: 1 })
  const digest = engine.control.digest()
  await engine.checkpoint()
  await engine.close()
  const again = await open(t, dataDir)
  t.equal(again.control.digest(), digest)
  t.strictSame(
    again
      .database()
      .branches('app')
      .map(({ name }) => name),
    ['old', 'live'],
  )
  t.strictSame((await idsOf(again.database().collection('app'))).sort(), ['live', 'new'])
  await again.database().deleteAlias('app')
  await again.database().deleteAlias('staging')
  await again.database().deleteCollection('live')
  await make(again.database(), 'trial')
  t.match(again.database().branches('trial'), [{ name: 'trial' }], 'no former parent remains')
})

test('two collections can exchange their names', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  await make(database, 'two')
  await database.promote('two', { over: 'one', keepAs: 'two' })
  t.strictSame(await idsOf(database.collection('one')), ['two'])
  t.strictSame(await idsOf(database.collection('two')), ['one'])
})

test('a branch has the content of a moment, and a restore by name reaches what had the name then', async (t) => {
  const engine = await open(t, await directory(t), { keepLog: true })
  const database = engine.database()
  await make(database, 'live')
  const { lsn: before } = await database.collection('live').upsert([{ id: 'early', fields: { v: [1, 2, 3] } }])
  await database.collection('live').upsert([{ id: 'late', fields: { v: [1, 2, 3] } }])
  const { contentLsn } = await database.branch('live', { name: 'past', asOf: { lsn: before } })
  t.equal(contentLsn, before)
  t.strictSame((await idsOf(database.collection('past'))).sort(), ['early', 'live'])
  await database.putAlias('app', 'live')
  const { lsn: put } = await database.putAlias('app', 'past')
  await database.promote('past', { over: 'live', keepAs: 'old' })
  await database.backups.restorePast('live', 'restored', { lsn: put })
  t.strictSame((await idsOf(database.collection('restored'))).sort(), ['early', 'late', 'live'])
  await database.backups.restorePast('app', 'by_alias', { lsn: put - 1 })
  t.strictSame((await idsOf(database.collection('by_alias'))).sort(), ['early', 'late', 'live'])
  await t.rejects(database.branch('live', { name: 'x', asOf: { lsn: 1 } }), { code: 'restore_unreachable' })
  const { events } = await database.history.events({ limit: 10 })
  t.match(
    events.filter(({ kind }) => kind === 'alias-put' || kind === 'collection-promoted'),
    [
      { alias: 'app', collection: 'old' },
      { alias: 'app', collection: 'live' },
      { collection: 'live', keptAs: 'old' },
    ],
  )
})

test('a backup states the aliases that led to its collection', async (t) => {
  const engine = await open(t, await directory(t))
  const database = engine.database()
  await make(database, 'one')
  await database.putAlias('live', 'one')
  const { name } = await database.backups.create('live', 'b')
  await database.backups.settled()
  t.match(database.backups.info(name), { collection: 'one', aliases: ['live'] })
  await database.backups.restore(name, 'copy')
  t.match(database.aliases(), [{ name: 'live', collection: 'one' }], 'a restore creates none')
  const uploaded = await database.backups.upload('again', database.backups.download(name).stream)
  t.strictSame(uploaded.aliases, ['live'])
})

test('a reader in another thread never answers from the old collection after a switch', async (t) => {
  const engine = await open(t, await directory(t), { readers: 1 })
  const database = engine.database()
  await make(database, 'one')
  await make(database, 'two')
  await database.putAlias('live', 'one')
  const reader = await attachReader(engine.readerHandle())
  t.teardown(() => reader.close())
  for (let i = 0; i < 200; i++) {
    const target = i % 2 === 0 ? 'two' : 'one'
    await database.putAlias('live', target)
    const { results } = await reader.search('live', { fields: { v: { query: [1, 2, 3] } } })
    if (results.v?.[0]?.id !== target) t.fail(`switch ${i} was not seen`)
    const [object] = await reader.getMany('live', [target])
    if (object?.id !== target) t.fail(`get after switch ${i} was answered by the other collection`)
  }
  await database.promote('two', { over: 'one', keepAs: 'old' })
  t.equal((await reader.search('one', { fields: { v: { query: [1, 2, 3] } } })).results.v?.[0]?.id, 'two')
  t.equal((await reader.search('old', { fields: { v: { query: [1, 2, 3] } } })).results.v?.[0]?.id, 'one')
  t.equal(reader.collection('default', 'two'), undefined)
  await database.deleteAlias('live')
  t.equal(reader.collection('default', 'live'), undefined)
})
