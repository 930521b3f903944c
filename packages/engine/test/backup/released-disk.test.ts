// What dropped collections held on the disk comes back: the images of clones and restores with the drop, what a checkpoint held
// with the next one. A crash on the way loses nothing, and where history or the whole log is kept everything stays reachable.
import { cp, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Engine, openEngine, restoreDataDirectory, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import type { Vfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { watchedVfs } from '../crash/watched-vfs.ts'
import { backedUp, denseField, openedEngine, someVector, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
tap.setTimeout(300_000)
const fields = [denseField()]

async function fillCollection(collection: Collection, random: Random, count: number): Promise<void> {
  const meta = { text: 'x'.repeat(1_000) }
  const objects = Array.from({ length: count }, (_, i) => ({ id: `o${i}`, meta, fields: { v: someVector(random) } }))
  await collection.upsert(objects)
}

/** Entries below a directory, and the bytes of its files; one with several names counts once. */
async function bytesOnDisk(dir: string): Promise<{ readonly entries: number; readonly bytes: number }> {
  const seen = new Set<number>()
  let bytes = 0
  const names = await readdir(dir, { recursive: true })
  for (const name of names) {
    const facts = await lstat(join(dir, name))
    if (facts.isFile() && !seen.has(facts.ino)) bytes += facts.size
    seen.add(facts.ino)
  }
  return { entries: names.length, bytes }
}

const imports = async (dataDir: string): Promise<string[]> => readdir(join(dataDir, 'imports')).catch(() => [])

/** Files of collections that are not in the catalog, wherever they lie. */
async function strangers(dataDir: string, living: readonly number[]): Promise<string[]> {
  const names = await readdir(dataDir, { recursive: true })
  return names.filter((name) => {
    const id = /collection-(\d+)-/.exec(name)?.[1]
    return id !== undefined && !living.includes(Number(id))
  })
}

test('deleting clones and restores repeatedly leaves nothing behind', async (t) => {
  const engine = await openedEngine(t)
  const { dataDir } = engine
  const random = seededRandom(seed)
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await fillCollection(source, random, 1_000)
  await backedUp(database, 'a', 'kept')
  const sizes: { readonly entries: number; readonly bytes: number }[] = []
  for (let i = 0; i < 12; i++) {
    await fillCollection(source, random, 10)
    await engine.checkpoint()
    if (i % 2 === 0) await database.backups.clone('a', 'b')
    else await database.backups.restore('kept', 'b')
    await database.collection('b').served()
    // One that a checkpoint holds, and one that none ever held.
    if (i % 3 === 0) await engine.checkpoint()
    await database.deleteCollection('b')
    await source.delete([`o${i}`])
    await engine.checkpoint()
    t.same(await imports(dataDir), [], `round ${i}: no image`)
    t.same(await strangers(dataDir, [1]), [], `round ${i}: no file`)
    sizes.push(await bytesOnDisk(dataDir))
  }
  const [early, late] = [sizes[2], sizes.at(-1)]
  t.ok(late && early && late.entries <= early.entries, `${early?.entries} entries became ${late?.entries}`)
  // Only the log and the snapshots of the source itself grow.
  t.ok(late && early && late.bytes - early.bytes < 1_000_000, `${early?.bytes} bytes became ${late?.bytes}`)
  t.same(engine.health(), { status: 'ok', reasons: [] })
})

test('the image of a clone is removed when two checkpoints contain the clone', async (t) => {
  const engine = await openedEngine(t)
  const { dataDir } = engine
  const random = seededRandom(seed + 1)
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await fillCollection(source, random, 100)
  await engine.checkpoint()
  await database.backups.clone('a', 'b')
  await database.collection('b').served()
  const digest = database.collection('b').stateDigest()
  const kept: number[] = []
  for (let i = 0; i < 3; i++) {
    await source.delete([`o${i}`])
    await engine.checkpoint()
    kept.push((await imports(dataDir)).length)
  }
  t.same(kept, [1, 0, 0])
  const past = database.backups.restorePast('b', 'c', { lsn: engine.stats().lsnApplied })
  await past
  t.equal(database.collection('c').stateDigest(), digest)
  await database.deleteCollection('c')
  await engine.close()
  t.match(await verifyDataDirectory({ dataDir, deep: true, threads: 1 }), { isGood: true })
  const again = await openedEngine(t, { dataDir })
  t.equal(again.database().collection('b').stateDigest(), digest)
  t.same(again.health(), { status: 'ok', reasons: [] })
})

/** A life whose disk calls number `from` to `to` are each preceded by a look at what a kill there would leave. */
async function livedUnderLooks(dataDir: string, look: () => Promise<void>, every: number): Promise<number> {
  let calls = 0
  let isLooking = false
  let before: Promise<void> = Promise.resolve()
  // One call after another, so that nothing moves while somebody looks.
  const vfs: Vfs = watchedVfs(() => {
    if (isLooking && ++calls % every === 0) before = before.then(look)
    return before
  })
  const pool = await openWorkerPool({ threads: 1 })
  const engine = await openEngine({ dataDir }, { vfs, pool })
  const random = seededRandom(seed + 2)
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await fillCollection(source, random, 20)
  await backedUp(database, 'a', 'kept')
  await engine.checkpoint()
  isLooking = true
  await database.backups.clone('a', 'b')
  await database.collection('b').served()
  await source.delete(['o1'])
  await engine.checkpoint()
  await database.backups.restore('kept', 'c')
  await database.deleteCollection('b')
  await engine.checkpoint()
  await database.deleteCollection('c')
  await source.delete(['o2'])
  await engine.checkpoint()
  isLooking = false
  await engine.close()
  await pool.close()
  return calls
}

test('a kill at any moment of removing images and files loses nothing', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  let looks = 0
  const faults: string[] = []
  const openCopy = async (spoil: (copy: string) => Promise<void>, what: string) => {
    const copy = `${dataDir}-copy`
    await cp(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    await spoil(copy)
    const engine = await openEngine({ dataDir: copy, threads: 1 }, { pool })
    const { status, reasons } = engine.health()
    if (status !== 'ok') faults.push(`${what}, look ${looks}: ${status} ${reasons}`)
    const digests = digestsOf(engine)
    await engine.close()
    await rm(copy, { recursive: true })
    return digests
  }
  const look = async () => {
    looks++
    const digests = await openCopy(async () => undefined, 'as it is')
    // The state is the same from the older checkpoint.
    const older = await openCopy(async (copy) => {
      const [newest] = (await readdir(join(copy, 'checkpoints')))
        .filter((name) => /^\d/.test(name))
        .sort()
        .reverse()
      const others = (await readdir(join(copy, 'checkpoints'))).filter((name) => /^\d/.test(name)).length
      if (newest && others > 1) await rm(join(copy, 'checkpoints', newest), { recursive: true })
    }, 'from the older checkpoint')
    if (String(digests) !== String(older)) faults.push(`look ${looks}: ${digests} and, from the older, ${older}`)
  }
  const calls = await livedUnderLooks(dataDir, look, process.env.ANNAL_LONG === '1' ? 1 : 5)
  t.same(faults, [], `${looks} looks among ${calls} calls, seed ${seed}`)
  t.ok(looks > 20, `${looks} looks`)
})

function digestsOf(engine: Engine): string[] {
  const database = engine.database()
  return database.collections().map(({ name }) => `${name} ${database.collection(name).stateDigest()}`)
}

test('with history every moment of a deleted clone stays reachable, and its image is removed with that history', async (t) => {
  let nowMs = 1_700_000_000_000
  const clock = { now: () => nowMs, monotonic: () => nowMs }
  const archive = { maxBytes: 1e12, maxAgeMs: 3_600_000 }
  const engine = await openedEngine(t, { archive, clock })
  const { dataDir } = engine
  const random = seededRandom(seed + 3)
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await fillCollection(source, random, 50)
  await engine.checkpoint()
  const moments: { readonly lsn: number; readonly digest: string }[] = []
  const note = (collection: Collection) =>
    moments.push({ lsn: engine.stats().lsnApplied, digest: collection.stateDigest() })
  await database.backups.clone('a', 'b')
  await database.collection('b').served()
  note(database.collection('b'))
  await fillCollection(database.collection('b'), random, 10)
  note(database.collection('b'))
  await database.deleteCollection('b')
  const step = async () => {
    nowMs += 600_000
    await fillCollection(source, random, 2)
    await engine.checkpoint()
  }
  for (let i = 0; i < 3; i++) await step()
  t.equal((await imports(dataDir)).length, 1)
  for (const { lsn, digest } of moments) {
    await database.backups.restorePast('b', 'past', { lsn })
    t.equal(database.collection('past').stateDigest(), digest, `LSN ${lsn}`)
    await database.deleteCollection('past')
    const to = join(await temporaryDirectory(t), 'restored')
    await restoreDataDirectory({ from: dataDir, to, lsn })
    const restored = await openedEngine(t, { dataDir: to })
    t.equal(restored.database().collection('b').stateDigest(), digest, `the directory as of LSN ${lsn}`)
  }
  for (let i = 0; i < 14; i++) await step()
  t.same(await imports(dataDir), [], 'older than the window')
  await t.rejects(database.backups.restorePast('b', 'past', { lsn: moments[0]?.lsn ?? 0 }), {
    code: 'restore_unreachable',
  })
  t.same(engine.health(), { status: 'ok', reasons: [] })
})

test('the image of a clone is removed with the window in which it was deleted, even without further writes', async (t) => {
  let nowMs = 1_700_000_000_000
  const hourMs = 3_600_000
  const dataDir = join(await temporaryDirectory(t), 'data')
  const options = { dataDir, threads: 1, archive: { maxBytes: 1e12, maxAgeMs: hourMs }, clock: { now: () => nowMs } }
  let engine = await openEngine(options)
  t.teardown(() => engine.close())
  const random = seededRandom(seed + 6)
  await fillCollection(await engine.database().createCollection({ name: 'a', fields }), random, 50)
  const other = await engine.control.createDatabase({ name: 'other', type: 'enterprise' })
  await fillCollection(await engine.database(other.name).createCollection({ name: 'a', fields }), random, 50)
  await engine.checkpoint()
  const cloned = async (database: string, name: string) => {
    await engine.database(database).backups.clone('a', name)
    await engine.database(database).collection(name).served()
  }
  /** A start removes what is no longer needed, as the timer of a running engine does. */
  const reopened = async () => {
    await engine.close()
    engine = await openEngine(options)
    return (await imports(dataDir)).length
  }
  let lsnOfB = 0
  for (let i = 0; i < 3; i++) {
    await cloned('default', 'b')
    lsnOfB = engine.stats().lsnApplied
    await engine.database().deleteCollection('b')
  }
  await cloned('other', 'b')
  await engine.control.deleteDatabase('other')
  await cloned('default', 'living')
  t.equal((await imports(dataDir)).length, 5)
  const { lsnApplied } = engine.stats()
  nowMs += hourMs - 1
  t.equal(await reopened(), 5, 'within the window')
  nowMs += 1
  t.equal(await reopened(), 1, 'the clone that lives keeps its image')
  await engine.checkpoint()
  nowMs += 10 * hourMs
  await reopened()
  await t.rejects(engine.database().backups.restorePast('b', 'past', { lsn: lsnOfB }), {
    code: 'restore_unreachable',
  })
  const to = join(await temporaryDirectory(t), 'restored')
  await engine.close()
  await restoreDataDirectory({ from: dataDir, to, lsn: lsnApplied })
  const restored = await openedEngine(t, { dataDir: to })
  t.same(restored.health(), { status: 'ok', reasons: [] }, 'a directory can be restored without the images')
  t.same(
    restored
      .database()
      .collections()
      .map(({ name }) => name)
      .sort(),
    ['a', 'living'],
  )
  t.match(await verifyDataDirectory({ dataDir, deep: true, threads: 1 }), { isGood: true })
  engine = await openEngine(options)
})

test('an engine that keeps the whole log keeps the files that its replay needs', async (t) => {
  const engine = await openedEngine(t, { keepLog: true })
  const random = seededRandom(seed + 4)
  const database = engine.database()
  const source = await database.createCollection({ name: 'a', fields })
  await fillCollection(source, random, 50)
  await database.backups.clone('a', 'b')
  await database.collection('b').served()
  await database.deleteCollection('b')
  for (let i = 0; i < 3; i++) {
    await source.delete([`o${i}`])
    await engine.checkpoint()
  }
  t.equal((await imports(engine.dataDir)).length, 1)
})

test('a checkpoint that fails leaves nothing on the disk', async (t) => {
  let isFull = false
  const vfs = watchedVfs(async ({ call, path }) => {
    if (isFull && call === 'write' && path.includes('/checkpoints/'))
      throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' })
  })
  const dataDir = join(await temporaryDirectory(t), 'data')
  const engine = await openEngine({ dataDir, threads: 1 }, { vfs })
  t.teardown(() => engine.close())
  const source = await engine.database().createCollection({ name: 'a', fields })
  await fillCollection(source, seededRandom(seed + 5), 50)
  await engine.checkpoint()
  const before = await readdir(dataDir, { recursive: true })
  await source.delete(['o1'])
  isFull = true
  await t.rejects(engine.checkpoint(), { code: 'read_only' })
  t.same(await readdir(dataDir, { recursive: true }), before)
  isFull = false
  await engine.checkpoint()
})
