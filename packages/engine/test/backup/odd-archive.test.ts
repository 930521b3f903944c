// A file in the archive that is no part of the history, such as a copy under another number, does not keep the directory from opening: its
// collections serve, health names the file, and `verify` finds it. The past is right, or refused with a code.
import { copyFile, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine, verifyArchive } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, readIdentity } from '@annal/wal'
import tap, { test } from 'tap'
import { basesOf } from '../../src/backup/archive.ts'
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

test('a checkpoint that moves to the archive while checkpoints are found is one of them', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const engine = await openEngine({ dataDir, threads: 1 })
  const a = await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  for (let n = 0; n < 2; n++) {
    await a.upsert([{ id: `${n}`, fields: { v: [n, 1, 2, 3, 4, 5, 6, 7] } }])
    await engine.checkpoint()
  }
  await engine.close()
  const [from, to] = [join(dataDir, 'checkpoints'), join(dataDir, 'archive', 'checkpoints')]
  const names = (await readdir(from)).sort()
  await mkdir(to, { recursive: true })
  const vfs = nodeVfs()
  let folders = 0
  const exists = async (path: string) => {
    // The second folder is about to be read.
    if (++folders === 2) await rename(join(from, names[0] ?? ''), join(to, names[0] ?? ''))
    return vfs.exists(path)
  }
  const identity = await readIdentity({ dir: dataDir, vfs })
  const bases = await basesOf({ vfs: { ...vfs, exists }, dataDir, identity: () => identity })
  t.same(
    bases.map(({ manifest }) => manifest.name),
    names,
  )
  t.equal(bases[0]?.path, join(to, names[0] ?? ''))
})
