// Objects are written again with equal vectors while reader threads search: a row that had no copies when a search met it has one when the
// search meets the copy. Every object is found at most once.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import tap, { test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { dimension, vectorOf } from './race-world.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const rounds = process.env.ANNAL_LONG === '1' ? 1_000 : 15
const objects = 400
const readers = 2
const fields = [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32' } }] as const

interface Report {
  readonly searches: number
  readonly faults: readonly string[]
}

test('a search next to writes of equal vectors finds each object once', async (t) => {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers })
  t.teardown(() => engine.close())
  const things = await engine.database().createCollection({ name: 'things', fields })
  const write = () =>
    things.upsert(Array.from({ length: objects }, (_, i) => ({ id: `${i}`, fields: { v: vectorOf(i, 1) } })))
  // Equal to each other, so that searches look for copies at all.
  const twins = ['a', 'b'].map((id) => ({ id, fields: { v: vectorOf(-1, 1) } }))
  await things.upsert(twins)
  await write()
  const shared = new Int32Array(new SharedArrayBuffer(4))
  const reports: Report[] = []
  const threads = Array.from({ length: readers }, () => {
    const reader = engine.readerHandle()
    const worker = new Worker(new URL('./copies-reader.ts', import.meta.url), {
      workerData: { reader, shared, objects },
      transferList: [reader.port],
    })
    worker.on('message', (report: Report) => reports.push(report))
    return { started: once(worker, 'message'), exited: once(worker, 'exit') }
  })
  await Promise.all(threads.map(({ started }) => started))
  for (let round = 0; round < rounds; round++) {
    await write()
    // Without the removed rows, no row has a copy again.
    await things.vacuum()
  }
  Atomics.store(shared, 0, 1)
  await Promise.all(threads.map(({ exited }) => exited))
  t.comment(`${reports.reduce((sum, { searches }) => sum + searches, 0)} searches`)
  t.same(
    reports.flatMap(({ faults }) => faults.slice(0, 3)),
    [],
  )
})
