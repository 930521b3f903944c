// Everything that can be requested in addition to plain searches: fusion, explain, exact, thresholds, stored vectors, batches, counts,
// facets, pages.
import type { Collection } from '@annal/engine'
import { test } from 'tap'
import { createRandom } from '../vector/world.ts'
import { denseField, openCollection, openDirectory, openIn, sparseField } from './rig.ts'

const random = createRandom(23)
const words = (...indices: number[]) => ({ indices, values: indices.map(() => 1) })

test('fields are fused by rank or by relative score, ties by id', async (t) => {
  const collection = await openCollection(t, [denseField(2), sparseField()])
  await collection.upsert([
    { id: 'd', fields: { dense: [0, 0], words: words(1) } },
    { id: 'c', fields: { dense: [1, 0], words: words(1, 2) } },
    { id: 'b', fields: { dense: [2, 0] } },
    { id: 'a', fields: { words: words(2, 3, 1) } },
  ])
  const fields = { dense: { query: [0, 0] }, words: { query: words(1, 2, 3) } }
  const rrf = await collection.search({ fields, fusion: { method: 'rrf', k: 1 } })
  t.same(
    rrf.fused?.map(({ hit, score }) => [hit.id, score]),
    [
      ['d', 1 / 2 + 1 / 4],
      ['c', 1 / 3 + 1 / 3],
      ['a', 1 / 2],
      ['b', 1 / 4],
    ],
  )
  t.same(rrf.fused?.[0]?.standings, [
    { field: 'dense', rank: 1, similarity: -0 },
    { field: 'words', rank: 3, similarity: 1 },
  ])
  const weighted = await collection.search({ fields, fusion: { method: 'rrf', weights: { dense: 0 }, limit: 2 } })
  t.same(
    weighted.fused?.map(({ hit }) => hit.id),
    ['a', 'c'],
  )
  const relative = await collection.search({ fields, fusion: { method: 'relative_score' } })
  t.same(
    relative.fused?.map(({ hit, score }) => [hit.id, score]),
    [
      ['c', 0.75 + 0.5],
      ['a', 1],
      ['d', 1],
      ['b', 0],
    ],
  )
  const refused = (fusion: object, field: string) =>
    t.rejects(collection.search({ fields, fusion: fusion as never }), {
      message: new RegExp(`^${field.replaceAll('.', '\\.')}`),
    })
  await refused({ method: 'sum' }, 'fusion.method')
  await refused({ method: 'rrf', k: 0 }, 'fusion.k')
  await refused({ method: 'rrf', weights: { other: 1 } }, 'fusion.weights.other')
  await refused({ method: 'rrf', weights: { dense: -1 } }, 'fusion.weights.dense')
  await refused({ method: 'rrf', limit: 0 }, 'fusion.limit')
})

test('explain returns the plan, the number of matches, and the cost; exact compares every match', async (t) => {
  const collection = await openCollection(t, [denseField(8), sparseField()])
  const objects = Array.from({ length: 3_000 }, (_, i) => ({
    id: `${i}`,
    filter: { n: i },
    fields: { dense: Array.from({ length: 8 }, random), words: words(i % 50) },
  }))
  for (let i = 0; i < 3; i++) await collection.upsert(objects.slice(i * 1_000, (i + 1) * 1_000))
  const query = Array.from({ length: 8 }, random)
  const ask = (request: object) => collection.search({ fields: { dense: { query } }, explain: true, ...request })
  const below = (n: number) => ({ filter: [{ n: { $lt: n } }] })
  const plan = async (request: object) => (await ask(request)).explain?.fields.dense?.plan
  t.equal(await plan({}), 'scan', 'a small field is compared')
  t.equal(await plan({ fields: { dense: { query, ef: 16 } } }), 'walk', 'unless a walk is cheaper by far')
  t.equal(await plan({ exact: true }), 'scan')
  t.equal(await plan(below(20)), 'scan')
  t.equal(await plan(below(0)), 'nothing')
  t.equal(await plan({ ...below(999), prefilterCardinalityThreshold: 1_000 }), 'scan', 'obeyed as given')
  t.equal(await plan({ ...below(1_000), prefilterCardinalityThreshold: 1_000 }), 'scan', 'at most, not less than')
  t.equal(await plan({ ...below(1_001), prefilterCardinalityThreshold: 1_000 }), 'walk', 'obeyed as given')
  const { explain } = await ask({ ...below(1_500), prefilterCardinalityThreshold: 1_000, filterBoostPercentage: 50 })
  t.match(explain, {
    filter: { matches: 1_500, ms: Number },
    fields: { dense: { ef: 192, visited: Number, distances: Number, ms: Number, reason: /1,500 match/ } },
    totalMs: Number,
  })
  const lists = await collection.search({ fields: { words: { query: words(3) } }, explain: true })
  t.match(lists.explain?.fields.words, { plan: 'lists', visited: 60 })
  t.equal((await collection.search({ fields: { dense: { query } } })).explain, undefined)
})

test('if k objects match, k are returned, however few others exist', async (t) => {
  const collection = await openCollection(t, [denseField(16)])
  for (let i = 0; i < 8; i++) {
    const objects = Array.from({ length: 1_000 }, (_, j) => {
      const n = i * 1_000 + j
      return { id: `${n}`, filter: { n, rare: n % 1_999 }, fields: { dense: Array.from({ length: 16 }, random) } }
    })
    await collection.upsert(objects)
  }
  const query = Array.from({ length: 16 }, random)
  for (const [matches, filter] of [
    [4, { rare: { $eq: 5 } }],
    [1, { n: { $eq: 77 } }],
    [1_500, { n: { $lt: 1_500 } }],
    [7_990, { n: { $gte: 10 } }],
  ] as const)
    for (const prefilterCardinalityThreshold of [undefined, 1_000]) {
      for (const limit of [1, 10, 500]) {
        const tuned = prefilterCardinalityThreshold === undefined ? {} : { prefilterCardinalityThreshold }
        const request = { fields: { dense: { query, limit, ef: 10 } }, filter: [filter], ...tuned }
        const { results, complete } = await collection.search(request)
        t.match(
          [results.dense?.length, complete],
          [Math.min(limit, matches), true],
          JSON.stringify([filter, tuned, limit]),
        )
      }
    }
})

test('a search by a stored object uses its vector and excludes it; a threshold cuts the rest', async (t) => {
  const collection = await openCollection(t, [denseField(2), sparseField()])
  await collection.upsert([
    { id: 'a', fields: { dense: [0, 0], words: words(1, 2) } },
    { id: 'b', fields: { dense: [0, 1], words: words(2) } },
    { id: 'c', fields: { dense: [0, 3] } },
  ])
  const near = await collection.search({
    fields: { dense: { query: { id: 'a' }, limit: 1 }, words: { query: { id: 'a' } } },
  })
  t.same(
    near.results.dense?.map(({ id }) => id),
    ['b'],
  )
  t.same(
    near.results.words?.map(({ id }) => id),
    ['b'],
  )
  const close = await collection.search({ fields: { dense: { query: [0, 0], scoreThreshold: -1 } } })
  t.same(
    close.results.dense?.map(({ id }) => id),
    ['a', 'b'],
  )
  await t.rejects(collection.search({ fields: { dense: { query: { id: 'x' } } } }), { code: 'object_not_found' })
  await t.rejects(collection.search({ fields: { words: { query: { id: 'c' } } } }), { code: 'invalid_argument' })
  const scored = { query: [0, 0], scoreThreshold: Number.NaN }
  await t.rejects(collection.search({ fields: { dense: scored } }), { code: 'invalid_argument' })
})

test('a reused ordinal does not return the vectors of the previous object', async (t) => {
  const collection = await openCollection(t, [denseField(2), sparseField()])
  const all = Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, fields: { dense: [i, i], words: words(i) } }))
  await collection.upsert(all)
  await collection.delete(all.map(({ id }) => id))
  // Ordinals wait before they are reused.
  for (let i = 0; i < 20; i++) await collection.upsert([{ id: 'rest', fields: { dense: [1, 1] } }])
  await collection.upsert(all.map(({ id, fields }) => ({ id, fields: { words: fields.words } })))
  t.same(Object.keys((await collection.getMany(['3']))[0]?.dense ?? {}), [])
  const { results } = await collection.search({ fields: { words: { query: words(3) } }, includeVectors: true })
  t.match(results.words, [{ id: '3', norm: 1, vector: undefined }])
})

test('a batch runs all searches as of one moment', async (t) => {
  const collection = await openCollection(t, [sparseField()])
  await collection.upsert([{ id: 'a', fields: { words: words(1, 2) } }])
  const writing = collection.upsert([{ id: 'b', fields: { words: words(1, 2) } }])
  const searches = [1, 2, 9].map((index) => ({ fields: { words: { query: words(index) } } }))
  const found = await collection.searchBatch(searches)
  await writing
  t.same(
    found.map(({ results }) => results.words?.length),
    [1, 1, 0],
  )
  t.equal(new Set(found.map(({ lsn }) => lsn)).size, 1)
  const many = Array.from({ length: 101 }, () => searches[0]!)
  await t.rejects(collection.searchBatch(many), { code: 'limit_exceeded' })
  await t.rejects(collection.searchBatch([...searches, { fields: {} }]), { code: 'invalid_argument' })
})

test('counts and facets are exact, with and without a filter', async (t) => {
  const collection = await openCollection(t, [sparseField()])
  const colors = ['red', 'green', 'blue']
  const objects = Array.from({ length: 900 }, (_, i) => ({
    id: `${i}`,
    filter: {
      color: colors[Math.floor(3 * random() ** 2)]!,
      n: i % 7,
      even: i % 2 === 0,
      tags: ['all', `t${i % 5}`],
    },
    fields: { words: words(1) },
  }))
  await collection.upsert(objects)
  await collection.delete(objects.slice(0, 100).map(({ id }) => id))
  const alive = objects.slice(100)
  t.equal(collection.count().count, 800)
  t.equal(collection.count([{ n: { $eq: 3 } }]).count, alive.filter(({ filter }) => filter.n === 3).length)
  for (const key of ['color', 'n', 'even'] as const)
    for (const within of [undefined, 4]) {
      const counts = new Map<unknown, number>()
      for (const { filter } of alive)
        if (within === undefined || filter.n < within) counts.set(filter[key], (counts.get(filter[key]) ?? 0) + 1)
      const filter = within === undefined ? {} : { filter: [{ n: { $lt: within } }] }
      const facets = await collection.facets({ key, ...filter })
      t.same(new Map(facets.values.map(({ value, count }) => [value, count])), counts, `${key} ${within}`)
      t.equal(facets.distinct, counts.size)
      const frequencies = facets.values.map(({ count }) => count)
      t.same(
        frequencies,
        [...frequencies].sort((a, b) => b - a),
      )
    }
  t.match(await collection.facets({ key: 'tags', limit: 1 }), { values: [{ value: 'all', count: 800 }], distinct: 6 })
  t.match(await collection.facets({ key: 'none' }), { values: [], distinct: 0 })
})

test('pages contain every object once while others are written, also across a restart', async (t) => {
  const dataDir = await openDirectory(t)
  let engine = await openIn(t, dataDir)
  let collection: Collection = await engine.database().createCollection({ name: 'things', fields: [sparseField()] })
  const object = (n: number) => ({ id: `${n}`, filter: { even: n % 2 === 0 }, fields: { words: words(n) } })
  await collection.upsert(Array.from({ length: 500 }, (_, n) => object(n)))
  const seen: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const filter = [{ even: { $eq: true } }]
    const page = await collection.scroll({ filter, limit: 30, ...(cursor !== undefined && { cursor }) })
    seen.push(...page.objects.map(({ id }) => id))
    cursor = page.cursor
    pages++
    await collection.upsert([object(pages * 2 + 1), object(1_001 + pages * 2)])
    if (pages === 4) {
      await engine.close()
      engine = await openIn(t, dataDir)
      collection = engine.database().collection('things')
    }
  } while (cursor !== undefined)
  t.equal(pages, Math.ceil(250 / 30))
  t.same(
    seen.map(Number).sort((a, b) => a - b),
    Array.from({ length: 250 }, (_, i) => i * 2),
  )
  await t.rejects(collection.scroll({ cursor: 'mine' }), { code: 'invalid_argument' })
  await t.rejects(collection.scroll({ limit: 0 }), { code: 'limit_exceeded' })
})

test('recall is measured with stored vectors', async (t) => {
  const collection = await openCollection(t, [sparseField(), denseField(8)])
  t.match(await collection.recall(), { field: 'dense', sample: 0, recall: 1 })
  const objects = Array.from({ length: 800 }, (_, i) => ({
    id: `${i}`,
    fields: { dense: Array.from({ length: 8 }, random) },
  }))
  await collection.upsert(objects)
  const report = await collection.recall({ sample: 50 })
  t.equal(report.sample, 50)
  t.ok(report.recall > 0.95 && report.recallWorst <= report.recall)
  await t.rejects(collection.recall({ field: 'words' }), { code: 'field_not_found' })
})

test('recall of a binary field is the recall of the results that a search returns', async (t) => {
  const count = 960
  for (const keepOriginals of [true, false]) {
    const collection = await openCollection(t, [denseField(12, { precision: 'binary', keepOriginals })])
    // Clusters so narrow that codes say little about who is nearest in one.
    const centers = Array.from({ length: 4 }, () => Array.from({ length: 12 }, random))
    const vectors = Array.from(
      { length: count },
      (_, i) => centers[i % 4]?.map((x) => x + random() / 1_000) as number[],
    )
    await collection.upsert(vectors.map((dense, i) => ({ id: `${i}`, fields: { dense } })))
    const sample = 60
    let [same, sameByCodes] = [0, 0]
    for (let i = 0; i < sample; i++) {
      const request = { fields: { dense: { query: vectors[i * (count / sample)] as number[], limit: 10 } } }
      const hits = async (options: object) => (await collection.search({ ...request, ...options })).results.dense ?? []
      const exact = await hits({ exact: true })
      const last = exact.at(-1)?.similarity ?? 0
      same += (await hits({})).filter(({ similarity }) => similarity >= last).length
      const ids = new Set(exact.map(({ id }) => id))
      sameByCodes += (await hits({ rescore: false })).filter(({ id }) => ids.has(id)).length
    }
    const { recall } = await collection.recall({ sample })
    t.comment(`${recall}, keepOriginals ${keepOriginals}`)
    if (keepOriginals) {
      t.ok(Math.abs(recall - same / 10 / sample) < 1e-9, `${same} of ${10 * sample}`)
      t.ok(sameByCodes < same, `${sameByCodes} by codes`)
    } else t.equal(recall, 1, 'codes are all there is')
  }
})

test('hits have the filter values that matched, also when these are replaced meanwhile', async (t) => {
  const collection = await openCollection(t, [denseField(8, { precision: 'int8' }), sparseField()])
  const ids = Array.from({ length: 300 }, (_, i) => `${i}`)
  const side = (id: string, round: number) => ((Number(id) + round) % 2 === 0 ? 'left' : 'right')
  await collection.upsert(
    ids.map((id) => ({
      id,
      filter: { side: side(id, 0) },
      fields: { dense: Array.from({ length: 8 }, random), words: words(1) },
    })),
  )
  const query = Array.from({ length: 8 }, random)
  let searches = 0
  for (let round = 1; round <= 30; round++) {
    const filter = [{ side: { $eq: 'left' } }]
    const pending = Array.from({ length: 4 }, () =>
      collection.search({
        fields: { dense: { query, limit: 40 }, words: { query: words(1), limit: 40 } },
        filter,
        rescore: true,
      }),
    )
    await collection.updateFilters(ids.map((id) => ({ id, filter: { side: side(id, round) } })))
    for (const { results } of await Promise.all(pending)) {
      searches++
      const hits = [...(results.dense ?? []), ...(results.words ?? [])]
      const sides = new Set(hits.map((hit) => `${hit.filter.side} ${side(hit.id, round - 1)}`))
      if (hits.length !== 80 || [...sides].join() !== 'left left') t.fail(`round ${round}: ${[...sides]}`)
    }
  }
  t.equal(searches, 120)
})
