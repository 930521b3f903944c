// A program that only waits for results of the engine; nothing else keeps the process alive.
import { openEngine } from '@annal/engine'

const engine = await openEngine({ dataDir: process.argv[2] as string, threads: 1 })
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 64, space_type: 'l2', precision: 'float32' } },
] as const
const collection = await engine.database().createCollection({ name: 'c', fields })
const vector = (n: number) => Array.from({ length: 64 }, (_, i) => Math.sin(n * (i + 1)))
for (let n = 0; n < 4000; n += 1000)
  await collection.upsert(Array.from({ length: 1000 }, (_, i) => ({ id: String(n + i), fields: { v: vector(n + i) } })))
for (let i = 0; i < 300; i++) await collection.search({ fields: { v: { query: vector(i), limit: 10, ef: 1000 } } })
await collection.rebuild()
await engine.close()
console.log('all answered')
