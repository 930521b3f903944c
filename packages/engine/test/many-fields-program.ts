// Fills collections of eight dense fields each in a separate process, opens the directory again, and checks all collections. Prints the
// result as JSON.
import { openEngine } from '@annal/engine'
import { openFilesLimit } from '@annal/wal'
import { takenByProcess } from '@annal/wal/testing'

const [dataDir = '', collections = '0', filled = '0'] = process.argv.slice(2)
const dimension = 4
const fieldNames = Array.from({ length: 8 }, (_, i) => `f${i}`)
const fields = fieldNames.map(
  (name) =>
    ({
      name,
      type: 'vector',
      params: { dimension, space_type: 'l2', precision: 'int8', M: 4, ef_con: 8 },
    }) as const,
)
const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin((n + 1) * (i + 1)))
const objectOf = (n: number) => ({
  id: `o${n}`,
  fields: Object.fromEntries(fieldNames.map((name, i) => [name, vectorOf(n + i)])),
})
const options = { dataDir, threads: 1, fsync: 'none', limits: { collectionsMax: 20_000 } } as const

const engine = await openEngine(options)
for (let n = 0; n < Number(collections); n++) {
  const collection = await engine.database().createCollection({ name: `c${n}`, fields })
  if (n < Number(filled)) await collection.upsert([objectOf(n), objectOf(n + 1)])
}
const full = takenByProcess()
const digests = engine
  .database()
  .collections()
  .map(({ name }) => engine.database().collection(name).stateDigest())
await engine.close()

const again = await openEngine(options)
let wrong = 0
const database = again.database()
for (let n = 0; n < Number(collections); n++) {
  const collection = database.collection(`c${n}`)
  if (collection.stateDigest() !== digests[n]) wrong++
  if (n >= Number(filled)) continue
  // Reads original vectors from the files.
  const search = { query: vectorOf(n + 3), limit: 1, rescore: true }
  const { results } = await collection.search({ fields: { f3: search } })
  if (results.f3?.[0]?.id !== `o${n}`) wrong++
  await collection.upsert([objectOf(n + 2)])
}
const restarted = takenByProcess()
const { status, reasons } = again.health()
await again.close()
console.log(
  JSON.stringify({ limit: openFilesLimit(), full, restarted, wrong, health: { status, reasons: reasons.slice(0, 5) } }),
)
