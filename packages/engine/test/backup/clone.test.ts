// A clone exists immediately and equals the source at one record: requests wait until it is loaded, and events in the meantime do
// not change it.
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Database, type Engine, openEngine } from '@annal/engine'
import { nodeVfs, type Vfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { backedUp, denseField, openedEngine, runRandomLife, someVector, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
tap.setTimeout(300_000)

const fields = [denseField(), { name: 's', type: 'sparse' }, denseField('f', 'float32')] as const
const query = { fields: { v: { query: [1, 0, 0, 0, 0, 0, 0, 0], limit: 5 } } }

/** A disk that gives no byte of an import away until it may; then it may refuse. */
class SlowDisk {
  readonly vfs: Vfs
  refuses = false
  read = 0
  written = 0
  #allowed = Promise.withResolvers<void>()

  constructor() {
    const inner = nodeVfs()
    this.vfs = {
      ...inner,
      open: async (path, mode) => {
        const file = await inner.open(path, mode)
        return {
          ...file,
          read: async (bytes, position) => {
            if (path.endsWith('.snap') && path.includes('/imports/')) await this.#allowed.promise
            if (this.refuses && path.includes('/imports/'))
              throw Object.assign(new Error('EIO: refused'), { code: 'EIO' })
            const got = await file.read(bytes, position)
            this.read += got
            return got
          },
          write: async (bytes, position) => {
            const got = await file.write(bytes, position)
            this.written += got
            return got
          },
          datasync: () => file.datasync(),
          truncate: (size) => file.truncate(size),
          size: () => file.size(),
          close: () => file.close(),
        }
      },
    }
  }

  allow(): void {
    this.#allowed.resolve()
  }
}

interface World {
  readonly engine: Engine
  readonly database: Database
  readonly source: Collection
  readonly disk: SlowDisk
  readonly dataDir: string
}

/** A collection with a snapshot and records after it. */
async function world(t: Test, random: Random): Promise<World> {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const disk = new SlowDisk()
  const engine = await openEngine({ dataDir, threads: 1 }, { vfs: disk.vfs })
  t.teardown(async () => {
    disk.allow()
    await engine.close()
  })
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await runRandomLife(source, random, 25)
  await engine.checkpoint()
  await runRandomLife(source, random, 10)
  return { engine, database, source, disk, dataDir }
}

async function statusIs({ backups }: Database, status: string): Promise<void> {
  while (backups.restoreStatus().status !== status) await new Promise(setImmediate)
}

/** What a crash leaves. */
async function openAfterCrash(t: Test, dataDir: string): Promise<Engine> {
  const copy = join(await temporaryDirectory(t), 'data')
  await cp(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  return openedEngine(t, { dataDir: copy })
}

test(`a clone exists before it is loaded, and requests to it wait (ANNAL_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed)
  const { engine, database, source, disk, dataDir } = await world(t, random)
  const digest = source.stateDigest()
  const { objects, fields: described } = source.describe()
  const shown = source.describe().lsn
  const { lsn, contentLsn } = await database.backups.clone('a', 'b')
  t.equal(contentLsn, shown, 'the reply names what the clone shows')
  t.equal(engine.stats().lsnApplied, lsn, 'its record is applied')
  const clone = database.collection('b')
  t.match(clone.describe(), { condition: 'loading', objects, lsn: 0 })
  t.same(
    clone.describe().fields.map(({ name, elements }) => [name, elements]),
    described.map(({ name, elements }) => [name, elements]),
  )
  t.throws(() => clone.count(), { code: 'collection_loading' })
  t.throws(() => clone.stateDigest(), { code: 'collection_loading' })
  t.match(database.backups.restoreStatus(), { status: 'running', collection: 'b' })
  let answered = 0
  const queries = [
    clone.search(query),
    clone.getMany(['o1']),
    clone.scroll({ limit: 5 }),
    clone.upsert([{ id: 'later', fields: { v: someVector(random) } }]),
    clone.served(),
    clone.searchBatch([query]),
    clone.delete(['none']),
    clone.deleteWhere([{ n: { $eq: -1 } }]),
    clone.updateFilters([{ id: 'none', filter: {} }]),
    clone.recall({ sample: 1 }),
    clone.rebuild(),
    database.backups.clone('b', 'c'),
  ].map((answer) => answer.then(() => answered++))
  await source.upsert([{ id: 'of the source', fields: { v: someVector(random) } }])
  await engine.checkpoint()
  await database.deleteCollection('a')
  t.equal(answered, 0, 'writes, checkpoints and drops elsewhere did not wait for it')
  const again = await openAfterCrash(t, dataDir)
  t.equal(again.database().collection('b').stateDigest(), digest, 'a crash now loses nothing of it')
  disk.allow()
  await Promise.all(queries)
  t.equal((await clone.getMany(['later'])).length, 1)
  t.equal((await clone.getMany(['of the source'])).length, 0)
  await clone.delete(['later'])
  t.equal(clone.describe().objects, objects)
  await database.collection('c').served()
  await statusIs(database, 'completed')
  t.same(engine.health(), { status: 'ok', reasons: [] })
})

test('a vacuum of a clone that is still loading waits for it', async (t) => {
  const { database, disk } = await world(t, seededRandom(seed + 9))
  await database.backups.clone('a', 'b')
  const vacuum = database.collection('b').vacuum()
  t.equal(database.collection('b').rebuildStatus().status, 'idle')
  disk.allow()
  await vacuum
  t.equal(database.collection('b').rebuildStatus().status, 'completed')
})

test('a clone under writers is as of one record, and every way to open it gives the same', async (t) => {
  const random = seededRandom(seed + 1)
  const dataDir = await temporaryDirectory(t)
  const engine = await openedEngine(t, { dataDir, keepLog: true })
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields: [denseField()] })
  await source.upsert([{ id: 'n0', fields: { v: someVector(random) } }])
  await engine.checkpoint()
  let wanted = true
  const acknowledged: number[] = []
  const writing = (async () => {
    for (let n = 0; wanted; n++) {
      const { lsn } = await source.upsert([{ id: `n${n}`, fields: { v: someVector(random) } }])
      acknowledged.push(lsn)
    }
  })()
  const digests = new Map<string, string>()
  for (let i = 0; i < 4; i++) {
    const before = acknowledged.length
    const { lsn } = await database.backups.clone('a', `clone${i}`)
    const clone = database.collection(`clone${i}`)
    await clone.served()
    const { count } = clone.count()
    t.ok(count >= before, 'everything acknowledged before')
    t.equal(
      (await clone.getMany([`n${count - 1}`, `n${count}`])).length,
      Math.min(1, count),
      'nothing is left out, or more',
    )
    t.ok(
      acknowledged.slice(0, count).every((one) => one < lsn),
      'nothing later',
    )
    digests.set(`clone${i}`, clone.stateDigest())
  }
  wanted = false
  await writing
  for (const open of [await openAfterCrash(t, dataDir), engine]) {
    for (const [name, digest] of digests) t.equal(open.database().collection(name).stateDigest(), digest, name)
    await open.checkpoint()
    await open.close()
    const loaded = await openedEngine(t, { dataDir: open === engine ? dataDir : (open as typeof engine).dataDir })
    for (const [name, digest] of digests) t.equal(loaded.database().collection(name).stateDigest(), digest, name)
    await loaded.close()
  }
})

test('a clone is cloned, restored, and backed up before a checkpoint contains it', async (t) => {
  const random = seededRandom(seed + 2)
  const { engine, database, source, disk, dataDir } = await world(t, random)
  disk.allow()
  await database.backups.clone('a', 'b')
  await runRandomLife(database.collection('b'), random, 5)
  await database.backups.clone('b', 'c')
  await database.collection('c').served()
  const digest = database.collection('b').stateDigest()
  t.equal(database.collection('c').stateDigest(), digest)
  await database.backups.clone('c', 'd')
  await database.collection('d').served()
  t.equal(database.collection('d').stateDigest(), digest)
  const again = await openAfterCrash(t, dataDir)
  for (const name of ['b', 'c', 'd']) t.equal(again.database().collection(name).stateDigest(), digest)
  t.equal(again.database().collection('a').stateDigest(), source.stateDigest())
  await backedUp(database, 'd', 'kept')
  await database.backups.restore('kept', 'e')
  await database.backups.restorePast('d', 'f', { lsn: engine.stats().lsnApplied })
  for (const name of ['e', 'f']) t.equal(database.collection(name).stateDigest(), digest)
  t.same(await database.backups.verify('kept', { deep: true }), [])
})

test('an engine that is closed while it loads a clone loads it at the next start', async (t) => {
  const random = seededRandom(seed + 3)
  const { engine, database, source, disk, dataDir } = await world(t, random)
  const digest = source.stateDigest()
  await database.backups.clone('a', 'b')
  const clone = database.collection('b')
  const pending = clone.search(query)
  const closing = engine.close()
  disk.allow()
  await t.rejects(pending, { code: 'closed' })
  await closing
  for (let start = 0; start < 3; start++) {
    const again = await openedEngine(t, { dataDir })
    t.equal(again.database().collection('b').stateDigest(), digest, `start ${start}`)
    await again
      .database()
      .collection('a')
      .delete([`none${start}`, 'o1'])
    t.same(again.health(), { status: 'ok', reasons: [] })
    await again.close()
  }
})

test('a clone that is deleted while it loads leaves nothing behind', async (t) => {
  const { engine, database, disk, dataDir } = await world(t, seededRandom(seed + 4))
  await database.backups.clone('a', 'b')
  const pending = database.collection('b').search(query)
  const dropped = database.deleteCollection('b')
  disk.allow()
  await t.rejects(pending, { code: 'collection_not_found' })
  await dropped
  await statusIs(database, 'failed')
  t.throws(() => database.collection('b'), { code: 'collection_not_found' })
  const files = await readdir(join(dataDir, 'originals'))
  t.ok(
    files.every((name) => name.startsWith('collection-1-')),
    'none of its files',
  )
  await database.backups.clone('a', 'b')
  await database.collection('b').served()
  t.same(engine.health(), { status: 'ok', reasons: [] })
})

test('a clone whose files cannot be read is out of service, does not affect others, and can be deleted', async (t) => {
  const { engine, database, source, disk } = await world(t, seededRandom(seed + 5))
  await database.backups.clone('a', 'b')
  const pending = database.collection('b').search(query)
  disk.refuses = true
  disk.allow()
  await t.rejects(pending, { code: 'collection_quarantined' })
  t.match(database.collection('b').describe(), { condition: 'quarantined', reason: /EIO/ })
  t.match(engine.health(), { status: 'degraded' })
  await statusIs(database, 'failed')
  t.match(database.backups.restoreStatus().error, /EIO/)
  await source.search(query)
  await database.deleteCollection('b')
  t.equal(engine.health().status, 'ok')
})

test('a rejected clone changes nothing', async (t) => {
  const { database, disk, dataDir } = await world(t, seededRandom(seed + 6))
  disk.allow()
  await t.rejects(database.backups.clone('none', 'b'), { code: 'collection_not_found' })
  await t.rejects(database.backups.clone('a', 'a'), { code: 'collection_exists' })
  await t.rejects(database.backups.clone('a', '../b'), { code: 'invalid_argument' })
  const both = await Promise.allSettled([database.backups.clone('a', 'b'), database.backups.clone('a', 'b')])
  t.same(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.same(
    database
      .collections()
      .map(({ name }) => name)
      .sort(),
    ['a', 'b'],
  )
  await database.collection('b').served()
  t.equal((await readdir(join(dataDir, 'imports'))).length, 1)
})

test('the cost of creating a clone does not depend on the size of the source', async (t) => {
  const costs: number[] = []
  for (const objects of [300, 3_000]) {
    const { engine, database, source, disk } = await world(t, seededRandom(seed + 7))
    const random = seededRandom(seed + 8)
    for (let index = 0; index < objects; index += 300)
      await source.upsert(
        Array.from({ length: 300 }, (_, i) => ({ id: `p${index + i}`, fields: { v: someVector(random) } })),
      )
    await engine.checkpoint()
    const before = disk.read + disk.written
    await database.backups.clone('a', 'b')
    costs.push(disk.read + disk.written - before)
  }
  const [small = 0, large = 0] = costs
  t.ok(large < small + 4_096, `${small} bytes read and written for 300 objects, ${large} for 3,000`)
})
