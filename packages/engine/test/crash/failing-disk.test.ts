// Every call of the library, with each of its disk operations failing once, with every errno. The caller gets an error with a code of Annal,
// never one of the operating system; what the call did not promise is not there, and the engine either goes on or says what to do. Closed, it
// holds no file, and a restart finds everything that was acknowledged. Short runs choose operations by the seed; the long form has all of them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Database, type Engine, EngineError } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { errnoOf, processFiles, WalError } from '@annal/wal'
import { chosenSeed, type DiskOperation, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { denseField } from '../backup/rig.ts'
import { World } from './simulated-machine.ts'

tap.setTimeout(3_600_000)

const seed = chosenSeed()
/** Failing operations of each call. */
const casesMax = process.env.ANNAL_LONG === '1' ? 1_000 : 1
const errnos = (process.env.ANNAL_ERRNOS ?? 'EIO,ENOSPC,EDQUOT,EROFS,EMFILE,ENFILE,EACCES').split(',')
/** Calls whose names match; all of them by default. */
const wanted = new RegExp(process.env.ANNAL_CALLS ?? '')

/** What calls work with: collection `a` with two checkpoints, records after them, and backup `b`. */
interface Stage {
  readonly engine: Engine
  readonly database: Database
  readonly a: Collection
  /** A moment before the newest checkpoint, and one after it. */
  readonly lsns: readonly [number, number]
}

const object = (id: string, n: number) => ({
  id,
  meta: { n },
  filter: { n },
  fields: { v: [n, 1, 2, 3, 4, 5, 6, 7], s: { indices: [n, n + 50], values: [1, 2] } },
})

async function drained(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  for await (const part of stream) parts.push(part.slice())
  return parts
}

async function* pieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

let uploaded: Uint8Array[] = []

/** Each call of the library that may touch the disk. */
const calls: Readonly<Record<string, (stage: Stage) => Promise<unknown>>> = {
  checkpoint: async ({ engine, a }) => {
    await a.upsert([object('x', 7)])
    await engine.checkpoint()
  },
  upsert: ({ a }) => a.upsert([object('y', 8), object('z', 9)]),
  patch: ({ a }) => a.patch([{ id: 'o1', meta: { m: 1 } }]),
  delete: ({ a }) => a.delete(['o2']),
  deleteWhere: ({ a }) => a.deleteWhere([{ n: { $eq: 3 } }]),
  updateFilters: ({ a }) => a.updateFilters([{ id: 'o4', filter: { n: 40 } }]),
  updateDefaults: ({ a }) => a.updateDefaults({ ttlSeconds: 1e6 }),
  rebuild: ({ a }) => a.rebuild({ v: { M: 6 } }),
  vacuum: ({ a }) => a.vacuum(),
  'get with vectors': ({ a }) => a.getMany(['o1', 'o5'], { includeVectors: true }),
  'search by originals': ({ a }) => a.search({ fields: { v: { query: [1, 1, 2, 3, 4, 5, 6, 7] } }, rescore: true }),
  recall: ({ a }) => a.recall({ field: 'v' }),
  calibrate: ({ a }) => a.calibrate({ field: 'v' }),
  'read of the past': async ({ a, lsns }) => {
    for (const lsn of lsns) await (await a.asOf({ lsn })).getMany(['o1'])
  },
  createCollection: ({ database }) => database.createCollection({ name: 'made', fields: [denseField()] }),
  deleteCollection: ({ database }) => database.deleteCollection('other'),
  putAlias: ({ database }) => database.putAlias('alias', 'a'),
  clone: async ({ database }) => {
    await database.backups.clone('a', 'made')
    await database.collection('made').served()
  },
  branch: async ({ database }) => {
    await database.branch('a', { name: 'made' })
    await database.collection('made').served()
  },
  'branch of the past': ({ database, lsns }) => database.branch('a', { name: 'made', asOf: { lsn: lsns[0] } }),
  promote: async ({ database }) => {
    await database.branch('a', { name: 'made' })
    await database.promote('made', { over: 'a', keepAs: 'before' })
  },
  restorePast: ({ database, lsns }) => database.backups.restorePast('a', 'made', { lsn: lsns[0] }),
  backup: async ({ database }) => {
    await database.backups.create('a', 'made')
    await database.backups.settled()
    const { status, error } = database.backups.status()
    // What a status says of an error of the operating system begins with its name.
    if (status !== 'completed' && /^E[A-Z]+\b/.test(error ?? ''))
      throw new Error(`the status of the backup says ${error}`)
  },
  restore: ({ database }) => database.backups.restore('b', 'made'),
  'restore to a moment': ({ database, lsns }) => database.backups.restore('b', 'made', { lsn: lsns[1] }),
  verify: ({ database }) => database.backups.verify('b', { deep: true }),
  'remove a backup': ({ database }) => database.backups.remove('b'),
  download: ({ database }) => drained(database.backups.download('b').stream),
  upload: ({ database }) => database.backups.upload('made', pieces(uploaded)),
  changes: async ({ database, lsns }) => {
    for await (const { lsn } of database.changes({ from: lsns[0] })) if (lsn >= lsns[1]) break
  },
  'acknowledge a cursor': ({ database, lsns }) => database.cursors.acknowledge('c', lsns[0]),
  events: ({ database }) => database.history.events(),
  activity: ({ database }) => database.history.activity(),
  versions: ({ database }) => database.history.versions({ collection: 'a', id: 'o1' }),
  diff: async ({ database, lsns }) => {
    for await (const _ of database.history.diff({ collection: 'a', from: { lsn: lsns[0] } })) {
      // Only the reading matters.
    }
  },
  undo: ({ database, lsns }) => database.history.undo({ collection: 'a', asOf: { lsn: lsns[0] }, ids: ['o3'] }),
  createDatabase: ({ engine }) =>
    engine.control.createDatabase({ name: 'd', type: 'pro', token: { name: 't', kind: 'r', hash: '0'.repeat(64) } }),
  putSetting: ({ engine }) => engine.control.putSetting('key', 'value'),
  close: ({ engine }) => engine.close(),
}

async function prepare(engine: Engine): Promise<Stage> {
  const database = engine.database()
  for (const name of ['a', 'other'])
    await database.createCollection({ name, fields: [denseField(), { name: 's', type: 'sparse' }] })
  const a = database.collection('a') as Collection
  await a.upsert(Array.from({ length: 20 }, (_, n) => object(`o${n}`, n)))
  await engine.checkpoint()
  const { lsn: early } = await a.upsert([object('o1', 11)])
  await engine.checkpoint()
  await database.backups.create('a', 'b')
  await database.backups.settled()
  const { lsn: late } = await a.delete(['o3', 'o9'])
  await a.upsert([object('o10', 12)])
  return { engine, database, a, lsns: [early, late] }
}

function isCoded(error: Error): error is EngineError | WalError {
  return (error instanceof EngineError || error instanceof WalError) && errnoOf(error) === undefined
}

/** The file of a path, without what differs from run to run. */
function kindOf(path: string): string {
  return path.replaceAll(/[0-9a-f]{8,}/g, '#').replaceAll(/\d+/g, '0')
}

test(`errors of the disk have codes of Annal (ANNAL_SEED=${seed})`, { timeout: 3_600_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-failing-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const options = { fsync: 'always', archive: { maxBytes: 1e12, maxAgeMs: 1e12 }, asOf: { windowSeconds: 0 } } as const
  const world = new World(dir, seededRandom(seed))
  const first = await world.open(pool, options)
  await prepare(first).then(async ({ database }) => {
    uploaded = await drained(database.backups.download('b').stream)
  })
  await first.close()
  const root = world.disk.root.copy()
  const random = seededRandom(seed)

  /** Runs a call on a copy of the directory; `fail` chooses the operation that fails. */
  const run = async (
    name: string,
    fail: (operation: DiskOperation, number: number) => string | undefined,
  ): Promise<{ readonly operations: DiskOperation[]; readonly faults: string[]; readonly outcome: string }> => {
    const operations: DiskOperation[] = []
    const faults: string[] = []
    world.disk.replaceRoot(root.copy())
    world.disk.restart('kill')
    const heldBefore = processFiles.taken
    const engine = await world.open(pool, options)
    const database = engine.database()
    const a = database.collection('a') as Collection
    const lsn = a.describe().lsn
    const digest = a.stateDigest()
    let failed: string | undefined
    world.disk.faults = (operation) => {
      operations.push(operation)
      const errno = failed === undefined ? fail(operation, operations.length - 1) : undefined
      if (errno === undefined) return undefined
      failed = `${errno} of ${operation.call} ${kindOf(operation.path)}`
      return { errno }
    }
    let outcome = 'succeeded'
    const call = calls[name] as (stage: Stage) => Promise<unknown>
    await call({ engine, database, a, lsns: [lsn - 3, lsn - 1] }).catch((error: Error) => {
      outcome = isCoded(error) ? error.code : 'raw'
      if (!isCoded(error)) faults.push(`${failed}: ${error.stack?.split('\n').slice(0, 2).join(' ')}`)
    })
    world.disk.faults = undefined
    if (name !== 'close') {
      const health = engine.health()
      if (health.status !== 'ok' && health.reasons.length === 0)
        faults.push(`${failed}: ${health.status}, without a reason`)
      if (health.reasons.some((reason) => /^E[A-Z]{2,}\b/.test(reason)))
        faults.push(`${failed}: health says ${health.reasons}`)
      await engine.close().catch((error: Error) => {
        if (!isCoded(error)) faults.push(`${failed}: close says ${error.stack}`)
      })
    }
    world.disk.restart('kill')
    const again = await world.open(pool, options)
    const state = again.database().collection('a')
    if (outcome !== 'succeeded' && /^(clone|branch|restore|backup|verify|download|upload|changes|read)/.test(name)) {
      if (state.stateDigest() !== digest) faults.push(`${failed}: the collection is another one after a restart`)
    }
    await again.close()
    if (processFiles.taken > heldBefore) faults.push(`${failed}: files of originals are still open`)
    return { operations, faults, outcome }
  }

  const tally = new Map<string, number>()
  const wrong: string[] = []
  for (const name of Object.keys(calls)) {
    if (!wanted.test(name)) continue
    const plain = await run(name, () => undefined)
    t.equal(plain.outcome, 'succeeded', `${name} runs, with ${plain.operations.length} disk operations`)
    // One for each kind of operation on each kind of file, in random order.
    const kinds = new Map<string, number>()
    for (const [number, { call, path }] of plain.operations.entries()) kinds.set(`${call} ${kindOf(path)}`, number)
    const numbers = [...kinds.values()].map((number) => [random.next(), number] as const).sort(([x], [y]) => x - y)
    for (const [, number] of numbers.slice(0, casesMax)) {
      const chosen = process.env.ANNAL_LONG === '1' ? errnos : [errnos[random.below(errnos.length)] as string]
      for (const errno of chosen) {
        const { outcome, faults } = await run(name, (_, at) => (at === number ? errno : undefined))
        tally.set(`${name}: ${outcome}`, (tally.get(`${name}: ${outcome}`) ?? 0) + 1)
        wrong.push(...faults.map((fault) => `${name}: ${fault}`))
      }
    }
  }
  t.comment(JSON.stringify(Object.fromEntries([...tally].sort())))
  t.same([...new Set(wrong)], [])
})
