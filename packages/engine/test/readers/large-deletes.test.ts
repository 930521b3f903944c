// Most objects of a collection are deleted at once while a reader thread searches for the others: each of them is found, and every search
// returns as many hits as requested.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { dimension, vectorOf } from './large-deletes-world.ts'

// A loaded machine is slow.
tap.setTimeout(3_600_000)

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 100 : 2
const staying = 4_000
const deleted = 6_000
const fields = [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32' } }] as const

interface Report {
  readonly searches: number
  readonly faults: readonly string[]
}

test(`a search next to large deletes finds the objects that stay, seed ${seed}`, async (t) => {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  const things = await engine.database().createCollection({ name: 'things', fields })
  const write = async (seeds: readonly number[]) => {
    for (let from = 0; from < seeds.length; from += 1_000)
      await things.upsert(
        seeds.slice(from, from + 1_000).map((one) => ({ id: `${one}`, fields: { v: vectorOf(one) } })),
      )
  }
  await write([...Array(staying).keys()])
  const shared = new Int32Array(new SharedArrayBuffer(4))
  const reports: Report[] = []
  const reader = engine.readerHandle()
  const worker = new Worker(new URL('./large-deletes-reader.ts', import.meta.url), {
    workerData: { reader, shared, staying },
    transferList: [reader.port],
  })
  worker.on('message', (report: Report) => reports.push(report))
  const exited = once(worker, 'exit')
  await once(worker, 'message')
  for (let round = 0; round < rounds; round++) {
    const seeds = Array.from({ length: deleted }, (_, i) => staying + ((seed + round) % 1_000) * deleted + i)
    await write(seeds)
    await things.delete(seeds.map(String))
  }
  Atomics.store(shared, 0, 1)
  await exited
  t.comment(`${reports.reduce((sum, { searches }) => sum + searches, 0)} searches`)
  t.same(
    reports.flatMap(({ faults }) => faults.slice(0, 5)),
    [],
  )
})
