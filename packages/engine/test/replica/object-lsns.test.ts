// Every object says which record of the log last wrote it: the same number for every way to the state, and none from another log.
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Collection, Engine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openEngine } from '../../src/engine.ts'
import { openDirectory } from '../search/rig.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'

// A loaded machine is slow.
tap.setTimeout(600_000)

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 3_000 : 120
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())
const fields = [{ name: 'v', type: 'vector', params: { dimension: 4, precision: 'int8' } }] as const
const objectOf = (id: string, n = 0) => ({ id, filter: { n }, fields: { v: [1, n, 2, 3] } })

const open = (dataDir: string, keepLog = false): Promise<Engine> =>
  openEngine({ dataDir, fsync: 'none', keepLog }, { pool, deltas: eagerDeltas })

async function lsnsOf(collection: Collection): Promise<Record<string, number>> {
  const lsns: Record<string, number> = {}
  let cursor: string | undefined
  do {
    const page = await collection.scroll({ limit: 100, includeVectors: false, ...(cursor && { cursor }) })
    for (const { id, lsn } of page.objects) lsns[id] = lsn
    cursor = page.cursor
  } while (cursor !== undefined)
  return lsns
}

test(`after random writes, checkpoints, rebuilds, and starts objects have the LSNs of their last writes (ANNAL_SEED=${seed})`, async (t) => {
  const dataDir = await openDirectory(t)
  const random = seededRandom(seed)
  let engine = await open(dataDir)
  t.teardown(() => engine.close())
  await engine.database().createCollection({ name: 'c', fields })
  const things = () => engine.database().collection('c')
  const expected = new Map<string, number>()
  const some = () => [...new Set(Array.from({ length: 1 + random.below(9) }, () => `${random.below(200)}`))]
  const digests = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const ids = some()
    const step = random.below(10)
    if (step < 5) {
      const { lsn } = await things().upsert(ids.map((id) => objectOf(id, random.below(50))))
      for (const id of ids) expected.set(id, lsn)
    } else if (step < 7) {
      const { lsn } = await things().updateFilters(ids.map((id) => ({ id, filter: { n: round } })))
      for (const id of ids) if (expected.has(id)) expected.set(id, lsn)
    } else if (step < 8) {
      await things().delete(ids)
      for (const id of ids) expected.delete(id)
    } else if (step < 9) await engine.checkpoint()
    else if (random.below(3) === 0) await things().rebuild()
    else {
      const digest = things().stateDigest()
      digests.add(digest)
      // A copy of the open directory is what a kill leaves: the newest checkpoint and the records after it.
      const killed = `${dataDir}-killed-${round}`
      await cp(dataDir, killed, { recursive: true })
      await engine.close()
      engine = await open(random.below(2) === 0 ? dataDir : killed)
      t.equal(things().stateDigest(), digest)
      await engine.close()
      engine = await open(dataDir)
    }
    t.strictSame(await lsnsOf(things()), sorted(expected), `round ${round}`)
  }
  const ids = [...expected.keys()].slice(0, 50)
  const read = await things().getMany(ids)
  t.strictSame(
    read.map(({ id, lsn }) => [id, lsn]),
    ids.map((id) => [id, expected.get(id)]),
  )
  t.match(JSON.parse(JSON.stringify(read[0])), { id: ids[0], lsn: expected.get(ids[0] as string) })
})

function sorted(lsns: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries(lsns)
}

test('a replay of the whole log gives the LSNs that a checkpoint and its tail give', async (t) => {
  const dataDir = await openDirectory(t)
  const engine = await open(dataDir, true)
  const things = await engine.database().createCollection({ name: 'c', fields })
  for (let i = 0; i < 20; i++) await things.upsert([objectOf(`${i}`), objectOf(`${i + 1}`)])
  await engine.checkpoint()
  await things.updateFilters([{ id: '3', filter: { n: 9 } }])
  await things.rebuild()
  await things.upsert([objectOf('5')])
  const expected = await lsnsOf(things)
  const [tail, whole] = [join(dataDir, '..', 'tail'), join(dataDir, '..', 'whole')]
  for (const copy of [tail, whole])
    await cp(dataDir, copy, { recursive: true, filter: (path) => path !== join(whole, 'checkpoints') })
  await engine.close()
  await rm(join(whole, 'checkpoints'), { recursive: true })
  for (const copy of [tail, whole, dataDir]) {
    const opened = await open(copy, true)
    t.strictSame(await lsnsOf(opened.database().collection('c')), expected)
    await opened.close()
  }
})

test('objects of a clone and of a restored backup have the LSN of the record that created their collection', async (t) => {
  const dataDir = await openDirectory(t)
  let engine = await open(dataDir)
  t.teardown(() => engine.close())
  const database = () => engine.database()
  const things = await database().createCollection({ name: 'c', fields })
  await things.upsert(['a', 'b', 'c'].map((id) => objectOf(id)))
  await engine.checkpoint()
  await things.upsert([objectOf('d')])
  const clone = await database().backups.clone('c', 'copy')
  const { name } = await database().backups.create('c')
  await database().backups.settled()
  const restored = await database().backups.restore(name, 'again')
  for (const { lsn, collection } of [
    { lsn: clone.lsn, collection: 'copy' },
    { lsn: restored.lsn, collection: 'again' },
  ]) {
    const all = () => lsnsOf(database().collection(collection))
    t.strictSame(await all(), { a: lsn, b: lsn, c: lsn, d: lsn })
    const { lsn: written } = await database()
      .collection(collection)
      .upsert([objectOf('b')])
    t.ok(written > lsn)
    await engine.checkpoint()
    await database().collection(collection).rebuild()
    for (let start = 0; start < 2; start++) {
      t.strictSame(await all(), { a: lsn, b: written, c: lsn, d: lsn })
      await engine.close()
      engine = await open(dataDir)
    }
  }
})

test('a scroll and a get that began before a write return the LSN of what they return', async (t) => {
  const engine = await open(await openDirectory(t))
  t.teardown(() => engine.close())
  const things = await engine.database().createCollection({ name: 'c', fields })
  const ids = Array.from({ length: 300 }, (_, i) => `${i}`)
  const first = await things.upsert(ids.map((id) => objectOf(id, 1)))
  const reads = [things.getMany(ids), things.scroll({ limit: 300 }).then(({ objects }) => objects)]
  const second = await things.updateFilters(ids.map((id) => ({ id, filter: { n: 2 } })))
  reads.push(things.getMany(ids))
  for (const read of reads)
    for (const { filter, lsn } of await read) t.equal(lsn, filter.n === 1 ? first.lsn : second.lsn)
})
