// Workers start with the first work for them, and the owner answers meanwhile.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type ObjectInput, openEngine } from '@annal/engine'
import tap, { test } from 'tap'
import { createWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows } from './world.ts'

const dimension = 16
const rows = clusteredRows(100, dimension, 1)
const objects: ObjectInput[] = Array.from({ length: 100 }, (_, i) => ({
  id: `o${i}`,
  fields: { v: rows.subarray(i * dimension, (i + 1) * dimension) },
}))
const fields = [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'int8' } }] as const

const dataDir = await mkdtemp(join(tmpdir(), 'annal-lazy-workers-'))
tap.teardown(() => rm(dataDir, { recursive: true }))
const filled = await openEngine({ dataDir, threads: 2 })
await (await filled.database().createCollection({ name: 'c', fields })).upsert(objects)
await filled.close()

async function loaded(): Promise<{
  pool: Awaited<ReturnType<typeof createWorkerPool>>
  collection: Collection
  close(): Promise<void>
}> {
  const pool = await createWorkerPool({ threads: 2 })
  const engine = await openEngine({ dataDir }, { pool })
  const close = async () => {
    await engine.close()
    await pool.close()
  }
  return { pool, collection: engine.database().collection('c'), close }
}

/** The id of the nearest object to object n. */
async function nearest(collection: Collection, n: number): Promise<unknown> {
  const query = rows.subarray(n * dimension, (n + 1) * dimension)
  return (await collection.search({ fields: { v: { query, limit: 3 } } })).results.v?.[0]?.id
}

test('opening an engine and searching what it loaded start no worker; a write does', async (t) => {
  const { pool, collection, close } = await loaded()
  for (let n = 0; n < 20; n++) t.equal(await nearest(collection, n), `o${n}`)
  t.equal(pool.stats.started, false)
  await collection.upsert(objects.slice(0, 1))
  t.equal(pool.stats.started, true)
  await close()
})

test('many searches at once start the workers, and all are answered', async (t) => {
  const { pool, collection, close } = await loaded()
  const found = await Promise.all(objects.map((_, n) => nearest(collection, n)))
  t.strictSame(
    found,
    objects.map(({ id }) => id),
  )
  t.equal(pool.stats.started, true)
  await close()
})

test('a pool without work closes without a worker', async (t) => {
  const pool = await createWorkerPool({ threads: 2 })
  await pool.close()
  t.equal(pool.stats.started, false)
  await t.rejects(pool.started(), { code: 'closed' })
})
