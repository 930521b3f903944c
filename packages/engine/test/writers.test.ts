// Concurrent writers of one collection.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import tap, { test } from 'tap'
import { watchedVfs } from './crash/watched-vfs.ts'

tap.setTimeout(120_000)

test('a delete does not wait for disk space that it does not need', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-writers-'))
  const pool = await openWorkerPool({ threads: 1 })
  const dimension = 64
  const deletes: Promise<unknown>[] = []
  // Vectors that are being written to disk take space there and are still counted as reserved.
  const vfs = watchedVfs(async ({ call, path }) => {
    if (call === 'write' && path.includes('originals')) deletes.push(engine.database().collection('c').delete(['none']))
  })
  const engine = await openEngine({ dataDir: join(dir, 'data') }, { vfs, pool })
  t.teardown(async () => {
    await engine.close()
    await pool.close()
    await rm(dir, { recursive: true })
  })
  const fields = [{ name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'int8' } }] as const
  const collection = await engine.database().createCollection({ name: 'c', fields })
  // More than half of the space that is reserved for the first rows; twice as many would need more.
  const vector = Array.from({ length: dimension }, (_, i) => i)
  await collection.upsert(Array.from({ length: 200 }, (_, i) => ({ id: `${i}`, fields: { v: vector } })))
  t.ok(deletes.length >= 2, 'when room was made and when it was used')
  await Promise.all(deletes)
  t.equal(collection.describe().objects, 200)
})
