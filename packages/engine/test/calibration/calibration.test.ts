// Searches that state a recall, on seeded data: they reach it with queries that the calibration did not see, with and without filters, the
// calibration follows the field, and wrong values are refused.
import { type Collection, EngineError, type Precision } from '@annal/engine'
import { type Test, test } from 'tap'
import { uncalibratedEf } from '../../src/calibration/table.ts'
import { denseField, openCollection, openDirectory, openIn, sparseField } from '../search/rig.ts'
import { createRandom } from '../vector/world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const dimension = 32
const rows = process.env.ANNAL_LONG ? 40_000 : 2_000
const queryCount = process.env.ANNAL_LONG ? 1_000 : 150
const measuredCount = process.env.ANNAL_LONG ? 1_000 : 200
const receivedCount = 200

/** Vectors around centers that overlap, so that small values of ef miss some of the nearest. */
function createSource(random: () => number) {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const centers = Array.from({ length: 24 }, () => Array.from({ length: dimension }, gauss))
  return () => {
    const center = centers[Math.floor(random() * centers.length)] as number[]
    return Float32Array.from(center, (x) => x + gauss())
  }
}

interface World {
  readonly collection: Collection
  make(): Float32Array
  /** By id. */
  readonly vectors: readonly Float32Array[]
}

async function openWorld(t: Test, precision: Precision, count: number): Promise<World> {
  t.comment(`seed ${seed}`)
  const collection = await openCollection(t, [denseField(dimension, { precision })])
  const make = createSource(createRandom(seed))
  const vectors = await upsert(collection, make, 0, count)
  return { collection, make, vectors }
}

async function upsert(
  collection: Collection,
  make: () => Float32Array,
  from: number,
  to: number,
): Promise<readonly Float32Array[]> {
  const vectors = Array.from({ length: to - from }, make)
  for (let first = from; first < to; first += 1_000)
    await collection.upsert(
      Array.from({ length: Math.min(1_000, to - first) }, (_, i) => ({
        id: `${first + i}`,
        filter: { place: (first + i) % 100 },
        fields: { dense: vectors[first - from + i] as Float32Array },
      })),
    )
  return vectors
}

/** Ids of the ten nearest among the objects whose place is below `places`. */
function nearest(vectors: readonly Float32Array[], query: Float32Array, places: number): ReadonlySet<string> {
  const near = vectors.flatMap((vector, i) => {
    if (i % 100 >= places) return []
    let distance = 0
    for (let j = 0; j < dimension; j++) distance += ((vector[j] as number) - (query[j] as number)) ** 2
    return [{ id: `${i}`, distance }]
  })
  near.sort((a, b) => a.distance - b.distance)
  return new Set(near.slice(0, 10).map(({ id }) => id))
}

interface Query {
  readonly query: Float32Array
  readonly good: ReadonlySet<string>
}

async function measure(collection: Collection, queries: readonly Query[], how: object, more: object) {
  let recall = 0
  for (const { query, good } of queries) {
    const { results } = await collection.search({ fields: { dense: { query, ...how } }, ...more })
    recall += (results.dense ?? []).filter(({ id }) => good.has(id)).length / good.size / queries.length
  }
  return recall
}

async function choiceOf(collection: Collection, recall: number, more: object = {}) {
  const found = await collection.search({ fields: { dense: { query: { id: '0' }, recall } }, ...more })
  return found.recall?.dense
}

/** Numbers of places, which are percent of the objects. */
const shares = [100, 50, 10, 1]

for (const precision of ['float32', 'int8'] as const)
  test(`${precision}: a calibrated field reaches the stated recall`, async (t) => {
    const { collection, make, vectors } = await openWorld(t, precision, rows)
    const made = Array.from({ length: queryCount }, make)
    const queries = new Map(
      shares.map((share) => [share, made.map((query) => ({ query, good: nearest(vectors, query, share) }))]),
    )
    // With queries made of rows, then with received ones.
    for (const source of precision === 'float32' ? (['rows', 'received'] as const) : (['rows'] as const)) {
      if (source === 'received')
        for (let i = 0; i < receivedCount; i++)
          await collection.search({ fields: { dense: { query: make(), recall: 0.9 } } })
      const calibration = await collection.calibrate({ sample: measuredCount })
      t.match(calibration, { field: 'dense', limit: 10, rescore: false, state: 'current', source, rows })
      t.equal(calibration.queries, source === 'rows' ? measuredCount : Math.min(measuredCount, receivedCount))
      for (const share of shares)
        for (const target of [0.9, 0.95, 0.99]) {
          const more = share === 100 ? {} : { filter: [{ place: { $lt: share } }] }
          const choice = await choiceOf(collection, target, more)
          const recall = await measure(collection, queries.get(share) as Query[], { ef: choice?.ef }, more)
          t.equal(choice?.calibrated, true)
          // The mean of so few queries is rarely .02 off. A choice that ignores the target fails.
          const promised = choice?.reachable ? target : (choice?.expected ?? 0)
          t.ok(recall >= promised - 0.02, `${share} % ${target}: ${recall} with ef ${choice?.ef}`)
          if (choice?.reachable) t.ok((choice.expected ?? 0) >= target - 0.0025, `expected ${choice.expected}`)
        }
      const [low, high] = [await choiceOf(collection, 0.9), await choiceOf(collection, 0.99)]
      t.ok((high?.ef ?? 0) > (low?.ef ?? 0), `ef ${low?.ef} and ${high?.ef}`)
    }
  })

test('the choice saves work compared with the default, and the search uses it', async (t) => {
  const { collection, make } = await openWorld(t, 'float32', rows)
  await collection.calibrate({ sample: 100 })
  const query = make()
  const stated = await collection.search({ fields: { dense: { query, recall: 0.9 } }, explain: true })
  const plain = await collection.search({ fields: { dense: { query } }, explain: true })
  t.equal(plain.recall, undefined)
  t.equal(stated.explain?.fields.dense?.ef, stated.recall?.dense?.ef)
  t.ok((stated.explain?.fields.dense?.distances ?? 0) < (plain.explain?.fields.dense?.distances ?? 0))
})

test('what cannot be reached is served as well as possible, and says so', async (t) => {
  const collection = await openCollection(t, [denseField(dimension, { precision: 'binary' })])
  const make = createSource(createRandom(seed))
  const vectors = await upsert(collection, make, 0, 600)
  // Signs alone order too coarsely.
  const calibration = await collection.calibrate({ rescore: false, sample: 20 })
  t.match(calibration, { state: 'current', rescore: false })
  const choice = await choiceOf(collection, 0.99, { rescore: false })
  t.equal(choice?.reachable, false)
  t.ok((choice?.expected ?? 1) < 0.9, `expected ${choice?.expected}`)
  const queries = Array.from({ length: 60 }, make).map((query) => ({ query, good: nearest(vectors, query, 100) }))
  const recall = await measure(collection, queries, { recall: 0.99 }, { rescore: false })
  t.ok(Math.abs(recall - (choice?.expected ?? 0)) < 0.12, `${recall} of ${choice?.expected}`)
  // With rescoring, which is the default of this precision, it is another measurement.
  t.match(await choiceOf(collection, 0.99), { calibrated: false })
  t.strictSame(
    collection.calibrations().map(({ rescore }) => rescore),
    [false, true],
  )
})

test('before the first measurement a careful default is used, and the measurement starts automatically', async (t) => {
  const { collection, make } = await openWorld(t, 'float32', 1_000)
  t.strictSame(collection.calibrations(), [])
  const first = await collection.search({ fields: { dense: { query: make(), recall: 0.95, limit: 7 } } })
  t.strictSame(first.recall, { dense: { target: 0.95, ef: 97, calibrated: false } })
  t.match(collection.calibrations(), [{ field: 'dense', limit: 10, state: 'running', received: 1 }])
  // After the measurement that runs.
  await collection.calibrate({ limit: 9, sample: 40 })
  t.match(await choiceOf(collection, 0.95), { target: 0.95, calibrated: true })
  t.equal(collection.calibrations().length, 1)
  t.ok(uncalibratedEf(0.99, 10) > uncalibratedEf(0.9, 10))
  t.ok(uncalibratedEf(0.9, 100) > uncalibratedEf(0.9, 10))
  t.equal(uncalibratedEf(0.999, 4_000), 4_000)
})

test('changes of the field make a measurement outdated until the next one', async (t) => {
  const { collection, make } = await openWorld(t, 'float32', 3_000)
  await collection.calibrate({ sample: 40 })
  const before = await choiceOf(collection, 0.99)
  await upsert(collection, make, 0, 500)
  t.match(await choiceOf(collection, 0.99), { calibrated: true, ef: before?.ef }, 'a sixth of the rows was replaced')
  await upsert(collection, make, 3_000, 3_500)
  const outdated = await choiceOf(collection, 0.99)
  t.equal(outdated?.calibrated, false)
  t.ok((outdated?.ef ?? 0) > (before?.ef ?? 0))
  t.match(await collection.calibrate({ sample: 40 }), { state: 'current', rows: 3_500 })
  t.equal((await choiceOf(collection, 0.99))?.calibrated, true)

  await collection.rebuild({ dense: { M: 8, efConstruction: 64 } })
  t.equal((await choiceOf(collection, 0.99))?.calibrated, false, 'a rebuilt graph is another one')
  await collection.calibrate({ sample: 40 })
  t.equal((await choiceOf(collection, 0.99))?.calibrated, true)
  await collection.delete(Array.from({ length: 1_000 }, (_, i) => `${i}`))
  t.equal(collection.calibrations()[0]?.state, 'outdated')
})

test('writes and deletions during a measurement do not disturb it', async (t) => {
  const { collection, make } = await openWorld(t, 'int8', 2_000)
  let isRunning = true
  const running = collection.calibrate({ sample: 60 }).finally(() => {
    isRunning = false
  })
  for (let i = 0; i < 20 && isRunning; i++) {
    await upsert(collection, make, 0, 50)
    await collection.delete([`${100 + i}`])
  }
  t.match(await running, { field: 'dense', queries: Number })
})

test('a closed engine ends a measurement', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const collection = await engine.database().createCollection({ name: 'things', fields: [denseField(dimension)] })
  await upsert(collection, createSource(createRandom(seed)), 0, 4_000)
  const running = t.rejects(collection.calibrate(), { code: 'cancelled' })
  await collection.search({ fields: { dense: { query: { id: '1' } } } })
  await engine.close()
  await running
})

test('an empty field and fields without enough rows', async (t) => {
  const collection = await openCollection(t, [denseField(dimension)])
  t.match(await collection.calibrate(), { state: 'current', queries: 0, rows: 0 })
  const query = new Float32Array(dimension).fill(1)
  t.strictSame((await collection.search({ fields: { dense: { query, recall: 0.9 } } })).results.dense, [])
  await collection.upsert([{ id: 'only', fields: { dense: query } }])
  const { results } = await collection.search({ fields: { dense: { query, recall: 0.9 } } })
  t.equal(results.dense?.length, 1)
})

test('wrong values are refused by name', async (t) => {
  const members = { name: 'many', type: 'multi_vector' as const, params: { dimension: 4 } }
  const collection = await openCollection(t, [denseField(4), sparseField(), members])
  const query = [1, 2, 3, 4]
  const refusal = async (field: object, name = 'dense') => {
    try {
      await collection.search({ fields: { [name]: { query, ...field } } })
      return undefined
    } catch (error) {
      if (error instanceof EngineError) return { code: error.code, field: error.details.field, message: error.message }
      throw error
    }
  }
  for (const recall of [0, 1, 1.1, -0.5, 0.9999])
    t.match(await refusal({ recall }), { code: 'limit_exceeded', field: 'recall' }, `${recall}`)
  for (const recall of [Number.NaN, Number.POSITIVE_INFINITY, '0.9', null, true, [0.9], {}])
    t.match(await refusal({ recall }), { code: 'invalid_argument', field: 'recall' }, `${recall}`)
  const both = await refusal({ recall: 0.9, ef: 64 })
  t.match(both, { code: 'invalid_argument', message: /both ef and recall/ })
  t.match(await refusal({ recall: 0.9 }, 'many'), { code: 'invalid_argument', message: /ef, not recall/ })
  t.equal(await refusal({ recall: 0.5 }), undefined)
  const words = { indices: [1], values: [1] }
  const sparse = await collection.search({ fields: { words: { query: words, recall: 0.9 } } })
  t.equal(sparse.recall, undefined, 'a sparse field is searched exactly')
  for (const [request, code] of [
    [{ field: 'words' }, 'field_not_found'],
    [{ field: 'many' }, 'field_not_found'],
    [{ field: 'none' }, 'field_not_found'],
    [{ limit: 0 }, 'limit_exceeded'],
    [{ limit: 1.5 }, 'invalid_argument'],
    [{ rescore: 'yes' }, 'invalid_argument'],
    [{ sample: 19 }, 'limit_exceeded'],
    [{ sample: 1_001 }, 'limit_exceeded'],
  ] as const)
    await t.rejects(collection.calibrate(request as object), { code }, JSON.stringify(request))
})

test('exact searches need no ef, and batches report each choice', async (t) => {
  const { collection, make } = await openWorld(t, 'float32', 1_000)
  const query = make()
  const exact = await collection.search({ fields: { dense: { query, recall: 0.9 } }, exact: true })
  t.equal(exact.recall, undefined)
  const [one, two] = await collection.searchBatch([
    { fields: { dense: { query, recall: 0.9 } } },
    { fields: { dense: { query } } },
  ])
  t.match(one?.recall, { dense: { target: 0.9 } })
  t.equal(two?.recall, undefined)
})

test('some tens of received queries are used next to made ones, and never lead to a larger ef', async (t) => {
  const { collection, make } = await openWorld(t, 'float32', rows)
  await collection.calibrate()
  const made = await choiceOf(collection, 0.95)
  const [before] = collection.calibrations()
  t.equal(before?.source, 'rows')
  for (let i = 0; i < 60; i++) await collection.search({ fields: { dense: { query: make(), recall: 0.9 } } })
  t.match(await collection.calibrate(), { source: 'received', queries: 60, state: 'current' })
  const both = await choiceOf(collection, 0.95)
  t.equal(both?.calibrated, true)
  t.ok((both?.ef ?? 0) <= (made?.ef ?? 0), `ef ${both?.ef}, ${made?.ef} with rows`)
  // More rows changed, so the made queries of before say nothing.
  await upsert(collection, make, 0, rows / 2)
  const again = await collection.calibrate()
  t.match(again, { source: 'received', queries: 60, state: 'current' })
})
