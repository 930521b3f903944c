// The process of own-writes.test.ts. Arguments: directory, writes. Prints the faults.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { dimension, vectorOf } from './race-world.ts'

const [, , dataDir = '', writesText] = process.argv
const writes = Number(writesText)
const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers: 2 })
const fields = [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32' } }] as const
const things = await engine.database().createCollection({ name: 'things', fields })
const shared = new Int32Array(new SharedArrayBuffer(16))
const readers = await Promise.all(
  [0, 1].map(async (number) => {
    const reader = engine.readerHandle()
    const data = { reader, shared, number, writes }
    const program = new URL('./own-writes-reader.ts', import.meta.url)
    const worker = new Worker(program, { workerData: data, transferList: [reader.port] })
    await once(worker, 'message')
    return { number, faults: once(worker, 'message') }
  }),
)
for (let write = 1; write <= writes; write++) {
  // The same object is written again and again, so ordinals are reused.
  await things.upsert([{ id: `${write % 40}`, meta: { write }, fields: { v: vectorOf(1, write) } }])
  Atomics.store(shared, 0, write)
  Atomics.notify(shared, 0)
  for (const { number } of readers)
    while (Atomics.load(shared, 1 + number) < write) {
      const wait = Atomics.waitAsync(shared, 1 + number, write - 1)
      if (wait.async) await wait.value
    }
}
const faults = (await Promise.all(readers.map((reader) => reader.faults))).flat(2)
await engine.close()
console.log(JSON.stringify({ writes, faults: faults.slice(0, 5) }))
