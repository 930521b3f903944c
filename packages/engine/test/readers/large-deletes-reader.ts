// A reader of large-deletes.test.ts: searches without pause for objects that stay. Reports searches that return fewer hits than requested,
// and those whose first hit is not the object itself.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { attachReader, type HitBytes } from '@annal/engine/reader'
import { vectorOf } from './large-deletes-world.ts'

const shared: Int32Array = workerData.shared
const staying: number = workerData.staying
const limits = [1, 1, 1, 1, 10, 100]
const reader = await attachReader(workerData.reader)
const faults: string[] = []
let searches = 0

/** The number of hits, and the id of the first. */
function firstOf(hits: HitBytes): readonly [number, string] {
  if (hits.count === 0) return [0, '']
  const id = Buffer.alloc(hits.idBytes(0))
  hits.copyId(0, id, 0)
  return [hits.count, id.toString()]
}

parentPort?.postMessage({ searches, faults })
while (Atomics.load(shared, 0) === 0) {
  for (let i = 0; i < 64; i++) {
    const seed = (searches++ * 7_919) % staying
    const limit = limits[searches % limits.length] as number
    const search = { field: 'v', query: vectorOf(seed), limit, ef: 100 }
    const [count, first] = (await reader.collection('default', 'things')?.searchHere(search, firstOf)) ?? []
    if (count === undefined) continue
    if (count < limit) faults.push(`${count} of ${limit} hits`)
    if (first !== `${seed}`) faults.push(`the first of ${limit} near ${seed} is ${first}`)
  }
  await nextTurn()
}
parentPort?.postMessage({ searches, faults })
process.exit()
