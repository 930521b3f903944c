// An engine in a process whose clock libfaketime sets. Writes the state for each line of its input.
import { createInterface } from 'node:readline'
import { openEngine } from '@annal/engine'

const [dataDir = ''] = process.argv.slice(2)
const engine = await openEngine({ dataDir, threads: 1 }, { expiryEveryMs: 20 })
const database = engine.database()
const known = database.collections().some(({ name }) => name === 'things')
const fields = [{ name: 'words', type: 'sparse' }] as const
const things = known ? database.collection('things') : await database.createCollection({ name: 'things', fields })
await things.served()
if (!known) {
  const words = { indices: [1], values: [1] }
  await things.upsert([
    { id: 'a', fields: { words }, ttlSeconds: 3_600 },
    { id: 'b', fields: { words } },
  ])
}
for await (const _ of createInterface({ input: process.stdin })) {
  const { clockJumps, deleted, isDeleting } = engine.stats().expiry
  const { reasons } = engine.health()
  console.log(JSON.stringify({ count: things.count().count, clockJumps, deleted, isDeleting, reasons }))
}
await engine.close()
