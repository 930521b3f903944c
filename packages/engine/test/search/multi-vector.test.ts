// Multi-vector fields, compared with a naive evaluation of the documented formula.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, openEngine } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { openCollection, openDirectory } from './rig.ts'

const dimension = 8
const seed = chosenSeed()

type Rows = readonly (readonly number[])[]
interface Thing {
  readonly id: string
  readonly n: number
  readonly rows: Rows
}

const field = (params: object = {}) =>
  ({
    name: 'passages',
    type: 'multi_vector',
    params: { dimension, space_type: 'cosine', precision: 'int8', ...params },
  }) as const

function rowsOf(random: Random, most: number): Rows {
  return Array.from({ length: 1 + random.below(most) }, () =>
    Array.from({ length: dimension }, () => random.next() - 0.5),
  )
}

function things(random: Random, count: number): Thing[] {
  return Array.from({ length: count }, (_, n) => ({ id: `${n}`, n, rows: rowsOf(random, 9) }))
}

const inputs = (list: readonly Thing[]) =>
  list.map(({ id, n, rows }) => ({ id, meta: { n }, filter: { n }, fields: { passages: rows } }))

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0)

function similarity(space: string, a: readonly number[], b: readonly number[]): number {
  if (space === 'ip') return dot(a, b)
  if (space === 'l2') return -a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

/** The mean, over the vectors of the query, of the similarity to the most similar member. */
function naiveScore(space: string, query: Rows, rows: Rows): number {
  return query.reduce((sum, q) => sum + Math.max(...rows.map((row) => similarity(space, q, row))), 0) / query.length
}

function best(
  space: string,
  query: Rows,
  list: readonly Thing[],
): { readonly id: string; readonly similarity: number }[] {
  return list
    .map(({ id, rows }) => ({ id, similarity: naiveScore(space, query, rows) }))
    .sort((a, b) => b.similarity - a.similarity)
}

for (const [space, pooling] of [
  ['cosine', 'mean'],
  ['cosine', 'max'],
  ['l2', 'mean'],
  ['ip', 'max'],
] as const) {
  test(`${space} pooled by ${pooling}: results equal the formula, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const collection = await openCollection(t, [field({ space_type: space, pooling })])
    const list = things(random, 600)
    await collection.upsert(inputs(list))
    for (let round = 0; round < 8; round++) {
      const query = rowsOf(random, 5)
      const expected = best(space, query, list)
      const ask = async (options: object, more: object = {}) => {
        const { results, complete, explain } = await collection.search({
          fields: { passages: { query, limit: 10, ...options } },
          explain: true,
          ...more,
        })
        return { hits: results.passages ?? [], complete, explain: explain?.fields.passages }
      }
      const exact = await ask({}, { exact: true })
      t.same(
        exact.hits.map(({ id }) => id),
        expected.slice(0, 10).map(({ id }) => id),
        'compared with every object',
      )
      t.ok(exact.hits.every((hit, i) => Math.abs(hit.similarity - (expected[i]?.similarity ?? 9)) < 1e-5))
      t.equal(exact.explain?.rescored, 600)
      const all = await ask({ ef: 1_024 })
      t.same(
        all.hits.map(({ id }) => id),
        exact.hits.map(({ id }) => id),
        'a pool of all objects',
      )
      const filtered = await ask({ limit: 5 }, { filter: [{ n: { $lt: 50 } }] })
      t.same(
        filtered.hits.map(({ id }) => id),
        expected
          .filter(({ id }) => Number(id) < 50)
          .slice(0, 5)
          .map(({ id }) => id),
        'fewer matches than the pool holds are all compared',
      )
      const narrow = await ask({ ef: 32 })
      t.equal(narrow.hits.length, 10)
      const candidates = pooling === 'mean' ? 32 : 60
      t.ok((narrow.explain?.rescored ?? 0) >= candidates && (narrow.explain?.rescored ?? 0) <= candidates + 1)
      const scores = new Map(expected.map((one) => [one.id, one.similarity]))
      t.ok(
        narrow.hits.every(({ id, similarity: got }) => Math.abs(got - (scores.get(id) ?? 9)) < 1e-5),
        'whatever is found has its own similarity',
      )
    }
  })
}

test('members are returned as given by get, scroll, and search, and only if requested', async (t) => {
  const collection = await openCollection(t, [
    field(),
    { name: 'v', type: 'vector', params: { dimension: 2, precision: 'float32' } },
  ])
  const rows = [
    [3, 0, 0, 0, 0, 0, 0, 4],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
  ].map((row) => row.map(Math.fround))
  await collection.upsert([
    { id: 'a', fields: { passages: rows } },
    { id: 'b', fields: { passages: rows[0] as number[], v: [1, 0] } },
    { id: 'c', fields: { v: [0, 1] } },
  ])
  const [a, b, c] = await collection.getMany(['a', 'b', 'c'])
  t.same(
    a?.multi.passages?.map(({ vector }) => [...vector]),
    rows,
    'bit for bit',
  )
  t.same(a?.multi.passages?.map(({ norm }) => norm).slice(0, 2), [5, 0])
  t.same([...(a?.multi.passages?.[0]?.row ?? [])].map(Math.fround), [0.6, 0, 0, 0, 0, 0, 0, 0.8].map(Math.fround))
  t.same(
    b?.multi.passages?.map(({ vector }) => [...vector]),
    [rows[0]],
    'a vector alone is one member',
  )
  t.same([c?.multi, Object.keys(c?.dense ?? {})], [{}, ['v']])
  t.same((await collection.scroll()).objects[0]?.multi.passages?.length, 3)
  const ask = (more: object) =>
    collection.search({ fields: { passages: { query: rows[0] as number[], limit: 3 } }, ...more })
  const [bare, full] = [await ask({}), await ask({ includeVectors: true })]
  t.same(
    bare.results.passages?.map(({ id, members, row }) => [id, members, row]),
    [
      ['a', undefined, undefined],
      ['b', undefined, undefined],
    ],
  )
  t.same(
    full.results.passages?.map(({ members }) => members?.length),
    [3, 1],
  )
  t.same(
    full.results.passages?.[0]?.members?.map(({ vector }) => [...vector]),
    rows,
  )
  t.equal(full.results.passages?.[0]?.similarity, 1)
  t.equal(full.results.passages?.[0]?.distance, 0)
  const byId = await collection.search({ fields: { passages: { query: { id: 'a' } } } })
  t.same(
    byId.results.passages?.map(({ id }) => id),
    ['b'],
    'the object whose vectors are the query is excluded',
  )
  await t.rejects(collection.search({ fields: { passages: { query: { id: 'c' } } } }), {
    code: 'invalid_argument',
    message: /object "c" has no vector in field passages/,
  })
  const close = await collection.search({ fields: { passages: { query: { id: 'a' }, scoreThreshold: 2 } } })
  t.same(close.results.passages, [])
})

test('an error describes what is wrong with the members of an object or a query', async (t) => {
  const collection = await openCollection(t, [field({ dimension: 2 })])
  const put = (passages: unknown) => collection.upsert([{ id: 'x', fields: { passages } } as never])
  const path = 'objects[0].fields.passages'
  await t.rejects(put([]), { code: 'invalid_argument', message: /non-empty array of vectors/ })
  await t.rejects(put('text'), { code: 'invalid_argument', details: { field: path } })
  await t.rejects(put([[1, 2], [1]]), {
    code: 'invalid_argument',
    details: { field: `${path}[1]`, value: 1, limit: 2 },
  })
  await t.rejects(put([[1, 2], 3]), { code: 'invalid_argument', details: { field: `${path}[1]` } })
  await t.rejects(put([[1, Number.NaN]]), { code: 'invalid_argument', details: { field: `${path}[0][1]` } })
  await t.rejects(put([1, 2, 3]), { code: 'invalid_argument', details: { field: path, value: 3 } })
  await t.rejects(put({ indices: [1], values: [1] }), { code: 'invalid_argument' })
  await t.rejects(put(Array.from({ length: 2_049 }, () => [1, 2])), {
    code: 'limit_exceeded',
    details: { value: 2_049, limit: 2_048 },
  })
  const ask = (query: unknown) => collection.search({ fields: { passages: { query } } } as never)
  await t.rejects(ask([]), { code: 'invalid_argument' })
  await t.rejects(ask([[1, 2, 3]]), { code: 'invalid_argument', details: { field: 'fields.passages.query[0]' } })
  await t.rejects(ask(Array.from({ length: 257 }, () => [1, 2])), { code: 'limit_exceeded' })
  t.equal(collection.describe().lsn, 1, 'nothing was written')
  const engine = collection.describe()
  t.match(engine.fields[0], { kind: 'multi', params: { pooling: 'mean' }, elements: 0 })
})

test('a definition of a multi-vector field is checked', async (t) => {
  const collection = (params: object) => openCollection(t, [field(params)])
  await t.rejects(collection({ pooling: 'sum' }), {
    code: 'invalid_argument',
    details: { field: 'fields[0].params.pooling' },
  })
  await t.rejects(collection({ dimension: 1 }), { code: 'limit_exceeded' })
  t.match((await collection({ pooling: 'max', M: 8 })).describe().fields[0], { params: { pooling: 'max', M: 8 } })
})

/** The complete readable state, for comparison before and after. */
async function readAll(collection: Collection, list: readonly Thing[], query: Rows): Promise<unknown> {
  const got = await collection.getMany(list.map(({ id }) => id))
  const { results } = await collection.search({ fields: { passages: { query, limit: 20 } }, exact: true })
  return [
    got.map(({ id, multi }) => [id, multi.passages?.map(({ vector }) => [...vector])]),
    results.passages?.map(({ id, similarity: score }) => [id, score]),
  ]
}

for (const precision of ['int8', 'float32']) {
  test(`members of ${precision} survive churn, rebuilds, restarts, replays, and a lost directory, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const dataDir = await openDirectory(t)
    const open = () => openEngine({ dataDir, threads: 1, keepLog: true })
    let engine = await open()
    const collection = () => engine.database().collection('c')
    await engine.database().createCollection({ name: 'c', fields: [field({ precision })] })
    let list: Thing[] = []
    for (let round = 0; round < 16; round++) {
      const fresh = things(random, 100).map((thing) => ({ ...thing, id: `${random.below(400)}` }))
      const unique = [...new Map(fresh.map((thing) => [thing.id, thing])).values()]
      await collection().upsert(inputs(unique))
      const gone = unique.slice(0, 20).map(({ id }) => id)
      await collection().delete(gone)
      const changed = new Set(unique.map(({ id }) => id))
      list = [...list.filter(({ id }) => !changed.has(id)), ...unique.slice(20)]
    }
    const query = rowsOf(random, 4)
    const check = async (label: string) => {
      t.same(await readAll(collection(), list, query), before, label)
      t.equal(collection().stateDigest(), digest, `digest ${label}`)
    }
    const before = await readAll(collection(), list, query)
    t.same(
      ((before as [unknown, [string, number][]])[1] ?? []).map(([id]) => id),
      best('cosine', query, list)
        .slice(0, 20)
        .map(({ id }) => id),
    )
    let digest = collection().stateDigest()
    await engine.close()
    engine = await open()
    await check('from a checkpoint')
    await engine.close()
    await rm(join(dataDir, 'originals'), { recursive: true })
    engine = await open()
    await check('with the files of the checkpoint')
    await engine.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    await rm(join(dataDir, 'originals'), { recursive: true })
    engine = await open()
    await check('by replay')
    await collection().rebuild({ passages: { M: 8 } })
    t.same(await readAll(collection(), list, query), before, 'after a rebuild')
    digest = collection().stateDigest()
    await engine.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    engine = await open()
    await check('by replay of the rebuild')
    await engine.close()
  })
}

test('searches and reads continue while objects are replaced, and each sees one version of an object', async (t) => {
  const collection = await openCollection(t, [field({ dimension: 2, space_type: 'ip' })])
  const write = (n: number) =>
    collection.upsert(
      Array.from({ length: 40 }, (_, i) => ({
        id: `${i}`,
        meta: { n },
        fields: { passages: Array.from({ length: 1 + (n % 3) }, () => [n, 0]) },
      })),
    )
  await write(0)
  let done = false
  const writing = (async () => {
    for (let n = 1; n <= 40; n++) await write(n)
    done = true
  })()
  let reads = 0
  while (!done) {
    const [{ results }, got, near] = await Promise.all([
      collection.search({ fields: { passages: { query: [[1, 0]], limit: 40 } }, includeVectors: true }),
      collection.getMany(['3', '7', '39']),
      collection.search({ fields: { passages: { query: { id: '5' } } } }),
    ])
    const mixed = (results.passages ?? []).filter(
      (hit) => hit.similarity !== hit.meta?.n || hit.members?.length !== 1 + (Number(hit.meta?.n) % 3),
    )
    const torn = got.filter(({ meta, multi }) => multi.passages?.some(({ vector }) => vector[0] !== meta?.n) !== false)
    if (mixed.length + torn.length > 0 || results.passages?.length !== 40 || near.results.passages?.length !== 10)
      t.fail(`${mixed.length} hits and ${torn.length} objects are put together from two versions`)
    reads++
  }
  await writing
  t.ok(reads > 0, `${reads} reads`)
})
