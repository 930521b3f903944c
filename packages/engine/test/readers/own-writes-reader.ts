// A reader of own-writes.test.ts: searches at once after each acknowledged write, without an event loop in between.
import { parentPort, workerData } from 'node:worker_threads'
import { attachReader } from '@annal/engine/reader'
import { vectorOf } from './race-world.ts'

const shared: Int32Array = workerData.shared
const { writes, number } = workerData
const reader = await attachReader(workerData.reader)
const faults: string[] = []
parentPort?.postMessage('attached')

for (let write = 1; write <= writes; write++) {
  // Word 0 is the newest acknowledged write.
  while (Atomics.load(shared, 0) < write) Atomics.wait(shared, 0, write - 1)
  const search = { field: 'v', query: vectorOf(1, write), limit: 1, ef: 16 }
  const found = reader.collection('default', 'things')?.searchHere(search, (hits) => {
    const meta = Buffer.alloc(hits.metaBytes(0))
    hits.copyMeta(0, meta, 0)
    return JSON.parse(meta.toString()).write as number
  })
  const got = reader.collection('default', 'things')?.getHere([`${write % 40}`], { bytesMax: 65_536 })
  const meta = Array.isArray(got) ? got[0]?.meta : undefined
  if (meta?.write !== write)
    faults.push(`after write ${write} was acknowledged, the object was ${JSON.stringify(meta)}`)
  if (found !== write) faults.push(`after write ${write} was acknowledged, the search found ${found}`)
  Atomics.store(shared, 1 + number, write)
  Atomics.notify(shared, 1 + number)
}
parentPort?.postMessage(faults)
