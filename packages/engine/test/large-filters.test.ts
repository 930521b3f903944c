// Writes with so many filter values that they become visible over several turns of the event loop, while readers of every kind run. Each
// reader sees all of a write or nothing, and a replay gives the same state.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const seed = chosenSeed()
const writes = process.env.ANNAL_LONG === '1' ? 400 : 40
const ids = Array.from({ length: 12 }, (_, i) => `o${i}`)
const dimension = 4
/** The direction of a vector encodes the number of its write. */
const vectorOf = (write: number): number[] => [Math.cos(write / 500), Math.sin(write / 500), 0, 0]

function filterOf(write: number, i: number): { [key: string]: string | number } {
  const values = Array.from({ length: 100 }, (_, index): [string, string] => [
    `k${index}`,
    `${write % 3}-${i}-${'v'.repeat(400)}`,
  ])
  return { write, ...Object.fromEntries(values) }
}

test(`readers see all of a large write or nothing, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const dir = await mkdtemp(join(tmpdir(), 'annal-large-filters-'))
  const pool = await openWorkerPool({ threads: 1 })
  const open = () => openEngine({ dataDir: join(dir, 'data') }, { pool })
  let engine = await open()
  t.teardown(async () => {
    await engine.close()
    await pool.close()
    await rm(dir, { recursive: true })
  })
  const fields = [
    { name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32' } },
    { name: 'w', type: 'sparse', params: { model: 'default' } },
  ] as const
  const collection = await engine.database().createCollection({ name: 'c', fields })
  let [write, isOver, reads] = [0, false, 0]
  const wrong: string[] = []
  const check = (what: string, values: readonly unknown[]): void => {
    reads++
    const whole = values.length === 0 || (values.length === ids.length && values.every((value) => value === values[0]))
    if (!whole) wrong.push(`${what} at write ${write}: ${values.join(' ')}`)
  }
  const reading = readers(collection).map(async (read) => {
    while (!isOver) {
      await read(check)
      // Different numbers of turns, so that readers start at different moments of a write.
      for (let rests = random.below(6); rests >= 0; rests--) await nextTurn()
    }
  })
  // Searches without ids or filters continue while a write becomes visible.
  const searching = (async () => {
    while (!isOver) {
      const found = await collection.search({ fields: { v: { query: [0, 0, 0, 0], limit: 100 } } })
      check(
        'hits',
        (found.results.v ?? []).map(({ filter }) => filter.write),
      )
      await nextTurn()
    }
  })()
  for (; write < writes; write++) {
    const kind = random.next()
    if (kind < 0.15) await collection.delete(ids)
    else if (kind < 0.5) await collection.replaceFilters(ids.map((id, i) => ({ id, filter: filterOf(write, i) })))
    else {
      const objects = ids.map((id, i) => ({
        id,
        filter: filterOf(write, i),
        fields: { v: vectorOf(write), w: { indices: [1], values: [1] } },
      }))
      await collection.upsert(objects)
    }
  }
  isOver = true
  await Promise.all([...reading, searching])
  t.same(wrong, [])
  t.ok(reads > writes, `${reads} reads of ${writes} writes`)
  const digest = collection.stateDigest()
  await engine.close()
  engine = await open()
  await waitUntilOk(engine)
  t.equal(engine.database().collection('c').stateDigest(), digest, 'a start makes the same of the log')
})

type Check = (what: string, values: readonly unknown[]) => void

function readers(collection: Collection): ((check: Check) => Promise<void>)[] {
  const all = [{ write: { $gte: 0 } }]
  const query = [0, 0, 0, 0]
  return [
    async (check) =>
      check(
        'get',
        (await collection.get(ids)).map(({ filter }) => filter.write),
      ),
    async (check) =>
      check(
        'scroll',
        (await collection.scroll({ limit: 100 })).objects.map(({ filter }) => filter.write),
      ),
    async (check) => {
      const { results } = await collection.search({ fields: { v: { query, limit: 100 } }, filter: all })
      check(
        'filtered hits',
        (results.v ?? []).map(({ filter }) => filter.write),
      )
    },
    async (check) => {
      const { results } = await collection.search({
        fields: { w: { query: { indices: [1], values: [1] }, limit: 100 } },
      })
      check(
        'sparse hits',
        (results.w ?? []).map(({ filter }) => filter.write),
      )
    },
    async (check) => {
      const [one, two] = await collection.searchBatch([
        { fields: { v: { query, limit: 100 } } },
        { fields: { v: { query, limit: 100 } }, filter: all },
      ])
      const values = [one, two].map((found) => found?.results.v?.[0]?.filter.write)
      if (values[0] !== values[1]) check('a batch', values)
    },
    async (check) =>
      check(
        'facets',
        (await collection.facets({ key: 'write' })).values.flatMap(({ value, count }) => Array(count).fill(value)),
      ),
    // Synchronous calls, which complete the write in their own turn.
    async (check) => check('count', Array(collection.count(all).count).fill(0)),
    async (check) => check('objects', Array(collection.describe().objects).fill(0)),
  ]
}

async function waitUntilOk(engine: Engine): Promise<void> {
  while (engine.health().status !== 'ok') await nextTurn()
}
