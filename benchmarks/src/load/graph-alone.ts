// Builds the graph of Fashion-MNIST from memory, in batches, with as many threads as a server, and prints the seconds of CPU time:
// graph-alone.ts DIR BATCH
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { readDataset } from '../sets/dataset.ts'
import { norms } from '../sets/fill.ts'

const [data = '', size = ''] = process.argv.slice(2)
const { base, dimension } = await readDataset(data, 'fashion-mnist')
const batch = Number(size)
const pool = await openWorkerPool()
const params = {
  dimension,
  spaceType: 'l2',
  precision: 'int8',
  M: 16,
  efConstruction: 128,
  rules: rulesNewest,
} as const
const field = await openDenseField({ kind: 'dense', name: 'vector', params }, pool)
const before = process.cpuUsage()
for (let from = 0; from < base.length / dimension; from += batch) {
  const vectors = base.subarray(from * dimension, (from + batch) * dimension)
  const ordinals = Uint32Array.from({ length: vectors.length / dimension }, (_, i) => from + i)
  await field.apply(from / batch + 1, { ordinals, vectors, norms: norms(vectors, dimension) }, new Uint32Array(0))
}
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1e6)
await field.close()
await pool.close()
