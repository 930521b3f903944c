// `node scripts/run.mjs benchmarks/src/browse/load.ts --dir DIR [--objects 1000000]`: fills a data directory for browsing in
// `packages/dashboard/test/million.test.ts`. Vectors and graph are small, because only lists are tested.
import { openEngine } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { readOptions } from '../options.ts'

const options = readOptions({ dir: String, objects: 1_000_000 })
if (options.dir === undefined) throw new Error('--dir DIR is required')
const { objects } = options
const batch = 1_000
const dimension = 16
const colors = ['red', 'green', 'blue']
const engine = await openEngine({ dataDir: options.dir })
const collection = await engine.database().createCollection({
  name: 'million',
  fields: [
    { name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'int8', M: 8, efConstruction: 40 } },
  ],
})
const random = seededRandom(7)
for (let first = 0; first < objects; first += batch) {
  const made = Array.from({ length: Math.min(batch, objects - first) }, (_, i) => ({
    id: `object-${first + i}`,
    meta: {
      title: `Object ${first + i}`,
      text: 'A description of the object in one or two sentences, as long as usual.',
    },
    filter: { color: colors[i % colors.length] as string, number: (first + i) % 1_000 },
    fields: { v: Float32Array.from({ length: dimension }, () => random.next() + (i % 20)) },
  }))
  await collection.upsert(made)
}
await engine.close()
