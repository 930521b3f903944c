// Opens a directory in a separate process, possibly with little address space. `fill` creates collections of one field each until a given
// number holds data. `look` reports which of them are ready, and the result of a write to another one.
import { openEngine } from '@annal/engine'

const [dataDir = '', act = '', count = '0'] = process.argv.slice(2)
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } },
] as const
/** More fields than the address space of the test is enough for. */
const moreMax = 32
const object = { id: 'a', fields: { v: [1, 2, 3, 4] } }

const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
const database = engine.database()
if (act === 'fill') {
  for (let n = 0; n < Number(count); n++)
    await (await database.createCollection({ name: `c${n}`, fields })).upsert([object])
  await engine.close()
  process.exit(0)
}
const conditions = database.collections().map(({ condition }) => condition)
const names = database.collections().map(({ name }) => name)
const answers = await Promise.all(
  names
    .filter((_, i) => conditions[i] === 'ready')
    .map((name) => database.collection(name).search({ fields: { v: { query: [1, 2, 3, 4], limit: 1 } } })),
)
let refusal: unknown
const { reasons } = engine.health()
if (act === 'refuse') {
  // A garbage collection after the start can free address space for a few more fields.
  const added: string[] = []
  while (refusal === undefined && added.length < moreMax) {
    const name = `more${added.length}`
    const more = await database.createCollection({ name, fields })
    added.push(name)
    const before = engine.stats().lsnApplied
    try {
      await more.upsert([object])
    } catch (error) {
      const { code, message, details } = error as { code: string; message: string; details: { field: string } }
      refusal = { code, message, field: details.field, appended: engine.stats().lsnApplied - before }
    }
  }
  for (const name of added) await database.deleteCollection(name)
  // The memories of a deleted collection are available once every thread has collected garbage.
  const [first = ''] = names.filter((_, i) => conditions[i] === 'ready')
  await database.deleteCollection(first)
  const other = await database.createCollection({ name: first, fields })
  for (let refused = true; refused; ) {
    await new Promise((resolve) => setImmediate(resolve))
    refused = await other.upsert([object]).then(
      () => false,
      () => true,
    )
  }
}
console.log(
  JSON.stringify({
    ready: conditions.filter((condition) => condition === 'ready').length,
    answered: answers.filter(({ results }) => results.v?.[0]?.id === 'a').length,
    refusal,
    reasons,
  }),
)
await engine.close()
