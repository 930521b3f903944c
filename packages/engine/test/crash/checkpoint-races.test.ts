// A change during a checkpoint is in it completely or not at all, and the remains of a crash count toward the next checkpoint.
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import tap, { test } from 'tap'
import { watchedVfs } from './watched-vfs.ts'

tap.setTimeout(300_000)

const dimension = 64
const fields = [
  { name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 } },
] as const

function objects(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    filter: { third: (from + i) % 3 },
    fields: { v: Array.from({ length: dimension }, (__, index) => ((from + i) * (index + 1)) % 97) },
  }))
}

async function inDirectory(act: (dataDir: string, pool: WorkerPool) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-races-'))
  const pool = await openWorkerPool({ threads: 1 })
  try {
    await act(join(dir, 'data'), pool)
  } finally {
    await pool.close()
    await rm(dir, { recursive: true })
  }
}

/** The digest of every collection after opening the state that a kill at this moment would leave. */
async function digestsAfterKill(dataDir: string, pool: WorkerPool): Promise<string[]> {
  await cp(dataDir, `${dataDir}-copy`, { recursive: true })
  await rm(join(`${dataDir}-copy`, 'LOCK'), { force: true })
  const engine = await openEngine({ dataDir: `${dataDir}-copy` }, { pool })
  try {
    return digestsOf(engine)
  } finally {
    await engine.close()
    await rm(`${dataDir}-copy`, { recursive: true })
  }
}

function digestsOf(engine: Engine): string[] {
  const database = engine.database()
  return database.collections().map(({ name }) => `${name} ${database.collection(name).stateDigest()}`)
}

/** An engine with two filled collections. Its next checkpoint runs `meanwhile` while it writes the vectors of the first one. */
async function withMeanwhile(
  dataDir: string,
  pool: WorkerPool,
  meanwhile: (engine: Engine) => Promise<unknown>,
): Promise<Engine> {
  let writes = 0
  const started: Promise<unknown>[] = []
  const vfs = watchedVfs(async ({ call, path }) => {
    // The first write is the header of the file; the next one is its first piece, with the number of rows of the field.
    if (call !== 'write' || !path.includes('collection-1-part-1') || ++writes !== 2) return
    started.push(meanwhile(engine))
    await sleep(200)
  })
  const engine = await openEngine({ dataDir, keepLog: true }, { vfs, pool })
  await engine.database().createCollection({ name: 'first', fields })
  // Its original vectors are in separate files.
  const rounded = [{ ...fields[0], params: { ...fields[0]?.params, precision: 'int8' } }] as const
  await engine.database().createCollection({ name: 'second', fields: rounded })
  for (let i = 0; i < 6; i++)
    await engine
      .database()
      .collection('first')
      .upsert(objects(1_000, i * 1_000))
  await engine.database().collection('second').upsert(objects(10))
  await engine.checkpoint()
  await Promise.all(started)
  if (started.length !== 1) throw new Error(`something happened ${started.length} times during the checkpoint`)
  return engine
}

test('deleteWhere during a checkpoint is in it completely or not at all', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    const engine = await withMeanwhile(dataDir, pool, async (serving) => {
      const first = serving.database().collection('first')
      t.equal((await first.deleteWhere([{ third: { $eq: 1 } }])).deleted, 2_000)
    })
    t.equal(engine.health().status, 'ok')
    const live = digestsOf(engine)
    t.strictSame(await digestsAfterKill(dataDir, pool), live, 'from the checkpoint and what follows it')
    await engine.close()
  })
})

test('a collection deleted and created again during a checkpoint is the new one afterwards', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    const engine = await withMeanwhile(dataDir, pool, async (serving) => {
      const database = serving.database()
      await Promise.all([database.deleteCollection('first'), database.deleteCollection('second')])
      for (const name of ['second', 'first']) await database.createCollection({ name, fields })
      await database.collection('first').upsert(objects(5))
    })
    t.equal(engine.health().status, 'ok')
    const live = digestsOf(engine)
    t.strictSame(await digestsAfterKill(dataDir, pool), live)
    await engine.checkpoint()
    t.strictSame(await digestsAfterKill(dataDir, pool), live, 'also from the next checkpoint')
    await engine.close()
  })
})

test('deleting a collection before a checkpoint reaches it does not damage the checkpoint', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    const engine = await withMeanwhile(dataDir, pool, (serving) => serving.database().deleteCollection('second'))
    t.equal(engine.stats().checkpoints.failed, 0)
    t.equal(engine.health().status, 'ok')
    const live = digestsOf(engine)
    t.equal(live.length, 1)
    t.strictSame(await digestsAfterKill(dataDir, pool), live)
    await engine.close()
    const left = await readdir(join(dataDir, 'originals'))
    t.strictSame(
      left.filter((name) => name.startsWith('collection-2-')),
      [],
      'its files are gone',
    )
  })
})

test('the remains of a write that failed halfway are in no checkpoint and no backup', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    let failing = false
    const taken: Promise<unknown>[] = []
    const vfs = watchedVfs(async ({ call, path }) => {
      if (!failing || call !== 'write' || !path.includes('originals')) return
      failing = false
      // They wait until this write is applied.
      taken.push(
        engine.checkpoint(),
        engine
          .database()
          .backups.create('c')
          .then(() => engine.database().backups.settled()),
      )
      throw new Error('the disk refused to write')
    })
    const engine = await openEngine({ dataDir, keepLog: true }, { vfs, pool })
    const rounded = [{ ...fields[0], params: { ...fields[0]?.params, precision: 'int8' } }] as const
    const collection = await engine.database().createCollection({ name: 'c', fields: rounded })
    // Fewer than the disk space that is reserved at once.
    await collection.upsert(objects(100))
    failing = true
    const written = collection.upsert(objects(100, 50))
    await t.rejects(written, { message: /refused to write/ })
    t.equal(taken.length, 2)
    await Promise.allSettled(taken)
    t.equal(engine.health().status, 'failed')
    await engine.close()
    const again = await openEngine({ dataDir, keepLog: true }, { pool })
    t.equal(again.database().collection('c').describe().objects, 150, 'the record is in the log')
    t.strictSame(again.health().reasons, [])
    const live = digestsOf(again)
    t.strictSame(again.database().backups.list(), [])
    await again.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    const replayed = await openEngine({ dataDir, keepLog: true }, { pool })
    t.strictSame(digestsOf(replayed), live)
    await replayed.close()
  })
})

test('replayed rows count toward the next checkpoint', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    const small = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', M: 4, ef_con: 8 } }] as const
    // Each of these lives ends without a checkpoint, as if it were killed.
    for (let life = 0; life < 3; life++) {
      const engine = await openEngine({ dataDir }, { pool, readOnly: true })
      if (life === 0) await engine.database().createCollection({ name: 'c', fields: small })
      const collection = engine.database().collection('c')
      const rows = Array.from({ length: 4_000 }, (_, i) => ({ id: `${life}-${i}`, fields: { v: [life, i] } }))
      for (let i = 0; i < 4; i++) await collection.upsert(rows.slice(i * 1_000, (i + 1) * 1_000))
      await engine.close()
    }
    const engine = await openEngine({ dataDir }, { pool })
    // Nothing writes to this one. The 12,000 rows of the previous lives are enough for a checkpoint, or none is ever written.
    while (engine.stats().lsnCheckpoint === 0) await sleep(10)
    t.equal(engine.stats().lsnCheckpoint, engine.stats().lsnApplied)
    await engine.close()
  })
})

test('a collection without further writes does not need records that were removed long ago', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    const first = await openEngine({ dataDir }, { pool })
    for (const name of ['idle', 'busy']) await first.database().createCollection({ name, fields })
    await first.database().collection('idle').upsert(objects(10))
    const digest = first.database().collection('idle').stateDigest()
    await first.close()
    for (let life = 0; life < 5; life++) {
      const engine = await openEngine({ dataDir }, { pool })
      t.equal(engine.database().collection('idle').stateDigest(), digest)
      await engine.database().collection('busy').upsert(objects(5, life))
      await engine.close()
    }
  })
})

test('after a sync of vectors failed, no checkpoint succeeds without them, and a start recovers them from the log', async (t) => {
  await inDirectory(async (dataDir, pool) => {
    let fails = false
    const vfs = watchedVfs(async ({ call, path }) => {
      if (fails && call === 'datasync' && path.includes('originals'))
        throw Object.assign(new Error('EIO: the disk lost it'), { code: 'EIO' })
    })
    const engine = await openEngine({ dataDir }, { pool, vfs })
    const [field] = fields
    const params = { ...field.params, precision: 'int8' } as const
    const collection = await engine.database().createCollection({ name: 'c', fields: [{ ...field, params }] })
    await collection.upsert(objects(50))
    await engine.checkpoint()
    await collection.upsert(objects(50, 50))
    fails = true
    await t.rejects(engine.checkpoint(), { code: 'disk_failed', details: { reason: 'EIO' } })
    fails = false
    // The system reports a lost page once, and takes it as written from then on.
    await t.rejects(engine.checkpoint(), { code: 'disk_failed', details: { reason: 'EIO' } })
    const digests = digestsOf(engine)
    await engine.close()
    const again = await openEngine({ dataDir }, { pool })
    t.strictSame(digestsOf(again), digests)
    t.equal(again.stats().lsnCheckpoint < again.lsnApplied, true, 'the rows came from the log')
    await again.checkpoint()
    await again.close()
  })
})
