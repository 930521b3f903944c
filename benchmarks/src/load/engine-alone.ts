// Loads Fashion-MNIST into an embedded engine with a log on disk, in batches, and prints the seconds of CPU time: engine-alone.ts DIR BATCH
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { readDataset } from '../sets/dataset.ts'

const [data = '', size = ''] = process.argv.slice(2)
const { base, dimension } = await readDataset(data, 'fashion-mnist')
const batch = Number(size)
const dir = await mkdtemp(path.join(tmpdir(), 'annal-embedded-'))
const engine = await openEngine({ dataDir: dir })
const database = engine.database()
const collection = await database.createCollection({
  name: 'a',
  fields: [{ name: 'vector', type: 'vector', params: { dimension, spaceType: 'l2' } }],
})
const before = process.cpuUsage()
for (let from = 0; from < base.length / dimension; from += batch) {
  const objects = Array.from({ length: batch }, (_, i) => ({
    id: `${from + i}`,
    fields: { vector: base.subarray((from + i) * dimension, (from + i + 1) * dimension) },
  }))
  await collection.upsert(objects)
}
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1e6)
await engine.close()
await rm(dir, { recursive: true, force: true })
