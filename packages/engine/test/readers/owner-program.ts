// An engine in a worker: the host program hands its handles to other workers. It runs until the test terminates it.
import { parentPort, workerData } from 'node:worker_threads'
import { openEngine } from '@annal/engine'

const { dataDir, readers } = workerData as { readonly dataDir: string; readonly readers: number }
const engine = await openEngine({ dataDir, threads: 1, readers })
const collection = await engine.database().createCollection({
  name: 'things',
  fields: [{ name: 'dense', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } }],
})
const { lsn } = await collection.upsert(
  Array.from({ length: 100 }, (_, i) => ({
    id: `${i}`,
    filter: { even: i % 2 === 0 },
    fields: { dense: new Float32Array([i, 0]) },
  })),
)
const handles = Array.from({ length: readers }, () => engine.readerHandle())
parentPort?.postMessage(
  { lsn, handles },
  handles.map(({ port }) => port),
)
// The thread exits or throws, as after a fault in the host program.
parentPort?.on('message', (end: 'exit' | 'throw') => {
  if (end === 'throw') throw new Error('of the test')
  process.exit(1)
})
