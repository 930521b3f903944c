// `limitGraphThreads` leaves cores to the threads of the host program: fewer workers build graphs, and the result is the same.

import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openEngine } from '../../src/index.ts'
import { createWorkerPool } from '../../src/vector/open-pool.ts'
import { createRing, words } from '../../src/vector/threads/ring.ts'

const dimension = 64

function objects(from: number) {
  return Array.from({ length: 1_000 }, (_, row) => ({
    id: `${from + row}`,
    fields: { v: Float32Array.from({ length: dimension }, (_, at) => Math.sin((from + row + 1) * (at + 3) * 0.37)) },
  }))
}

t.test('a limit of one lets one worker build, and a higher limit lets the others join', async (t) => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'annal-job-limit-'))
  const pool = await createWorkerPool({ threads: 3 })
  const engine = await openEngine({ dataDir }, { pool })
  t.teardown(async () => {
    await engine.close()
    await pool.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  const database = engine.database()
  const params = { dimension, spaceType: 'l2' } as const
  const collection = await database.createCollection({ name: 'c', fields: [{ name: 'v', type: 'vector', params }] })
  engine.limitGraphThreads(0)
  let count = 0
  const upsert = async () => {
    await collection.upsert(objects(count))
    count += 1_000
  }
  await upsert()
  // A worker that is not there yet could not build in any case.
  await pool.started()
  for (let i = 0; i < 3; i++) await upsert()
  const [first = 0, ...others] = pool.stats.begun
  t.ok(first > 0, `the first worker began ${first} pieces`)
  t.strictSame(others, [0, 0], 'the others began none')

  engine.limitGraphThreads(64)
  // A worker joins when it gets a core, which no write waits for.
  while (pool.stats.begun.includes(0)) await upsert()
  const id = `${count - 1}`
  const query = objects(count - 1_000).at(-1)!.fields.v
  const { results } = await collection.search({ fields: { v: { query, limit: 1 } } })
  t.equal(results.v?.[0]?.id, id)
})

t.test('without a limit all workers build', async (t) => {
  t.equal(createRing().words[words.jobWorkers], 0)
})
