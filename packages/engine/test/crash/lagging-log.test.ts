// With `fsync: 'none'` or `'interval'`, records are applied before they are durable. A checkpoint that has some of them is not kept without
// them: after a power cut, the log would give their numbers to other records, which a start would take for applied.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine, restoreDataDirectory, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, repairLog, type Vfs } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { World } from './simulated-machine.ts'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 8 } },
] as const
const objectOf = (n: number) => ({ id: `${n}`, fields: { v: [n, 1, 2, 3] } })
const seed = chosenSeed()

/** What runs once, at the beginning of the next checkpoint. */
interface During {
  act?: (() => Promise<unknown>) | undefined
}

function actingVfs(inner: Vfs, during: During): Vfs {
  return {
    ...inner,
    async makeDirectory(path) {
      await inner.makeDirectory(path)
      if (!path.includes('checkpoints/tmp-')) return
      const { act } = during
      during.act = undefined
      await act?.()
    },
  }
}

test(`a checkpoint is not ahead of the durable log, seed ${seed}`, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-lagging-'))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(async () => {
    await pool.close()
    await rm(dir, { recursive: true })
  })
  for (let round = 0; round < 8; round++) {
    const world = new World(join(dir, `${round}`), seededRandom(seed + round))
    const during: During = {}
    const vfs = world.disk.vfs.bind(world.disk)
    world.disk.vfs = () => actingVfs(vfs(), during)
    const engine = await world.open(pool, { fsync: 'none' })
    const things = await engine.database().createCollection({ name: 'things', fields })
    for (let n = 0; n < 20; n++) await things.upsert([objectOf(n)])
    let written = 0
    during.act = async () => {
      for (; written < 10; written++) await things.upsert([objectOf(100 + written)])
    }
    await engine.checkpoint()
    t.equal(written, 10)
    world.disk.restart('power')

    const second = await world.open(pool, { fsync: 'always' })
    t.same(second.health(), { status: 'ok', reasons: [] })
    const again = second.database().collection('things')
    const before = again.count().count
    t.ok(before >= 20, 'what was durable is there')
    for (let n = 0; n < 5; n++) {
      const { durable } = await again.upsert([objectOf(200 + n)])
      t.equal(durable, true)
    }
    const digest = again.stateDigest()
    world.disk.restart('power')

    const third = await world.open(pool)
    const last = third.database().collection('things')
    t.equal(last.count().count, before + 5, 'durable writes are there')
    t.equal(last.stateDigest(), digest)
    await third.close()
  }
})

test('a log that was cut before records of a checkpoint is refused, and verify says so', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-cut-'))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(async () => {
    await pool.close()
    await rm(dir, { recursive: true })
  })
  const during: During = {}
  const [dataDir, copy] = [join(dir, 'data'), join(dir, 'copy')]
  const engine = await openEngine({ dataDir }, { pool, vfs: actingVfs(nodeVfs(), during) })
  const things = await engine.database().createCollection({ name: 'things', fields })
  for (let n = 0; n < 5; n++) await things.upsert([objectOf(n)])
  during.act = async () => {
    for (let n = 5; n < 10; n++) await things.upsert([objectOf(n)])
  }
  const { lsn } = await engine.checkpoint()
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'LOCK'))
  await engine.close()
  const cut = { vfs: nodeVfs(), dir: join(copy, 'wal'), acceptDataLoss: true, truncateAt: lsn + 3 }
  t.equal((await repairLog(cut)).lsnLast, lsn + 2)
  await t.rejects(openEngine({ dataDir: copy }, { pool }), {
    code: 'log_damaged',
    message: /the checkpoint says that LSN \d+ was durable/,
  })
  const { findings } = await verifyDataDirectory({ dataDir: copy })
  t.match(findings, [{ what: /^the log ends at LSN \d+, but the newest checkpoint has records up to LSN \d+$/ }])
  await restoreDataDirectory({ from: copy, to: join(dir, 'restored'), lsn: lsn + 2 })
  const restored = await openEngine({ dataDir: join(dir, 'restored') }, { pool })
  t.equal(restored.database().collection('things').count().count, 7, 'a restore begins with an earlier state')
  await restored.close()
})
