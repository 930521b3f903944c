// The thread of a reader: runs all searches for each message, and replies with the CPU time of one in microseconds.
import { parentPort, workerData } from 'node:worker_threads'
import { attachReader } from '@annal/engine/reader'

const { queries, dimension, ef } = workerData as { queries: Float32Array; dimension: number; ef: number }
const reader = await attachReader(workerData.reader)
const searches = queries.length / dimension
const reply = new Uint8Array(1 << 16)

parentPort?.on('message', async (filtered: boolean) => {
  const filter = filtered ? { filter: [{ tenth: { $eq: 3 } }] } : {}
  const before = process.threadCpuUsage()
  for (let i = 0; i < searches; i++) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    const images = reader.collection('default', 'images')
    const found = images?.searchHere({ field: 'v', query, limit: 10, ef, ...filter }, (hits) => {
      let end = 0
      for (let hit = 0; hit < hits.count; hit++) {
        hits.copyId(hit, reply, end)
        end += hits.idBytes(hit)
        hits.copyFilter(hit, reply, end)
        end += hits.filterBytes(hit)
      }
      return end
    })
    if ((typeof found === 'number' ? found : await found) === undefined) throw new Error('left to the owner')
  }
  const { user, system } = process.threadCpuUsage(before)
  parentPort?.postMessage((user + system) / searches)
})
parentPort?.postMessage('attached')
