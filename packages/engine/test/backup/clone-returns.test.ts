// A clone is acknowledged before its files are loaded. If the system refuses the load, the clone is out of service and says why, and it
// returns automatically when the cause ends. Checkpoints and restarts in between lose nothing.
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, type Vfs } from '@annal/wal'
import { errnoError } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { denseField, temporaryDirectory } from './rig.ts'

tap.setTimeout(120_000)

interface Refusal {
  errno: string | undefined
  /** Paths that cannot be opened, and paths that cannot be written or get a second name. */
  readonly opened: RegExp
  readonly written: RegExp
}

/** The real disk, which refuses files of the clone while `errno` is set. */
function refusingVfs(state: Refusal): Vfs {
  const inner = nodeVfs()
  const check = (call: string, path: string, refused: RegExp) => {
    if (state.errno !== undefined && refused.test(path)) throw errnoError(state.errno, { call, path })
  }
  return {
    ...inner,
    async link(existing, path) {
      check('link', path, state.written)
      return inner.link(existing, path)
    },
    async open(path, mode) {
      check('open', path, state.opened)
      const file = await inner.open(path, mode)
      const write: typeof file.write = async (bytes, position) => {
        check('write', path, state.written)
        return file.write(bytes, position)
      }
      return { ...file, write }
    },
  }
}

const images = /\/imports\/[0-9a-f]{32}\/.*\.snap$/
const vectors = /\/originals\/collection-2-/
const nothing = /^$/
const refusals = [
  { errno: 'EMFILE', opened: images, written: nothing },
  { errno: 'EIO', opened: images, written: nothing },
  { errno: 'ENOSPC', opened: nothing, written: vectors },
]

const object = (n: number) => ({ id: `o${n}`, meta: { n }, fields: { v: [n, 1, 2, 3, 4, 5, 6, 7] } })

for (const { errno, ...paths } of refusals)
  for (const ends of ['while it runs', 'before the next start'])
    test(`a clone whose load meets ${errno} returns when that ends ${ends}`, async (t) => {
      const dataDir = await temporaryDirectory(t)
      const pool = await openWorkerPool({ threads: 1 })
      t.teardown(() => pool.close())
      const state: Refusal = { errno: undefined, ...paths }
      const parts = { pool, vfs: refusingVfs(state) }
      let engine = await openEngine({ dataDir }, parts)
      t.teardown(() => engine.close())
      let database = engine.database()
      await database.createCollection({ name: 'a', fields: [denseField()] })
      await database.collection('a').upsert(Array.from({ length: 20 }, (_, n) => object(n)))
      await engine.checkpoint()
      await database.collection('a').delete(['o3'])
      const digest = database.collection('a').stateDigest()
      state.errno = errno
      await database.backups.clone('a', 'copy')
      const copy = database.collection('copy')
      await t.rejects(copy.upsert([object(50)]), { code: 'collection_quarantined' })
      t.ok(
        engine.health().reasons.some((reason) => /"copy" is out of service.*loaded again automatically/.test(reason)),
        engine.health().reasons.join(),
      )
      await database.collection('a').upsert([object(60)])
      await engine.checkpoint()
      if (ends === 'while it runs') {
        state.errno = undefined
        while (engine.health().reasons.length > 0) await sleep(20)
        t.equal(copy.stateDigest(), digest)
        await copy.upsert([object(70)])
        await copy.delete(['o70'])
      }
      await engine.close()
      state.errno = undefined
      for (let start = 0; start < 2; start++) {
        engine = await openEngine({ dataDir }, parts)
        database = engine.database()
        t.same(engine.health().reasons, [])
        t.match(await database.collection('copy').get('o4'), { id: 'o4' })
        t.equal(await database.collection('copy').get('o70'), undefined)
        if (ends !== 'while it runs') t.equal(database.collection('copy').stateDigest(), digest, `start ${start}`)
        await engine.close()
      }
    })
