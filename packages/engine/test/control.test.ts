// Databases, tokens, and settings: what is rejected, what is stored, and that old directories open.
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import { type Test, test } from 'tap'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 3, space_type: 'l2', precision: 'float32' } },
] as const

async function directory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-control-'))
  t.teardown(() => rm(dir, { recursive: true }))
  return join(dir, 'data')
}

async function openTestEngine(t: Test, dataDir: string, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await openEngine({ dataDir, threads: 1, ...options })
  t.teardown(() => engine.close())
  return engine
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function token(name: string, secret = name) {
  return { name, kind: 'rw' as const, hash: hashOf(secret) }
}

test('a database is created with its first token, changed, and deleted with its content', async (t) => {
  const engine = await openTestEngine(t, await directory(t))
  const { control } = engine
  t.match(control.databases(), [{ name: 'default', type: 'enterprise', active: true }])
  const made = await control.createDatabase({ name: 'acme', type: 'pro', token: token('main') })
  t.match(made, { name: 'acme', type: 'pro', active: true })
  t.match(control.findToken(hashOf('main')), { database: { name: 'acme', active: true }, token: { name: 'main' } })
  const acme = engine.database('acme')
  await acme.createCollection({ name: 'a', fields })
  await engine.database().createCollection({ name: 'a', fields })
  const collection = acme.collection('a')
  await collection.upsert([{ id: '1', fields: { v: [1, 2, 3] } }])
  t.equal(engine.database().collection('a').describe().objects, 0, 'the same name in another database is another')
  t.match(await control.setDatabaseActive('acme', false), { active: false, type: 'pro' })
  t.match(await control.setDatabaseType('acme', 'starter'), { active: false, type: 'starter' })
  t.equal(acme.describe().active, false)

  await control.deleteDatabase('acme')
  t.equal(control.findToken(hashOf('main')), undefined)
  t.throws(() => engine.database('acme'), { code: 'database_not_found' })
  t.throws(() => acme.collections(), { code: 'database_not_found' })
  await t.rejects(collection.search({ fields: { v: { query: [1, 2, 3] } } }), { code: 'collection_not_found' })
  await control.createDatabase({ name: 'acme' })
  t.throws(() => acme.collection('a'), { code: 'database_not_found' }, 'one of the same name is another')
  t.strictSame(engine.database('acme').collections(), [])
})

test('invalid changes are rejected with a code and change nothing', async (t) => {
  const engine = await openTestEngine(t, await directory(t))
  const { control } = engine
  await control.createDatabase({ name: 'acme', token: token('main') })
  const before = control.digest()
  const refused: [string, () => Promise<unknown>][] = [
    ['database_exists', () => control.createDatabase({ name: 'acme' })],
    ['token_exists', () => control.createDatabase({ name: 'other', token: token('x', 'main') })],
    ['invalid_argument', () => control.createDatabase({ name: '__proto__' })],
    ['invalid_argument', () => control.createDatabase({ name: 'a/b' })],
    ['invalid_argument', () => control.createDatabase({ name: 'x', type: 'huge' as 'pro' })],
    ['invalid_argument', () => control.deleteDatabase('default')],
    ['database_not_found', () => control.deleteDatabase('none')],
    ['database_not_found', () => control.setDatabaseActive('none', true)],
    ['database_not_found', () => control.setDatabaseType('none', 'pro')],
    ['database_not_found', () => control.putToken('none', token('t'))],
    ['token_exists', () => control.putToken('acme', token('main', 'else'))],
    ['token_exists', () => control.putToken('acme', token('other', 'main'))],
    ['invalid_argument', () => control.putToken('acme', { ...token('t'), hash: 'short' })],
    ['invalid_argument', () => control.putToken('acme', { ...token('t'), kind: 'w' as 'r' })],
    ['token_not_found', () => control.deleteToken('acme', 'none')],
    ['invalid_argument', () => control.putSetting('', 'x')],
    ['limit_exceeded', () => control.putSetting('key', 'x'.repeat(4_097))],
  ]
  for (const [code, act] of refused) await t.rejects(act(), { code })
  t.throws(() => control.tokens('none'), { code: 'database_not_found' })
  t.equal(control.digest(), before)
})

test('the number of tokens and settings is limited', async (t) => {
  const engine = await openTestEngine(t, await directory(t), { fsync: 'none' })
  for (let i = 0; i < 100; i++) await engine.control.putToken('default', token(`t${i}`))
  await t.rejects(engine.control.putToken('default', token('more')), {
    code: 'limit_exceeded',
    details: { limit: 100 },
  })
  for (let i = 0; i < 64; i++) await engine.control.putSetting(`k${i}`, '')
  await t.rejects(engine.control.putSetting('more', ''), { code: 'limit_exceeded', details: { limit: 64 } })
  await engine.control.putSetting('k0', 'replaced')
  t.equal(engine.control.setting('k0'), 'replaced')
})

test('two concurrent creations of one name: one succeeds', async (t) => {
  const engine = await openTestEngine(t, await directory(t))
  const results = await Promise.allSettled([
    engine.control.createDatabase({ name: 'acme', token: token('one') }),
    engine.control.createDatabase({ name: 'acme', token: token('two') }),
  ])
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  t.strictSame(
    engine.control.tokens('acme').map(({ name }) => name),
    ['one'],
  )
})

test('a collection created while its database is deleted is either deleted with it or rejected', async (t) => {
  const engine = await openTestEngine(t, await directory(t))
  for (let round = 0; round < 20; round++) {
    await engine.control.createDatabase({ name: 'acme' })
    const acme = engine.database('acme')
    const calls = [
      acme.createCollection({ name: 'a', fields }),
      acme.createCollection({ name: 'b', fields }),
      engine.control.deleteDatabase('acme'),
      acme.createCollection({ name: 'c', fields }),
    ]
    const [, , dropped, late] = await Promise.allSettled(calls)
    t.match([dropped?.status, late?.status], ['fulfilled', 'rejected'])
  }
  t.equal(engine.stats().collections, 0)
  t.equal(engine.health().status, 'ok')
})

test('databases, tokens, and settings survive a start from a checkpoint and a replay, and time does not run backward', async (t) => {
  const dataDir = await directory(t)
  let now = 5_000
  const first = await openTestEngine(t, dataDir, { keepLog: true, clock: { now: () => now } })
  await first.control.createDatabase({ name: 'acme', token: token('main') })
  await first.database('acme').createCollection({ name: 'a', fields })
  await first.control.createDatabase({ name: 'gone', token: token('lost') })
  await first.database('gone').createCollection({ name: 'b', fields })
  await first.control.putToken('acme', { ...token('reader'), kind: 'r' })
  await first.control.putSetting('trial', '12')
  await first.checkpoint()
  await first.control.deleteDatabase('gone')
  await first.control.deleteToken('acme', 'main')
  now = 4_000
  await first.control.setDatabaseActive('acme', false)
  t.equal(first.timeMs, 5_000)
  const digest = first.control.digest()
  await first.close()
  for (const how of ['checkpoint', 'replay'] as const) {
    if (how === 'replay') await rm(join(dataDir, 'checkpoints'), { recursive: true })
    const early: unknown[] = []
    const engine = await openEngine({
      dataDir,
      threads: 1,
      keepLog: true,
      clock: { now: () => now },
      onServing: ({ control }) => early.push(control.digest(), control.findToken(hashOf('main'))),
    })
    t.equal(engine.control.digest(), digest, how)
    t.strictSame(early, [digest, undefined], `${how}: known before the replay is over`)
    t.equal(engine.timeMs, 5_000)
    t.equal(engine.control.setting('trial'), '12')
    t.match(engine.control.tokens('acme'), [{ name: 'reader', kind: 'r' }])
    t.strictSame(
      engine.control.databases().map(({ name, active }) => [name, active]),
      [
        ['default', true],
        ['acme', false],
      ],
    )
    await engine.close()
  }
})

test('a manifest of format 1 opens as one database without tokens', async (t) => {
  const dataDir = await directory(t)
  const first = await openEngine({ dataDir, threads: 1 })
  await first.database().createCollection({ name: 'a', fields })
  await first.close()
  for (const name of await readdir(join(dataDir, 'checkpoints')))
    await rewriteAsFormat1(join(dataDir, 'checkpoints', name))
  const engine = await openTestEngine(t, dataDir)
  t.equal(engine.health().status, 'ok')
  t.match(engine.control.databases(), [{ name: 'default', active: true }])
  t.strictSame(engine.control.tokens('default'), [])
  t.equal(engine.database().collection('a').describe().objects, 0)
  t.match(await engine.control.createDatabase({ name: 'b' }), { name: 'b' })
})

async function rewriteAsFormat1(checkpoint: string): Promise<void> {
  const path = join(checkpoint, 'manifest.json')
  const { manifest } = JSON.parse(await readFile(path, 'utf8'))
  const { lsn, nextCollectionId, collections } = manifest.catalog
  const catalog = { lsn, nextCollectionId, databases: [{ id: 1, name: 'default' }], collections }
  const body = JSON.stringify({ ...manifest, catalog })
  const sum = createHash('sha256').update(body).digest('hex')
  await writeFile(path, `{"format":1,"sha256":"${sum}","manifest":${body}}\n`)
}

test('backups of a deleted database are deleted with it, including running ones, and a new database of its name has none', async (t) => {
  const dataDir = await directory(t)
  const engine = await openTestEngine(t, dataDir)
  const { control } = engine
  for (const name of ['acme', 'other']) {
    await control.createDatabase({ name })
    const made = await engine.database(name).createCollection({ name: 'a', fields })
    await made.upsert([{ id: '1', fields: { v: [1, 2, 3] } }])
    await engine.database(name).backups.create('a', 'first')
    await engine.database(name).backups.settled()
  }
  await engine.database('acme').backups.create('a', 'second')
  await control.deleteDatabase('acme')
  await control.createDatabase({ name: 'acme' })
  t.strictSame(engine.database('acme').backups.list(), [])
  t.equal(engine.database('acme').backups.status().status, 'idle')
  t.match(engine.database('other').backups.list(), [{ name: 'first' }])
  await engine.close()
  const again = await openTestEngine(t, dataDir)
  t.strictSame(again.database('acme').backups.list(), [])
  t.match(again.database('other').backups.list(), [{ name: 'first' }])
  t.equal(again.health().status, 'ok')
})
