// `limitGraphThreads` leaves cores to the threads of the host program: fewer workers build graphs, and the result is the same.

import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openEngine } from '../../src/index.ts'
import { createRing, words } from '../../src/vector/threads/ring.ts'
import { ownThread, threadState } from '../../src/vector/threads/thread-state.ts'

const dimension = 64
const step = os.constants.priority.PRIORITY_BELOW_NORMAL

/** CPU time of each worker, which has a lower priority than the other threads. */
function workerTimes(): Map<number, number> {
  const own = os.getPriority(ownThread())
  const threads = readdirSync('/proc/self/task').map(Number)
  const workers = threads.filter((thread) => os.getPriority(thread) >= Math.min(19, own + step))
  return new Map(workers.map((thread) => [thread, threadState(thread)?.cpuMs ?? 0]))
}

function objects(from: number) {
  return Array.from({ length: 1_000 }, (_, row) => ({
    id: `${from + row}`,
    fields: { v: Float32Array.from({ length: dimension }, (_, at) => Math.sin((from + row + 1) * (at + 3) * 0.37)) },
  }))
}

t.test(
  'a limit of one lets one worker build, and a higher limit lets the others join',
  { skip: ownThread() === 0 },
  async (t) => {
    const dataDir = await mkdtemp(path.join(os.tmpdir(), 'annal-job-limit-'))
    const engine = await openEngine({ dataDir, threads: 3 })
    t.teardown(async () => {
      await engine.close()
      await rm(dataDir, { recursive: true, force: true })
    })
    const database = engine.database()
    const params = { dimension, spaceType: 'l2' } as const
    const collection = await database.createCollection({ name: 'c', fields: [{ name: 'v', type: 'vector', params }] })
    engine.limitGraphThreads(0)
    await collection.upsert(objects(0))
    const before = workerTimes()
    for (const from of [1_000, 2_000, 3_000]) await collection.upsert(objects(from))
    const used = [...workerTimes()].map(([thread, ms]) => ms - (before.get(thread) ?? 0)).sort((a, b) => b - a)
    t.equal(used.length, 3)
    t.ok(used[1]! + used[2]! <= used[0]! / 3, `workers used ${used.join(', ')} ms`)
    engine.limitGraphThreads(64)
    for (const from of [4_000, 5_000, 6_000]) await collection.upsert(objects(from))
    const { fields } = await collection
      .search({ fields: { v: { query: objects(6_999)[0]!.fields.v, limit: 1 } } })
      .then(({ results }) => ({ fields: results }))
    t.equal(fields.v?.[0]?.id, '6999')
  },
)

t.test('without a limit all workers build', async (t) => {
  t.equal(createRing().words[words.jobWorkers], 0)
})
