// While a backup is made nobody notices: searches and writes go on, whatever becomes of the backup. What it leaves behind when it
// fails is nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, type Vfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { backedUp, denseField, openedEngine, runRandomLife, someVector, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
tap.setTimeout(900_000)

async function fillCollection(engine: Engine, name: string, objects: number, random: Random): Promise<Collection> {
  const collection = await engine.database().createCollection({ name, fields: [denseField()] })
  for (let index = 0; index < objects; index += 500) {
    const count = Math.min(500, objects - index)
    const batch = Array.from({ length: count }, (_, i) => ({ id: `o${index + i}`, fields: { v: someVector(random) } }))
    await collection.upsert(batch)
  }
  return collection
}

/** Writes and searches until stopped; returns how long writes took and how many searches failed. */
function load(collection: Collection, random: Random) {
  const waits: number[] = []
  let failed = 0
  let searches = 0
  let wanted = true
  const writing = async (writer: number): Promise<void> => {
    for (let i = 0; wanted; i++) {
      const began = performance.now()
      await collection.upsert([{ id: `w${writer}-${i % 50}`, fields: { v: someVector(random) } }])
      waits.push(performance.now() - began)
    }
  }
  const searching = async (): Promise<void> => {
    while (wanted) {
      searches++
      const query = { fields: { v: { query: someVector(random), limit: 5 } } }
      const found = await collection.search(query).catch(() => undefined)
      if ((found?.results.v ?? []).length !== 5) failed++
      await new Promise(setImmediate)
    }
  }
  const all = [...[0, 1, 2, 3].map(writing), ...[0, 1, 2, 3].map(searching)]
  return async () => {
    wanted = false
    await Promise.all(all)
    return { waits: waits.sort((a, b) => a - b), failed, searches }
  }
}

test(`a backup under load is as of one moment, and no call fails (ANNAL_SEED=${seed})`, {
  timeout: 300_000,
}, async (t) => {
  const random = seededRandom(seed)
  const engine = await openedEngine(t)
  const database = engine.database()
  const collection = await fillCollection(engine, 'a', long ? 100_000 : 1_500, random)
  const stop = load(collection, random)
  for (let i = 0; i < 5; i++) await backedUp(database, 'a', `b${i}`)
  const { failed, searches, waits } = await stop()
  t.equal(failed, 0, `${searches} searches`)
  t.ok(waits.length >= 4, 'every writer wrote')
  for (let i = 0; i < 5; i++) {
    const { digest } = database.backups.info(`b${i}`)
    await database.backups.restore(`b${i}`, `r${i}`)
    t.same(await database.backups.verify(`b${i}`, { deep: true }), [])
    if (digest !== '') t.equal(database.collection(`r${i}`).stateDigest(), digest)
  }
})

/** A disk on which the links of backups are not made until they may be. */
function reluctant(): { readonly vfs: Vfs; readonly requested: Promise<void>; readonly allow: () => void } {
  const inner = nodeVfs()
  const [requested, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const vfs: Vfs = {
    ...inner,
    async link(from, to) {
      if (to.includes('/backups/')) {
        requested.resolve()
        await allowed.promise
      }
      return inner.link(from, to)
    },
  }
  return { vfs, requested: requested.promise, allow: allowed.resolve }
}

test('while the disk delays a backup, writers and searchers continue, and the backup contains none of their writes', async (t) => {
  const random = seededRandom(seed + 4)
  const { vfs, requested, allow } = reluctant()
  const engine = await openEngine({ dataDir: await temporaryDirectory(t), threads: 1 }, { vfs })
  t.teardown(() => engine.close())
  const collection = await fillCollection(engine, 'a', 600, random)
  await engine.checkpoint()
  const before = collection.stateDigest()
  const { backups } = engine.database()
  await backups.create('a', 'slow')
  await requested
  await collection.upsert([{ id: 'meanwhile', fields: { v: someVector(random) } }])
  t.equal((await collection.search({ fields: { v: { query: someVector(random), limit: 5 } } })).results.v?.length, 5)
  t.equal(backups.status().status, 'running', 'it still waits for the disk')
  t.type(backups.status().heldMs, 'number')
  allow()
  await backups.settled()
  t.equal(backups.status().status, 'completed')
  await backups.restore('slow', 'b')
  t.equal(engine.database().collection('b').stateDigest(), before)
})

test('a second backup of an unchanged collection shares all files with the first', async (t) => {
  const engine = await openedEngine(t)
  const random = seededRandom(seed + 1)
  await fillCollection(engine, 'a', 1_000, random)
  await engine.checkpoint()
  await runRandomLife(engine.database().collection('a'), random, 5)
  await backedUp(engine.database(), 'a', 'first')
  const inodes = async () => {
    const { stat } = await import('node:fs/promises')
    const found = new Map<number, number>()
    const dir = join(engine.dataDir, 'backups')
    for (const id of await readdir(dir)) {
      for (const name of await readdir(join(dir, id))) {
        const { ino, size } = await stat(join(dir, id, name))
        found.set(ino, size)
      }
    }
    return [...found.values()].reduce((sum, size) => sum + size, 0)
  }
  const before = await inodes()
  await backedUp(engine.database(), 'a', 'second')
  t.ok((await inodes()) - before < 10_000, 'a manifest and nothing else')
  t.equal(engine.database().backups.info('second').digest, engine.database().collection('a').stateDigest())
})

test('of many concurrent requests for one backup, one succeeds', async (t) => {
  const engine = await openedEngine(t)
  await fillCollection(engine, 'a', 50, seededRandom(seed))
  const { backups } = engine.database()
  for (let race = 0; race < (long ? 100 : 10); race++) {
    const creations = Array.from({ length: 10 }, (_, i) => backups.create('a', `r${race}-${i}`).catch((error) => error))
    const answers = await Promise.all(creations)
    t.equal(answers.filter(({ name }) => name?.startsWith('r')).length, 1)
    t.ok(answers.every((answer) => answer.code === undefined || answer.code === 'backup_running'))
    await backups.settled()
    t.equal(backups.list().length, race + 1)
  }
})

/** A disk that refuses what a backup asks of it. */
function refusing(refusal: () => Error | undefined): Vfs {
  const inner = nodeVfs()
  const check = (path: string) => {
    const error = path.includes('/backups/') ? refusal() : undefined
    if (error) throw error
  }
  return {
    ...inner,
    async open(path, mode) {
      if (mode !== 'read') check(path)
      return inner.open(path, mode)
    },
    async link(from, to) {
      check(to)
      return inner.link(from, to)
    },
    async rename(from, to) {
      check(to)
      return inner.rename(from, to)
    },
  }
}

test('writers continue however a backup ends, and a failed one leaves nothing behind', async (t) => {
  let refusal: Error | undefined
  const dataDir = await temporaryDirectory(t)
  const pool = await openWorkerPool({ threads: 1 })
  const engine = await openEngine({ dataDir }, { vfs: refusing(() => refusal), pool })
  t.teardown(async () => {
    await engine.close()
    await pool.close()
  })
  const collection = await fillCollection(engine, 'a', 200, seededRandom(seed))
  const { backups } = engine.database()
  const endings: [string, () => Promise<unknown>][] = [
    ['good', async () => backups.create('a', 'good')],
    ...['ENOSPC', 'EIO', 'EROFS', 'EMFILE'].map((errno): [string, () => Promise<unknown>] => [
      errno,
      async () => {
        refusal = Object.assign(new Error(`${errno}: refused`), { code: errno })
        await backups.create('a')
      },
    ]),
    [
      'out of memory',
      async () => {
        refusal = new RangeError('Array buffer allocation failed')
        await backups.create('a')
      },
    ],
    [
      'cancelled',
      async () => {
        await backups.create('a')
        t.ok(await backups.cancel(), 'there was one to cancel')
      },
    ],
    [
      'a thread is lost',
      async () => {
        await Promise.all([backups.create('a', 'good'), pool.loseWorker(0)])
      },
    ],
    [
      'dropped',
      async () => {
        await engine.database().createCollection({ name: 'gone', fields: [denseField()] })
        await backups.create('gone')
        await engine.database().deleteCollection('gone')
      },
    ],
  ]
  const rounds = long ? 20 : 1
  for (const [name, act] of Array.from({ length: rounds }, () => endings).flat()) {
    await act()
    await backups.settled()
    refusal = undefined
    t.match(backups.status().status, /completed|failed/, name)
    if (backups.list().length > 0) await backups.remove('good')
    if (name === 'cancelled') t.match(backups.status(), { status: 'failed', error: /canceled/ })
    await collection.upsert([{ id: 'after', fields: { v: someVector(seededRandom(1)) } }])
    const left = (await readdir(join(dataDir, 'backups'))).filter((folder) => folder.startsWith('tmp-'))
    t.same(left, [], `${name} leaves nothing`)
  }
  await backups.create('a', 'cut-short')
  await engine.close()
  const again = await openedEngine(t, { dataDir })
  t.ok(['idle'].includes(again.database().backups.status().status), 'nothing resumes')
})

test('a backup and a restore that take too long are canceled', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const inner = nodeVfs()
  const vfs: Vfs = {
    ...inner,
    async link(from, to) {
      if (/\/(backups|imports)\//.test(to)) await sleep(5)
      return inner.link(from, to)
    },
  }
  const unlimited = await openEngine({ dataDir, threads: 1 }, { vfs })
  await fillCollection(unlimited, 'a', 50, seededRandom(seed))
  await unlimited.checkpoint()
  await backedUp(unlimited.database(), 'a', 'whole')
  await unlimited.close()
  const engine = await openEngine({ dataDir, threads: 1, limits: { backupMsMax: 1 } }, { vfs })
  t.teardown(() => engine.close())
  const { backups } = engine.database()
  await backups.create('a', 'slow')
  await backups.settled()
  t.match(backups.status(), { status: 'failed', error: /longer than 1 ms/ })
  await t.rejects(backups.restore('whole', 'b'), { code: 'cancelled', details: { field: 'backupMsMax', limit: 1 } })
  t.match(backups.restoreStatus(), { status: 'failed' })
  await nothingLeft(t, dataDir, 1)
})

test('a canceled restore leaves nothing behind, and a clone cannot be canceled', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1 })
  t.teardown(() => engine.close())
  await fillCollection(engine, 'a', 500, seededRandom(seed))
  const database = engine.database()
  const { backups } = database
  await engine.checkpoint()
  await backedUp(database, 'a', 'kept')
  t.notOk(await backups.cancel(), 'nothing runs')
  t.notOk(backups.cancelRestore())
  const { lsnApplied } = engine.stats()
  for (const restore of [
    () => backups.restore('kept', 'b'),
    () => backups.restorePast('a', 'b', { lsn: lsnApplied }),
  ]) {
    let hasEnded = false
    const restoring = restore().finally(() => {
      hasEnded = true
    })
    const refused = t.rejects(restoring, { code: 'cancelled' })
    while (!hasEnded && !backups.cancelRestore()) await new Promise(setImmediate)
    await refused
    t.match(backups.restoreStatus(), { status: 'failed', error: 'the restore was canceled' })
    t.equal(engine.stats().lsnApplied, lsnApplied)
    await nothingLeft(t, dataDir, 1)
  }
  await backups.clone('a', 'copy')
  t.notOk(backups.cancelRestore())
  await database.collection('copy').served()
  await backups.restore('kept', 'b')
  t.equal(database.collection('b').stateDigest(), database.collection('copy').stateDigest())
})

async function nothingLeft(t: Test, dataDir: string, backups: number): Promise<void> {
  t.equal((await readdir(join(dataDir, 'backups'))).length, backups)
  t.same(await readdir(join(dataDir, 'imports')).catch(() => []), [])
  const originals = await readdir(join(dataDir, 'originals'))
  t.ok(
    originals.every((name) => name.startsWith('collection-1-')),
    'no file of a collection that never was',
  )
}

test('a process that is killed during backups leaves complete ones and nothing else', {
  timeout: 600_000,
}, async (t) => {
  const random = seededRandom(seed + 3)
  const dataDir = await mkdtemp(join(tmpdir(), 'annal-backup-kill-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  const program = fileURLToPath(new URL('backup-forever.ts', import.meta.url))
  for (let round = 0; round < (long ? 50 : 4); round++) {
    const child = spawn(process.execPath, ['--conditions=annal-source', program, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, random.below(150)))
    child.kill('SIGKILL')
    await once(child, 'exit')
    await checkBackups(t, dataDir, `round ${round}`)
  }
})

async function checkBackups(t: Test, dataDir: string, label: string): Promise<void> {
  const engine = await openEngine({ dataDir, threads: 1 })
  const { backups } = engine.database()
  // A process that was killed before its first backup left no folder for them.
  const names = await readdir(join(dataDir, 'backups')).catch(() => [])
  t.equal(names.length, backups.list().length, `${label}: every folder is a backup`)
  for (const { name } of backups.list().slice(-2)) t.same(await backups.verify(name, { deep: true }), [], label)
  await backedUp(engine.database(), 'a', `after-${label.replaceAll(' ', '-')}`)
  await engine.close()
}
