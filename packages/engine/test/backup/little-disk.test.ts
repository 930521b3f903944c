// A disk that is nearly full: history gives way first, the oldest of it, and writes go on; then what checkpoints hold of dropped
// collections goes at once, without waiting for the next checkpoint.
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, type Vfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { watchedVfs } from '../crash/watched-vfs.ts'
import { denseField, someVector, temporaryDirectory } from './rig.ts'

tap.setTimeout(120_000)
const seed = chosenSeed()
const plenty = 1e12
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }

interface World {
  readonly engine: Engine
  readonly dataDir: string
  readonly notices: string[]
  readonly disk: { free: number }
}

/** An engine whose disk says that so much is free as the test wants. */
async function world(t: Test, inner: Vfs, options: { readonly archive?: typeof archive }): Promise<World> {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const disk = { free: plenty }
  const notices: string[] = []
  const vfs = { ...inner, freeBytes: async () => disk.free }
  const onNotice = (sentence: string) => notices.push(sentence)
  const engine = await openEngine({ dataDir, threads: 1, onNotice, ...options }, { vfs })
  t.teardown(() => engine.close())
  return { engine, dataDir, notices, disk }
}

async function writeHistory(engine: Engine, random: Random, steps: number): Promise<void> {
  const collection = engine.database().collection('a')
  for (let step = 0; step < steps; step++) {
    const objects = Array.from({ length: 20 }, (_, i) => ({ id: `o${i}`, fields: { v: someVector(random) } }))
    await collection.upsert(objects)
    await engine.checkpoint()
  }
}

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const bases = (dataDir: string) => readdir(join(dataDir, 'archive', 'checkpoints'))

test(`history is removed before writes are rejected, and this is reported, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const { engine, dataDir, notices, disk } = await world(t, nodeVfs(), { archive })
  await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  await writeHistory(engine, random, 6)
  const before = await bases(dataDir)
  t.ok(before.length >= 3, `${before.length} checkpoints are archived`)
  const state = engine.database().collection('a').stateDigest()
  const { lsn } = engine.database().collection('a').describe()
  // Less than what is resumed at, more than what is stopped at.
  disk.free = 200 * 1024 * 1024
  await until(() => notices.length > 0)
  t.match(notices.join(), /^the disk is nearly full: \d+ bytes of history were removed/)
  await until(async () => (await bases(dataDir)).length === 0)
  await until(() => engine.stats().reach?.bytes === 0)
  t.match(engine.health(), { status: 'ok' }, 'the log goes back to the first record, so nothing is out of reach')
  await engine.database().collection('a').delete(['o1'])
  await engine.database().backups.restorePast('a', 'past', { lsn })
  t.equal(engine.database().collection('past').stateDigest(), state, 'what recovery needs still leads to it')
  disk.free = plenty
  await writeHistory(engine, random, 4)
  t.ok((await bases(dataDir)).length > 0, 'history is kept again')
})

test('a write without enough disk space causes the removal of history and is not rejected', async (t) => {
  const random = seededRandom(seed + 1)
  let isFull = false
  const { engine, dataDir, notices } = await world(
    t,
    watchedVfs(async ({ call, path }) => {
      if (isFull && call === 'write' && path.endsWith('.wal') && (await bases(dataDir)).length > 0)
        throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' })
    }),
    { archive },
  )
  await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  await writeHistory(engine, random, 6)
  isFull = true
  await engine
    .database()
    .collection('a')
    .upsert([{ id: 'new', fields: { v: someVector(random) } }])
  t.same(await bases(dataDir), [])
  t.match(notices.join(), /history were removed/)
  t.notMatch(notices.join(), /no more writes/)
  isFull = false
})

test('deleting a collection on a full disk frees its parts of checkpoints, and a start agrees', async (t) => {
  const random = seededRandom(seed + 2)
  const { engine, dataDir, disk } = await world(t, nodeVfs(), {})
  const database = engine.database()
  for (const name of ['a', 'b']) await database.createCollection({ name, fields: [denseField()] })
  await database.collection('b').upsert([{ id: 'x', fields: { v: someVector(random) } }])
  await writeHistory(engine, random, 2)
  const digest = database.collection('a').stateDigest()
  // Nothing is written any more but what frees something.
  disk.free = 1024
  await until(() => engine.health().status === 'read-only')
  await t.rejects(database.collection('a').upsert([{ id: 'y', fields: { v: someVector(random) } }]), {
    code: 'disk_full',
  })
  await database.collection('a').delete(['nothing'])
  const { lsnCheckpoint } = engine.stats()
  await database.deleteCollection('b')
  await until(async () =>
    (await readdir(dataDir, { recursive: true })).every((name) => !name.includes('collection-2-')),
  )
  t.equal(engine.stats().lsnCheckpoint, lsnCheckpoint, 'no checkpoint was needed')
  await engine.close()
  const again = await openEngine({ dataDir, threads: 1 })
  t.teardown(() => again.close())
  t.same(
    again
      .database()
      .collections()
      .map(({ name }) => name),
    ['a'],
  )
  t.equal(again.database().collection('a').stateDigest(), digest)
  t.same(again.health(), { status: 'ok', reasons: [] })
})

test('a kill while a deletion frees disk space leaves a directory that opens', async (t) => {
  const random = seededRandom(seed + 3)
  let look: (() => Promise<void>) | undefined
  let before: Promise<void> = Promise.resolve()
  // One call after another, so that nothing moves while somebody looks.
  const watched = watchedVfs(() => {
    if (look) before = before.then(look)
    return before
  })
  const { engine, dataDir, disk } = await world(t, watched, {})
  const database = engine.database()
  for (const name of ['a', 'b']) await database.createCollection({ name, fields: [denseField()] })
  await database.collection('b').upsert([{ id: 'x', fields: { v: someVector(random) } }])
  await writeHistory(engine, random, 2)
  const digest = database.collection('a').stateDigest()
  disk.free = 1024
  await until(() => engine.health().status === 'read-only')
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const found: string[] = []
  look = async () => {
    const copy = `${dataDir}-${found.length}`
    await cp(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    const left = await openEngine({ dataDir: copy }, { pool })
    const collections = left.database().collections()
    const { status, reasons } = left.health()
    found.push(`${status} ${reasons} ${left.database().collection('a').stateDigest() === digest} ${collections.length}`)
    await left.close()
  }
  await database.deleteCollection('b')
  await until(async () =>
    (await readdir(dataDir, { recursive: true })).every((name) => !name.includes('collection-2-')),
  )
  look = undefined
  await before
  const wrong = found.filter((one) => !/^ok {2}true [12]$/.test(one))
  t.same(wrong, [], `${found.length} looks, seed ${seed}`)
  t.ok(found.length > 8 && found.at(-1)?.endsWith('1'), `${found.length} looks`)
})

test('checkpoints, backups, clones, and restores on a full disk are refused with a code, and without a path', async (t) => {
  let isFull = false
  const vfs = watchedVfs(async ({ call, path }) => {
    const isOfLog = path.includes('/wal/')
    if (isFull && !isOfLog && ['create', 'write', 'link', 'make'].includes(call))
      throw Object.assign(new Error(`ENOSPC: no space left on device, ${path}`), { code: 'ENOSPC' })
  })
  const { engine, dataDir } = await world(t, vfs, {})
  const { backups } = engine.database()
  const collection = await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  await collection.upsert([{ id: '1', fields: { v: someVector(seededRandom(seed)) } }])
  await backups.create('a', 'before')
  await backups.settled()
  const digest = collection.stateDigest()
  const stream = await Readable.from(backups.download('before').stream).toArray()
  isFull = true
  const refusal = { code: 'read_only', message: 'the disk has no space for this' }
  await t.rejects(engine.checkpoint(), refusal)
  await t.rejects(engine.checkpoint(), refusal)
  t.match(engine.health(), { status: 'degraded', reasons: [/checkpoint failed: the disk has no space/] })
  t.equal(engine.health().reasons.length, 1, 'said once')
  await t.rejects(backups.clone('a', 'b'), refusal)
  await t.rejects(backups.restore('before', 'b'), refusal)
  await t.rejects(backups.restorePast('a', 'b', { lsn: engine.lsnApplied }), refusal)
  await t.rejects(backups.upload('again', Readable.from(stream)), refusal)
  await backups.create('a', 'after')
  await backups.settled()
  t.match(backups.status(), { status: 'failed', error: refusal.message })
  isFull = false
  t.equal(collection.stateDigest(), digest)
  await backups.clone('a', 'b')
  await engine.checkpoint()
  t.match(engine.health(), { status: 'ok', reasons: [] })
  t.same(await readdir(join(dataDir, 'imports')).then((names) => names.length), 1, 'nothing is left of the others')
})
