// The promises of the engine in short, one small case for each, so that a common bug is noticed within seconds. The other tests look
// closer at each of them.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Engine, type EngineOptions, openEngine, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { World } from './crash/simulated-machine.ts'

tap.setTimeout(120_000)

const graph = { M: 4, efConstruction: 8 } as const
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'cosine', precision: 'int8', ...graph } },
  { name: 's', type: 'sparse', params: {} },
  { name: 'm', type: 'multi_vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32', ...graph } },
] as const

const pool: WorkerPool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

async function directory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-essentials-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return join(dir, 'data')
}

async function opened(t: Test, dataDir: string, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await openEngine({ dataDir, ...options }, { pool })
  t.teardown(() => engine.close())
  return engine
}

/** An object whose every part has its number. */
function objectOf(id: string, n: number) {
  return {
    id,
    meta: { n },
    filter: { n },
    fields: {
      v: [n, 1, 0, 0],
      s: { indices: [n], values: [1] },
      m: [
        [n, 0],
        [n, 1],
      ],
    },
  }
}

function collectionOf(engine: Engine, name = 'c'): Collection {
  return engine.database().collection(name)
}

async function sparseHits(collection: Collection, index: number): Promise<string[]> {
  const { results } = await collection.search({ fields: { s: { query: { indices: [index], values: [1] } } } })
  return (results.s ?? []).map(({ id }) => id)
}

/** What a kill would leave at this moment, opened. */
async function killed(t: Test, dataDir: string): Promise<Engine> {
  const copy = `${dataDir}-${(await readdir(join(dataDir, '..'))).length}`
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'LOCK'), { force: true })
  return opened(t, copy)
}

test('an acknowledged write survives a power cut', async (t) => {
  const world = new World(await mkdtemp(join(tmpdir(), 'annal-essentials-')), seededRandom(1))
  const engine = await world.open(pool)
  await engine.database().createCollection({ name: 'c', fields })
  const { durable } = await collectionOf(engine).upsert([objectOf('a', 1), objectOf('b', 2)])
  t.ok(durable)
  world.disk.restart('power')
  const again = await world.open(pool)
  t.equal(collectionOf(again).count().count, 2)
  await again.close()
})

test('an object that is written again is the new one alone, and one that is deleted is gone, in every index', async (t) => {
  const engine = await opened(t, await directory(t))
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert([1, 2, 3].map((n) => objectOf(`${n}`, n)))
  await collection.upsert([objectOf('2', 20)])
  await collection.delete(['3'])
  t.equal(collection.describe().objects, 2)
  const { results } = await collection.search({ fields: { v: { query: [1, 1, 0, 0], limit: 9 } } })
  t.strictSame(
    results.v?.map(({ id }) => id),
    ['1', '2'],
  )
  t.strictSame(
    [1, 2, 3, 20].map((n) => collection.count([{ n: { $eq: n } }]).count),
    [1, 0, 0, 1],
  )
  t.strictSame(
    [1, 2, 20, 21].map((n) => collection.count([{ n: { $lt: n } }]).count),
    [0, 1, 1, 2],
  )
  t.strictSame(await Promise.all([1, 2, 3, 20].map((n) => sparseHits(collection, n))), [['1'], [], [], ['2']])
  const found = await collection.get('2')
  t.match(found, { meta: { n: 20 }, filter: { n: 20 } })
  t.strictSame(found?.dense.v?.vector, Float32Array.of(20, 1, 0, 0))
  t.strictSame(
    found?.multi.m?.map(({ vector }) => [...vector]),
    [
      [20, 0],
      [20, 1],
    ],
  )
})

test('a vector of any length is compared at unit length in a field of cosine', async (t) => {
  const engine = await opened(t, await directory(t))
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert([objectOf('a', 3), objectOf('b', 0)])
  for (const rescore of [false, true]) {
    const { results } = await collection.search({ fields: { v: { query: [30, 10, 0, 0] } }, rescore })
    const similarities = results.v?.map(({ id, similarity }) => [id, Math.round(similarity * 100)])
    t.strictSame(similarities, [
      ['a', 100],
      ['b', 32],
    ])
  }
})

test('an ordinal that is used again has nothing of the object before', async (t) => {
  const engine = await opened(t, await directory(t), { fsync: 'none' })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert([objectOf('old', 7)])
  await collection.delete(['old'])
  const check = async (id: string) => {
    const found = await collection.get(id)
    t.strictSame([found?.multi, await sparseHits(collection, 7)], [{}, []])
  }
  // One of them receives the ordinal.
  for (let i = 0; i < 24; i++) {
    const id = `${i % 3}`
    await collection.upsert([{ id, fields: { v: [i, 1, 0, 0], s: { indices: [8], values: [1] } } }])
    await check(id)
  }
  await collection.rebuild()
  await check('0')
  const { results } = await collection.search({ fields: { m: { query: [[7, 0]] } } })
  t.strictSame(results.m, [])
})

test('a kill loses nothing, before and after a checkpoint', async (t) => {
  const dataDir = await directory(t)
  const engine = await opened(t, dataDir)
  const collection = await engine.database().createCollection({ name: 'c', fields })
  for (let n = 1; n <= 3; n++) {
    await collection.upsert([objectOf(`${n}`, n)])
    if (n > 1) await collection.delete([`${n - 1}`])
    t.equal(collectionOf(await killed(t, dataDir)).stateDigest(), collection.stateDigest(), `${n}, from the log`)
    await engine.checkpoint()
    t.equal(collectionOf(await killed(t, dataDir)).stateDigest(), collection.stateDigest(), `${n}, from a checkpoint`)
  }
  await collection.upsert([objectOf('x', 9)])
  t.equal(collectionOf(await killed(t, dataDir)).stateDigest(), collection.stateDigest(), 'from both')
})

test('a changed byte in a snapshot is noticed by a start and by a check of the directory', async (t) => {
  const dataDir = await directory(t)
  const engine = await opened(t, dataDir, { keepLog: true })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert([objectOf('a', 1), objectOf('b', 2)])
  const digest = collection.stateDigest()
  await engine.close()
  const checkpoints = join(dataDir, 'checkpoints')
  const [checkpoint = ''] = await readdir(checkpoints)
  const files = (await readdir(join(checkpoints, checkpoint))).filter((name) => name.endsWith('.snap'))
  t.equal(files.length, 5)
  for (const name of files) {
    const path = join(checkpoints, checkpoint, name)
    const bytes = await readFile(path)
    await writeFile(
      path,
      bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 64 : byte)),
    )
    const { findings } = await verifyDataDirectory({ dataDir })
    t.match(findings, [{ severity: 'damage', file: join('checkpoints', checkpoint, name) }])
    const again = await killed(t, dataDir)
    t.equal(again.health().status, 'degraded', name)
    t.equal(collectionOf(again).stateDigest(), digest)
    await writeFile(path, bytes)
  }
})

test('a rebuild contains what is written while it runs', async (t) => {
  const dataDir = await directory(t)
  const engine = await opened(t, dataDir, { fsync: 'none' })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert(Array.from({ length: 600 }, (_, n) => objectOf(`${n}`, n)))
  const writes = [0, 1, 2].map((n) => collection.upsert([objectOf(`early ${n}`, n)]))
  const rebuilding = collection.rebuild()
  for (let n = 0; n < 20; n++) writes.push(collection.upsert([objectOf(`late ${n}`, n)]))
  await Promise.all([rebuilding, ...writes])
  t.equal(collection.count().count, 623)
  t.equal((await collection.getMany(['early 2', 'late 0', 'late 19'])).length, 3)
  t.equal(collectionOf(await killed(t, dataDir)).stateDigest(), collection.stateDigest())
})

test('every moment of the past is restored exactly', async (t) => {
  const now = { ms: 1_000 }
  const engine = await opened(t, await directory(t), { keepLog: true, clock: { now: () => now.ms } })
  const database = engine.database()
  const collection = await database.createCollection({ name: 'c', fields })
  const moments: { readonly lsn: number; readonly timeMs: number; readonly digest: string }[] = []
  for (let n = 1; n <= 4; n++) {
    now.ms += 1_000
    const { lsn } = await collection.upsert([objectOf(`${n}`, n)])
    moments.push({ lsn, timeMs: now.ms, digest: collection.stateDigest() })
    if (n === 2) await engine.checkpoint()
  }
  now.ms += 1_000
  for (const [n, { lsn, timeMs, digest }] of moments.entries()) {
    for (const moment of [{ lsn }, { timeMs }]) {
      const name = `${Object.keys(moment)}-${n}`
      await database.backups.restorePast('c', name, moment)
      t.equal(database.collection(name).stateDigest(), digest, name)
    }
  }
})

test('a clone and its source have nothing in common but their past', async (t) => {
  const engine = await opened(t, await directory(t))
  const database = engine.database()
  const source = await database.createCollection({ name: 'source', fields })
  await source.upsert([objectOf('a', 1), objectOf('b', 2)])
  // From then on both have files with vectors, which each appends to.
  await engine.checkpoint()
  await database.backups.clone('source', 'clone')
  const clone = database.collection('clone')
  await clone.served()
  await clone.upsert([objectOf('only in the clone', 5)])
  await source.upsert([objectOf('only in the source', 6)])
  await clone.upsert([objectOf('a', 7)])
  for (const [collection, expected] of [
    [source, { a: 1, b: 2, 'only in the source': 6 }],
    [clone, { a: 7, b: 2, 'only in the clone': 5 }],
  ] as const) {
    t.equal(collection.count().count, 3)
    for (const [id, n] of Object.entries(expected)) {
      const found = await collection.get(id)
      t.strictSame(found?.dense.v?.vector, Float32Array.of(n, 1, 0, 0), `${id} of ${collection.name}`)
      t.strictSame(found?.multi.m?.length, 2)
    }
  }
})

test('memory that a write reserved is free when it is applied', async (t) => {
  const engine = await opened(t, await directory(t), { fsync: 'none' })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const bytes = () => Object.values(collection.describe().memory).reduce((sum, part) => sum + part, 0)
  const write = async (count: number) => {
    for (let i = 0; i < count; i++)
      await collection.upsert([{ ...objectOf('a', 1), meta: { text: 'x'.repeat(60_000) } }])
    return bytes()
  }
  const early = await write(100)
  const late = await write(100)
  t.ok(late < early + 600_000, `${late} bytes after ${early}: the room of ten such writes, not of a hundred`)
})

test('a token opens its database until it or the database is deleted', async (t) => {
  const { control } = await opened(t, await directory(t))
  const hash = (digit: string) => digit.repeat(64)
  await control.createDatabase({ name: 'acme', token: { name: 'one', kind: 'rw', hash: hash('1') } })
  await control.putToken('acme', { name: 'two', kind: 'r', hash: hash('2') })
  t.match(control.findToken(hash('2')), { database: { name: 'acme' }, token: { kind: 'r' } })
  await control.deleteToken('acme', 'two')
  t.equal(control.findToken(hash('2')), undefined)
  t.ok(control.findToken(hash('1')))
  await control.deleteDatabase('acme')
  t.equal(control.findToken(hash('1')), undefined)
})
