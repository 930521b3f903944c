// A process with an engine and a reader in a worker, which writes until it is killed. It prints the number of acknowledged objects, each time
// the reader has seen them.
import { openEngine } from '@annal/engine'
import { ReaderThread } from './reader-thread.ts'

const [dataDir = ''] = process.argv.slice(2)
const engine = await openEngine({ dataDir, threads: 1, readers: 1 })
const reader = new ReaderThread(engine.readerHandle())
await reader.attached
const collection = await engine.database().createCollection({
  name: 'things',
  fields: [{ name: 'dense', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } }],
})
for (let i = 0; ; i++) {
  await collection.upsert([{ id: `${i}`, fields: { dense: new Float32Array([i, 0]) } }])
  const query = new Float32Array([i, 0])
  const found = await reader.here('things', { field: 'dense', query, limit: 1, ef: 10 })
  if (found?.hits[0]?.id !== `${i}`) throw new Error(`the reader does not find ${i}: ${JSON.stringify(found)}`)
  process.stdout.write(`${i + 1}\n`)
}
