// With `fsync: 'none'` or `'interval'`, records are applied before they are durable. A checkpoint that has some of them is not kept without
// them: after a power cut, the log would give their numbers to other records, which a start would take for applied.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { World } from './simulated-machine.ts'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 8 } },
] as const
const objectOf = (n: number) => ({ id: `${n}`, fields: { v: [n, 1, 2, 3] } })
const seed = chosenSeed()

test(`a checkpoint is not ahead of the durable log, seed ${seed}`, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-lagging-'))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(async () => {
    await pool.close()
    await rm(dir, { recursive: true })
  })
  for (let round = 0; round < 8; round++) {
    const world = new World(join(dir, `${round}`), seededRandom(seed + round))
    let meanwhile: (() => Promise<unknown>) | undefined
    const vfs = world.disk.vfs.bind(world.disk)
    world.disk.vfs = () => {
      const inner = vfs()
      return {
        ...inner,
        async makeDirectory(path) {
          await inner.makeDirectory(path)
          if (!path.includes('checkpoints/tmp-')) return
          const act = meanwhile
          meanwhile = undefined
          await act?.()
        },
      }
    }
    const engine = await world.open(pool, { fsync: 'none' })
    const things = await engine.database().createCollection({ name: 'things', fields })
    for (let n = 0; n < 20; n++) await things.upsert([objectOf(n)])
    let written = 0
    meanwhile = async () => {
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
