// Reads as of recent moments are answered by the live collection, and return what it returned then.
import type { Collection, Engine, FieldDefinition, PastCollection, SearchRequest } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import {
  denseField,
  dimension,
  openedEngine,
  precisions,
  runRandomLife,
  someVector,
  spaceTypes,
} from '../backup/rig.ts'
import { type Answers, answersOf, someSearches } from './recorded.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'

interface Recorded {
  readonly lsn: number
  readonly searches: readonly SearchRequest[]
  readonly answers: Answers
}

/** Moments are never loaded, so the window answers or the read is refused. */
const onlyWindow = { asOf: { loadedBytesMax: 0 } }

for (const name of ['dense', 'multi'] as const)
  test(`a window answers what was answered then, ${name} (ANNAL_SEED=${seed})`, { timeout: 600_000 }, async (t) => {
    const random = seededRandom(seed)
    for (let life = 0; life < (long ? 40 : 2); life++) {
      const precision = precisions[random.below(precisions.length)]
      const space = spaceTypes[random.below(spaceTypes.length)]
      const several: FieldDefinition = { name: 'v', type: 'multi_vector', params: { dimension, spaceType: space } }
      t.comment(`precision ${precision}, space ${space}`)
      const engine = await openedEngine(t, onlyWindow)
      const field = name === 'dense' ? denseField('v', precision, space) : several
      const collection = await engine.database().createCollection({ name: 'a', fields: [field] })
      const recorded: Recorded[] = []
      let [answered, refused] = [0, 0]
      for (let step = 0; step < 40; step++) {
        await runRandomLife(collection, random, 1 + random.below(3))
        if (random.chance(0.1)) await patchSome(collection, random.below(200))
        const searches = someSearches(random, ['v'], { stored: `o${random.below(200)}` })
        recorded.push({ lsn: engine.lsnApplied, searches, answers: await answersOf(collection, searches) })
        for (let i = 0; i < 2; i++) {
          const one = recorded[random.below(recorded.length)] as Recorded
          const past = await collection.asOf({ lsn: one.lsn }).catch((error) => error)
          if (past.code === 'moment_unreachable') {
            refused++
            continue
          }
          answered++
          t.same(await answersOf(past, one.searches), one.answers, `LSN ${one.lsn} of ${engine.lsnApplied}`)
        }
      }
      t.comment(`${answered} moments answered, ${refused} out of the window`)
      t.ok(answered > 5)
      t.equal(engine.stats().asOf.loaded, 0)
      await engine.close()
    }
  })

async function patchSome(collection: Collection, n: number): Promise<void> {
  await collection.patch([{ id: `o${n}`, meta: { patched: n }, filter: { n: n % 9, m: 1 } }]).catch((error) => {
    if (error.code !== 'object_not_found') throw error
  })
}

/** A collection with one version for each of some ids, replaced several times. */
async function replacedOften(
  engine: Engine,
  name: string,
  times: number,
): Promise<{ collection: Collection; lsn: number }> {
  const collection = await engine.database().createCollection({ name, fields: [denseField('v', 'float32')] })
  const write = (n: number) =>
    collection.upsert(
      Array.from({ length: 20 }, (_, i) => ({
        id: `o${i}`,
        filter: { n },
        fields: { v: Array.from({ length: dimension }, (_, d) => n + i * d) },
      })),
    )
  const { lsn } = await write(0)
  for (let n = 1; n <= times; n++) await write(n)
  return { collection: collection as unknown as Collection, lsn }
}

async function isAnswered(collection: Collection, lsn: number): Promise<boolean> {
  return collection.asOf({ lsn }).then(
    async (past) => (await past.count([{ n: { $eq: 0 } }])).count === 20,
    (error) => {
      if (error.code === 'moment_unreachable') return false
      throw error
    },
  )
}

test('reads of the window next to writers see their moment', { timeout: 300_000 }, async (t) => {
  const random = seededRandom(seed)
  const engine = await openedEngine(t, onlyWindow)
  const collection = await engine.database().createCollection({ name: 'a', fields: [denseField('v', 'int8')] })
  const some = (count: number) =>
    Array.from(new Set(Array.from({ length: count }, () => `o${random.below(150)}`)), (id) => ({
      id,
      filter: { n: random.below(9), m: random.below(3) },
      meta: { n: random.below(9) },
      fields: { v: someVector(random) },
    }))
  for (let i = 0; i < 5; i++) await collection.upsert(some(100))
  const searches = someSearches(random, ['v'], { stored: 'o1' })
  const { lsnApplied: lsn } = engine
  const answers = await answersOf(collection, searches)
  let isOver = false
  const writer = async () => {
    for (let i = 0; i < 40; i++) {
      await collection.upsert(some(6))
      await collection.updateFilters([{ id: `o${random.below(150)}`, filter: { n: random.below(9), m: 1 } }])
      if (i % 5 === 0) await collection.delete([`o${random.below(150)}`])
    }
    isOver = true
  }
  const reader = async () => {
    let reads = 0
    do {
      const past = await collection.asOf({ lsn })
      t.same(await answersOf(past, searches), answers)
      reads++
    } while (!isOver)
    return reads
  }
  const [, ...reads] = await Promise.all([writer(), reader(), reader()])
  t.ok(reads.every((count) => count > 0))
  t.ok(engine.stats().asOf.windowBytes > 0)
})

test('an approximate search of the window finds what a live one finds', { timeout: 300_000 }, async (t) => {
  const random = seededRandom(seed)
  const engine = await openedEngine(t, onlyWindow)
  const collection = await engine.database().createCollection({ name: 'a', fields: [denseField('v', 'float32')] })
  const object = (n: number) => ({ id: `o${n}`, filter: { even: n % 2 === 0 }, fields: { v: someVector(random) } })
  for (let from = 0; from < 4_000; from += 500)
    await collection.upsert(Array.from({ length: 500 }, (_, i) => object(from + i)))
  const { lsnApplied: lsn } = engine
  const queries = Array.from({ length: 60 }, () => someVector(random))
  for (const filter of [[], [{ even: { $eq: true } }]]) {
    const recall = async (target: Pick<Collection | PastCollection, 'search'>) => {
      let found = 0
      for (const query of queries) {
        const request = { fields: { v: { query, limit: 10 } }, filter, boostPercentage: 0 }
        const [some, all] = [await target.search(request), await target.search({ ...request, exact: true })]
        const last = all.results.v?.at(-1)?.similarity ?? 0
        found += some.results.v?.filter(({ similarity }) => similarity >= last).length ?? 0
      }
      return found / queries.length / 10
    }
    const live = await recall(collection)
    for (let i = 0; i < 20; i++) {
      const ids = new Set(Array.from({ length: 10 }, () => random.below(4_000)))
      await collection.upsert(Array.from(ids, object))
    }
    const then = await recall(await collection.asOf({ lsn }))
    t.ok(then >= live - 0.005, `recall ${then}, live ${live}`)
  }
})

test('the memory of the window is bounded: what was read least recently is given up', async (t) => {
  const engine = await openedEngine(t, { asOf: { loadedBytesMax: 0, windowBytesMax: 400_000 } })
  const first = await replacedOften(engine, 'first', 30)
  const second = await replacedOften(engine, 'second', 30)
  t.ok(await isAnswered(first.collection, first.lsn), 'both fit')
  t.ok(await isAnswered(second.collection, second.lsn))
  t.ok(await isAnswered(first.collection, first.lsn), 'the first one is read last')
  for (let n = 0; engine.stats().asOf.windowBytes < 390_000 && n < 100; n++) {
    const id = `o${n % 20}`
    await second.collection.upsert([{ id, meta: { text: 'x'.repeat(4_000) }, fields: { v: Array(dimension).fill(n) } }])
  }
  const { lsn } = await second.collection.upsert([{ id: 'o1', fields: { v: Array(dimension).fill(1) } }])
  for (let n = 0; n < 40 && (await isAnswered(second.collection, second.lsn)); n++)
    await replacedOften(engine, `more${n}`, 20)
  t.notOk(await isAnswered(second.collection, second.lsn), 'the second one was given up')
  t.ok(lsn > 0)
  t.ok(engine.stats().asOf.windowBytes <= 400_000 + 65_536 * 3)
})

test('a rebuild, a restart, and a setting of 0 end the window, and reads load states', async (t) => {
  const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
  const engine = await openedEngine(t, { archive })
  const { collection, lsn } = await replacedOften(engine, 'a', 30)
  t.ok(await isAnswered(collection, lsn))
  t.equal(engine.stats().asOf.loaded, 0)
  await collection.rebuild()
  t.ok(await isAnswered(collection, lsn), 'loaded')
  t.equal(engine.stats().asOf.loaded, 1)
  t.same(engine.stats().asOf.windowBytes, 0)
  await collection.upsert([{ id: 'new', fields: { v: Array(dimension).fill(1) } }])
  const { dataDir } = engine
  await engine.close()
  const again = await openedEngine(t, { dataDir, archive })
  t.ok(await isAnswered(again.database().collection('a') as unknown as Collection, lsn), 'loaded after a restart')
  t.equal(again.stats().asOf.loaded, 1)
  await again.close()
  const none = await openedEngine(t, { dataDir, archive, asOf: { windowSeconds: 0 } })
  const other = await replacedOften(none, 'b', 20)
  t.ok(await isAnswered(other.collection, other.lsn))
  t.match(none.stats().asOf, { loaded: 1, windowBytes: 0 })
})
