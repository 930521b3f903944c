// Arguments that no program means to pass: nothing, numbers for objects, symbols, objects without a prototype, buffers that were given away,
// and objects whose properties throw. A call succeeds, or fails with an error of the engine or the one that the argument threw.
// wrong-shapes.test.ts replaces the parts of valid arguments.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WalError } from '@annal/wal'
import { test } from 'tap'
import {
  type Collection,
  type Database,
  type Engine,
  EngineError,
  openEngine,
  restoreDataDirectory,
  verifyArchive,
  verifyDataDirectory,
} from '../src/index.ts'

const params = { dimension: 2, spaceType: 'l2', M: 8, efConstruction: 40 } as const
const thrown = new Error('of the argument')
const fail = (): never => {
  throw thrown
}
const detached = new Float32Array([1, 2])
structuredClone(detached.buffer, { transfer: [detached.buffer] })

const values: Readonly<Record<string, unknown>> = {
  ...{
    null: null,
    undefined: undefined,
    zero: 0,
    'an empty text': '',
    'a list': [],
    'an object': {},
    'a symbol': Symbol('s'),
  },
  ...{
    'a bigint': 7n,
    'a function': () => 1,
    'no prototype': Object.create(null),
    'a sparse list': new Array(5),
    detached,
  },
  'a proxy that throws': new Proxy({}, { get: fail, has: fail, ownKeys: fail, getOwnPropertyDescriptor: fail }),
  frozen: Object.freeze([Object.freeze({})]),
  'a huge list': new Array(1_000_000).fill(null),
}

/** Each call with the value in the place of one of its arguments. */
function callsOf(engine: Engine, database: Database, a: Collection): Record<string, (value: never) => unknown> {
  const { backups, history, cursors } = database
  const restored = { collection: 'a', asOf: { lsn: 2 }, ids: ['nobody'] }
  return {
    changes: (value) => database.changes(value),
    'asOf, moment': (value) => a.asOf(value),
    'asOf, options': (value) => a.asOf({ lsn: 2 }, value),
    'asOf of a database, name': (value) => database.asOf(value, { lsn: 2 }),
    events: (value) => history.events(value),
    activity: (value) => history.activity(value),
    versions: (value) => history.versions(value),
    diff: (value) => history.diff(value).next(),
    undo: (value) => history.undo(value),
    'undo, options': (value) => history.undo(restored, value),
    upsert: (value) => a.upsert(value),
    'upsert, a vector': (value) => a.upsert([{ id: 'q', fields: { v: value } }]),
    'upsert, meta': (value) => a.upsert([{ id: 'q', meta: value, fields: { v: [1, 2] } }]),
    'upsert, filter': (value) => a.upsert([{ id: 'q', filter: value, fields: { v: [1, 2] } }]),
    'getMany, options': (value) => a.getMany(['a'], value),
    search: (value) => a.search(value),
    count: (value) => a.count(value),
    collection: (value) => database.collection(value),
    deleteCollection: (value) => database.deleteCollection(value),
    putAlias: (value) => database.putAlias('alias', value),
    deleteAlias: (value) => database.deleteAlias(value),
    'branch, name': (value) => database.branch(value, { name: 'made' }),
    branches: (value) => database.branches(value),
    backup: (value) => backups.create(value),
    info: (value) => backups.info(value),
    remove: (value) => backups.remove(value),
    restore: (value) => backups.restore(value, 'made'),
    restorePast: (value) => backups.restorePast(value, 'made', { lsn: 2 }),
    clone: (value) => backups.clone(value, 'made'),
    verify: (value) => backups.verify(value),
    'verify, options': (value) => backups.verify('nothing', value),
    download: (value) => backups.download(value),
    upload: (value) => backups.upload('made', value),
    'delete a cursor': (value) => cursors.delete(value),
    deleteToken: (value) => engine.control.deleteToken('default', value),
    repeat: (value) => engine.repeat(value),
    limitGraphThreads: (value) => engine.limitGraphThreads(value),
    'limitGraphThreads, options': (value) => engine.limitGraphThreads(1, value),
    verifyDataDirectory: (value) => verifyDataDirectory(value),
    'verifyDataDirectory, path': (value) => verifyDataDirectory({ dataDir: value }),
    verifyArchive: (value) => verifyArchive(value),
    'verifyArchive, path': (value) => verifyArchive({ dataDir: value }),
    restoreDataDirectory: (value) => restoreDataDirectory(value),
    'restoreDataDirectory, from': (value) => restoreDataDirectory({ from: value, to: '/nowhere/at/all' }),
    'restoreDataDirectory, to': (value) => restoreDataDirectory({ from: '/nowhere/at/all', to: value }),
  }
}

test('hostile arguments are refused with an error of the engine, and nothing changes', {
  timeout: 600_000,
}, async (t) => {
  const engine = await openEngine({ dataDir: t.testdir(), threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const database = engine.database()
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const a = (await database.createCollection({ name: 'a', fields })) as Collection
  await a.upsert([{ id: 'a', fields: { v: [1, 2] } }])
  const faults: string[] = []
  for (const [name, call] of Object.entries(callsOf(engine, database, a)))
    for (const [what, value] of Object.entries(values)) {
      try {
        await call(value as never)
      } catch (error) {
        const isKnown = error === thrown || error instanceof EngineError || error instanceof WalError
        if (!isKnown) faults.push(`${name} with ${what}: ${error}`)
      }
    }
  t.same(faults, [])
  t.same(
    database.collections().map(({ name, objects }) => [name, objects]),
    [['a', 2]],
    'absent meta and filters are none: object q was stored',
  )
  t.equal(engine.health().status, 'ok')
})

test('options of an engine that are no objects are refused', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-options-'))
  t.teardown(() => rm(dir, { recursive: true }))
  for (const name of ['limits', 'asOf', 'clock', 'memory', 'requestKeys', 'embed'])
    for (const value of [null, 0, 'x', []]) {
      const refused = openEngine({ dataDir: join(dir, 'data'), threads: 1, [name]: value } as never)
      await t.rejects(
        refused,
        { code: 'invalid_argument', details: { field: name } },
        `${name} ${JSON.stringify(value)}`,
      )
    }
})
