// A file in the archive that is no part of the history, such as a copy under another number, does not keep the directory from opening: its
// collections serve, health names the file, and `verify` finds it. The past is right, or refused with a code.
import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine, verifyArchive } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import tap, { test } from 'tap'
import { denseField, temporaryDirectory } from './rig.ts'

tap.setTimeout(120_000)

test('a segment of the archive that is there twice is named, and everything serves', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const open = () => openEngine({ dataDir, archive: { maxBytes: 1e12, maxAgeMs: 1e12 } }, { pool })
  let digest = ''
  let past = { lsn: 0, digest: '' }
  for (let start = 0; start < 5; start++) {
    const engine = await open()
    const database = engine.database()
    if (start === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
    const { lsn } = await database
      .collection('a')
      .upsert([{ id: `o${start}`, fields: { v: [start, 1, 2, 3, 4, 5, 6, 7] } }])
    if (start === 0) past = { lsn, digest: database.collection('a').stateDigest() }
    await database.collection('a').rebuild()
    await engine.checkpoint()
    digest = database.collection('a').stateDigest()
    await engine.close()
  }
  const archived = join(dataDir, 'archive', 'wal')
  const [first = ''] = (await readdir(archived)).sort()
  t.match(first, /\.wal$/, 'there is an archived segment')
  const twice = `${first.slice(0, 21)}${'9'.padStart(20, '0')}.wal`
  await copyFile(join(archived, first), join(archived, twice))
  t.not((await verifyArchive({ dataDir }))?.faults.length, 0)
  for (let start = 0; start < 2; start++) {
    const engine = await open()
    t.teardown(() => engine.close())
    const { status, reasons } = engine.health()
    t.equal(status, 'degraded')
    t.ok(
      reasons.some((reason) => reason.includes(first) || reason.includes(twice)),
      reasons.join(),
    )
    const database = engine.database()
    t.equal(database.collection('a').stateDigest(), digest)
    await database.collection('a').upsert([{ id: 'again', fields: { v: [9, 1, 2, 3, 4, 5, 6, 7] } }])
    await engine.checkpoint()
    const restored = await database.backups.restorePast('a', `t${start}`, { lsn: past.lsn }).catch((error) => {
      t.match(error.code, /^(log_damaged|restore_unreachable)$/)
    })
    if (restored) t.equal(database.collection(`t${start}`).stateDigest(), past.digest, 'the past is right')
    await database.collection('a').delete(['again'])
    digest = database.collection('a').stateDigest()
    await engine.close()
  }
})
