// A reader of copies.test.ts: searches without pause for many hits at once, and reports objects that a search finds twice.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { attachReader, type HitBytes } from '@annal/engine/reader'
import { vectorOf } from './race-world.ts'

const shared: Int32Array = workerData.shared
const reader = await attachReader(workerData.reader)
const faults: string[] = []
let searches = 0

function idsOf(hits: HitBytes): string[] {
  return Array.from({ length: hits.count }, (_, hit) => {
    const id = Buffer.alloc(hits.idBytes(hit))
    hits.copyId(hit, id, 0)
    return id.toString()
  })
}

parentPort?.postMessage({ searches, faults })
while (Atomics.load(shared, 0) === 0) {
  for (let i = 0; i < 64; i++) {
    const query = vectorOf(searches++ % workerData.objects, 1)
    const search = { field: 'v', query, limit: 40, ef: 100 }
    const ids = await reader.collection('default', 'things')?.searchHere(search, idsOf)
    if (ids !== undefined && new Set(ids).size < ids.length)
      faults.push(`${ids.filter((id, at) => ids.indexOf(id) !== at)} twice among ${ids.length} hits`)
  }
  await nextTurn()
}
parentPort?.postMessage({ searches, faults })
process.exit()
