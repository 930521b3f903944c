// A start on a disk without space cannot apply all records. The collections that it could not bring to the end of the log are out of service,
// health says why and what to do, and nothing of them is lost: after a restart with space they are what was acknowledged, whatever the
// engine did meanwhile.
import { type Collection, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, type Vfs } from '@annal/wal'
import { errnoError } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { denseField, temporaryDirectory } from '../backup/rig.ts'

tap.setTimeout(600_000)

/** The real disk, which refuses writes to files of original vectors while `errno` is set. */
function refusingVfs(state: { errno: string | undefined }): Vfs {
  const inner = nodeVfs()
  return {
    ...inner,
    async open(path, mode) {
      const file = await inner.open(path, mode)
      return {
        ...file,
        async write(bytes, position) {
          if (state.errno !== undefined && path.includes('/originals/collection-1-'))
            throw errnoError(state.errno, { call: 'write', path })
          return file.write(bytes, position)
        },
      }
    },
  }
}

const object = (n: number) => ({ id: `o${n}`, meta: { n }, fields: { v: [n, 1, 2, 3, 4, 5, 6, 7] } })

for (const errno of ['ENOSPC', 'EMFILE', 'EIO'])
  for (const checkpoints of [0, 1, 3])
    test(`a replay that meets ${errno}, then ${checkpoints} checkpoints, loses nothing`, async (t) => {
      const dataDir = await temporaryDirectory(t)
      const pool = await openWorkerPool({ threads: 1 })
      t.teardown(() => pool.close())
      const state: { errno: string | undefined } = { errno: undefined }
      const parts = { pool, vfs: refusingVfs(state) }
      const first = await openEngine({ dataDir }, parts)
      const database = first.database()
      for (const name of ['a', 'other']) await database.createCollection({ name, fields: [denseField()] })
      const a = database.collection('a') as Collection
      await a.upsert([object(1), object(2)])
      await first.checkpoint()
      // Nothing of these is in the checkpoint, whose end a close would take.
      state.errno = undefined
      await a.upsert([object(3), object(4)])
      await a.delete(['o1'])
      const digest = a.stateDigest()
      const copy = await temporaryDirectory(t)
      const { cp, rm } = await import('node:fs/promises')
      await cp(dataDir, copy, { recursive: true })
      await rm(`${copy}/LOCK`, { force: true })
      await first.close()

      state.errno = errno
      const second = await openEngine({ dataDir: copy }, parts)
      const out = second
        .database()
        .collections()
        .find(({ name }) => name === 'a')
      t.match(out, { condition: 'quarantined' })
      const { status, reasons } = second.health()
      t.equal(status, 'degraded')
      t.comment(reasons.join(' | '))
      t.ok(
        reasons.some((reason) => /"a" is out of service.*(free disk space|restart)/.test(reason)),
        reasons.join(' | '),
      )
      await t.rejects(a.get('o3'))
      for (let i = 0; i < checkpoints; i++) {
        await second
          .database()
          .collection('other')
          .upsert([object(i)])
        await second.checkpoint()
      }
      await second.close()

      state.errno = undefined
      for (let start = 0; start < 2; start++) {
        const third = await openEngine({ dataDir: copy }, parts)
        t.same(third.health().reasons, [])
        const found = third.database().collection('a') as Collection
        t.equal(found.stateDigest(), digest, `start ${start}`)
        t.equal((await found.get('o3'))?.id, 'o3')
        await third.close()
      }
    })
