// A life whose last write gets stuck: `node --import stuck-kernel.ts stuck-life.ts DATA`. Prints the results of its calls.
import { writeFileSync } from 'node:fs'
import { openEngine } from '@annal/engine'

const dimension = 16
const engine = await openEngine({ dataDir: process.argv[2] as string, threads: 2 })
const params = { dimension, space_type: 'l2', precision: 'int8', M: 8, ef_con: 32 } as const
const collection = await engine
  .database()
  .createCollection({ name: 'c', fields: [{ name: 'v', type: 'vector', params }] })
const batch = (from: number) =>
  Array.from({ length: 100 }, (_, i) => ({
    id: String(from + i),
    fields: { v: Array.from({ length: dimension }, (_, j) => Math.sin((from + i + 1) * (j + 1))) },
  }))
let acknowledged = 0
for (; acknowledged < 600; acknowledged += 100) await collection.upsert(batch(acknowledged))
writeFileSync(process.env.STUCK_FROM as string, '')
const refused = await collection.upsert(batch(acknowledged)).then(
  () => undefined,
  (error: { readonly code?: string }) => error.code,
)
const { status } = engine.health()
await engine.close()
console.log(JSON.stringify({ acknowledged, refused, status }))
