// Text fields through the engine: what is found, in which order, what is returned, and that everything that makes the state again makes
// the same.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { type Collection, type Engine, openEngine, type SearchRequest } from '../../src/index.ts'
import { TextWorld } from './text-world.ts'

const texts: { readonly [id: string]: string } = {
  a: 'The quick brown fox jumps over the lazy dog',
  b: 'A quick answer to a slow question',
  c: 'Brown dogs and brown foxes are quick',
  d: 'Nothing of the kind',
  e: 'the the the',
}

interface Opened {
  readonly dataDir: string
  readonly engine: Engine
  readonly collection: Collection
}

async function withTexts(t: Test, params: object = { language: 'english' }): Promise<Opened> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-text-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const engine = await openEngine({ dataDir, threads: 2 })
  const fields = [
    { name: 'body', type: 'text', params },
    { name: 'v', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } },
  ] as const
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const objects = Object.entries(texts).map(([id, body], i) => ({
    id,
    fields: { body, v: [i, 1] },
    filter: { odd: i % 2 === 1 },
  }))
  await collection.upsert(objects)
  return { dataDir, engine, collection }
}

type Query = SearchRequest['fields'][string]

async function idsOf(collection: Collection, query: Query['query'], options: Partial<Query> = {}): Promise<string[]> {
  const found = await collection.search({ fields: { body: { query, ...options } } })
  return (found.results.body ?? []).map(({ id }) => id)
}

test('words, clauses, phrases, prefixes, and misspelled words find the texts that have them', async (t) => {
  const { engine, collection } = await withTexts(t)
  const find = (query: Query['query'], options?: Partial<Query>) => idsOf(collection, query, options)
  t.strictSame((await find('quick')).sort(), ['a', 'b', 'c'])
  t.strictSame(
    await find('quick foxes', { operator: 'and' }),
    ['c', 'a'],
    'words are stemmed, and shorter texts come first',
  )
  t.strictSame(await find('the'), [], 'stop words find nothing')
  t.strictSame(await find('absent'), [])
  t.strictSame(await find({ must: ['absent quick'] }), [], 'all words of a must are needed')
  t.strictSame((await find({ must: [{ words: 'absent quick', operator: 'or' }] })).sort(), ['a', 'b', 'c'])
  t.strictSame(await find({ must: ['quick'], mustNot: ['dog'] }), ['b'])
  t.strictSame((await find({ must: ['quick'], mustNot: [{ words: 'dog lazy', operator: 'and' }] })).sort(), ['b', 'c'])
  t.strictSame(await find({ must: [{ phrase: 'quick brown' }] }), ['a'])
  t.strictSame(await find({ must: [{ phrase: 'jumps lazy' }] }), [])
  t.strictSame(await find({ must: [{ phrase: 'jumps lazy', slop: 1 }] }), [])
  t.strictSame(await find({ must: [{ phrase: 'jumps lazy', slop: 2 }] }), ['a'])
  t.strictSame(await find({ must: [{ phrase: 'jumps over the lazy dog' }] }), ['a'], 'stop words keep their places')
  t.strictSame(await find({ must: ['quick'], mustNot: [{ phrase: 'quick brown' }] }).then((ids) => ids.sort()), [
    'b',
    'c',
  ])
  t.strictSame(
    await find({ should: [{ phrase: 'slow question' }, 'lazy'] }),
    ['b', 'a'],
    'both words of a phrase count',
  )
  t.strictSame(await find({ should: [{ phrase: 'question slow' }, 'lazy'] }), ['a'], 'or none')
  t.strictSame(await find({ should: [{ words: 'lazy question', operator: 'and' }, 'dog'] }).then((ids) => ids.sort()), [
    'a',
    'c',
  ])
  t.strictSame(await find({ must: [{ prefix: 'ques' }] }), ['b'])
  t.strictSame((await find({ must: [{ prefix: 'qu' }] })).sort(), ['a', 'b', 'c'])
  t.strictSame((await find({ must: [{ fuzzy: 'quik' }] })).sort(), ['a', 'b', 'c'])
  t.strictSame(await find({ must: [{ fuzzy: 'qk', edits: 0 }] }), [])
  t.strictSame(await find({ should: ['quick', { words: 'question', boost: 50 }] }).then((ids) => ids[0]), 'b')
  t.strictSame((await find({ id: 'a' })).sort(), ['b', 'c'], 'texts with the words of another one')
  await engine.close()
})

test('a search that ends in its turn has the hits of one that waits', async (t) => {
  const { engine, collection } = await withTexts(t)
  await collection.patch([{ id: 'a', meta: { n: 1 } }])
  await collection.delete(['c'])
  for (const query of ['quick', 'quick brown', 'brown quick brown', 'slow absent', 'absent', 'the', ''])
    for (const operator of ['and', 'or'] as const)
      for (const limit of [1, 2, 10]) {
        const fields = { body: { query, operator, limit } }
        const atOnce = await collection.search({ fields })
        const { explain, ...others } = await collection.search({ fields, explain: true })
        t.ok(explain, 'explained searches take the way of longer ones')
        const shown = JSON.stringify(fields.body)
        t.strictSame(JSON.stringify(atOnce), JSON.stringify(others), shown)
        const [batched] = await collection.searchBatch([{ fields }, { fields: { v: { query: [1, 1] } } }])
        t.strictSame(JSON.stringify(batched?.results), JSON.stringify(atOnce.results), shown)
      }
  await engine.close()
  await t.rejects(collection.search({ fields: { body: { query: 'quick' } } }), { code: 'closed' })
})

test('a phrase is looked for in the present text of each object, whatever was looked through before', async (t) => {
  const { engine, collection } = await withTexts(t)
  const random = seededRandom(20261127)
  const query = { must: [{ phrase: 'red pump' }] }
  const having = new Set<string>()
  for (let round = 0; round < 40; round++) {
    const objects = Array.from({ length: 12 }, () => {
      const [id, has] = [`object ${random.below(20)}`, random.chance(0.5)]
      return { id, has, fields: { body: has ? 'a red pump' : 'a pump, red' } }
    }).filter(({ id }, i, all) => all.findLastIndex((one) => one.id === id) === i)
    await collection.upsert(objects.map(({ id, fields }) => ({ id, fields })))
    for (const { id, has } of objects) having[has ? 'add' : 'delete'](id)
    const { count } = await collection.count({ match: { body: { query } } })
    if (count !== having.size) t.fail(`round ${round}: ${count} objects have the phrase, not ${having.size}`)
    t.strictSame(new Set(await idsOf(collection, query, { limit: 100 })), having)
  }
  await engine.close()
})

test('filters, thresholds, fusion, and explain work as in other fields', async (t) => {
  const { engine, collection } = await withTexts(t)
  const filter = [{ odd: { $eq: true } }]
  const filtered = await collection.search({ fields: { body: { query: 'quick' } }, filter })
  t.strictSame(
    filtered.results.body?.map(({ id }) => id),
    ['b'],
  )
  const all = await collection.search({ fields: { body: { query: 'quick brown' } }, explain: true })
  const scores = all.results.body?.map(({ similarity }) => similarity) ?? []
  t.strictSame(
    scores,
    [...scores].sort((a, b) => b - a),
  )
  const cut = await collection.search({
    fields: { body: { query: 'quick brown', scoreThreshold: scores[1] as number } },
  })
  t.equal(cut.results.body?.length, 2)
  t.strictSame(all.explain?.fields.body?.terms, [
    { term: 'quick', rows: 3 },
    { term: 'brown', rows: 2 },
  ])
  const fused = await collection.search({
    fields: { body: { query: 'question' }, v: { query: [0, 1], limit: 2 } },
    fusion: { method: 'rrf' },
    includeVectors: true,
  })
  t.strictSame(fused.fused?.map(({ hit }) => hit.id).sort(), ['a', 'b'])
  t.strictSame([...(fused.results.body?.[0]?.vector ?? [])], [1, 1], 'hits have the vector of the first dense field')
  await engine.close()
})

test('objects are counted, listed by values, and paged through by what their texts match', async (t) => {
  const { engine, collection } = await withTexts(t)
  const queries: [Query['query'] & (string | object), ...string[]][] = [
    ['quick', 'a', 'b', 'c'],
    ['the'],
    ['absent'],
    [{ must: ['absent quick'] }],
    [{ must: ['the'], should: ['lazy'] }, 'a'],
    [{ must: ['quick'], should: ['absent'] }, 'a', 'b', 'c'],
    [{ should: [{ words: 'quick', boost: 0 }] }, 'a', 'b', 'c'],
    [{ must: ['quick'], mustNot: ['dog'] }, 'b'],
    [{ must: [{ phrase: 'quick brown' }] }, 'a'],
    [{ must: ['quick'], mustNot: [{ phrase: 'quick brown' }] }, 'b', 'c'],
    [{ should: [{ phrase: 'slow question' }, 'lazy'] }, 'a', 'b'],
    [{ should: [{ phrase: 'question slow' }] }],
    [{ should: [{ words: 'lazy question', operator: 'and' }, 'dog'] }, 'a', 'c'],
    [{ must: [{ prefix: 'qu' }] }, 'a', 'b', 'c'],
    [{ must: [{ fuzzy: 'quik' }], mustNot: [{ prefix: 'ques' }] }, 'a', 'c'],
  ]
  const { lsn } = collection.describe()
  for (const [query, ...ids] of queries) {
    const match = { body: { query: query as string } }
    t.strictSame(await collection.count({ match }), { count: ids.length, lsn }, JSON.stringify(query))
    const odd = ids.filter((id) => id === 'b' || id === 'd')
    t.equal((await collection.count({ match, filter: [{ odd: { $eq: true } }] })).count, odd.length)
    const page = await collection.scroll({ match, includeVectors: false })
    t.strictSame(page.objects.map(({ id }) => id).sort(), ids)
    const facets = await collection.facets({ key: 'odd', match })
    const counts = [false, true].map((value) => ({
      value,
      count: ids.filter((id) => (id === 'b' || id === 'd') === value).length,
    }))
    t.strictSame(
      new Set(facets.values),
      new Set(counts.filter(({ count }) => count > 0)),
      `facets of ${JSON.stringify(query)}`,
    )
  }
  t.equal((await collection.count({ match: { body: { query: 'quick foxes', operator: 'and' } } })).count, 2)

  const wrong: [object, string, string][] = [
    [{ match: {} }, 'invalid_argument', 'match'],
    [{ match: [] }, 'invalid_argument', 'match'],
    [{ match: 'quick' }, 'invalid_argument', 'match'],
    [{ match: { none: { query: 'quick' } } }, 'field_not_found', 'match'],
    [{ match: { v: { query: 'quick' } } }, 'invalid_argument', 'match.v'],
    [{ match: { body: 'quick' } }, 'invalid_argument', 'match.body'],
    [{ match: { body: { query: 5 } } }, 'invalid_argument', 'match.body.query'],
    [{ match: { body: { query: { id: 'a' } } } }, 'invalid_argument', 'match.body.query.id'],
    [{ match: { body: { query: 'quick', operator: 'xor' } } }, 'invalid_argument', 'match.body.operator'],
    [{ match: { body: { query: 'quick', limit: 5 } } }, 'invalid_argument', 'match.body.limit'],
    [{ match: { body: { query: { must_not: ['quick'] } } } }, 'invalid_argument', 'match.body.query'],
    [
      { match: { body: { query: { must: [{ fuzzy: 'red fox' }] } } } },
      'invalid_argument',
      'match.body.query.must[0].fuzzy',
    ],
    [
      { match: { body: { query: { must: ['a'], must_not: [{ slop: 1 }] } } } },
      'invalid_argument',
      'match.body.query.must_not[0]',
    ],
    [{ match: { body: { query: 'a '.repeat(10_000) } } }, 'limit_exceeded', 'match.body.query'],
  ]
  for (const [request, code, field] of wrong) {
    const failed = (error: { code?: string; details?: { field?: string } }) => [error.code, error.details?.field]
    const given = request as { match: never }
    t.strictSame(await collection.count(given).catch(failed), [code, field], JSON.stringify(request).slice(0, 90))
    t.strictSame(await collection.scroll(given).catch(failed), [code, field])
    t.strictSame(await collection.facets({ key: 'odd', ...given }).catch(failed), [code, field])
  }
  await engine.close()
})

test('counts, values, and pages of texts are those of one record while others write', async (t) => {
  const { engine, collection } = await withTexts(t, { language: 'none' })
  const match = { body: { query: { must: [{ phrase: 'red apple' }] } } }
  const put = (from: number, count: number, body: string) =>
    collection.upsert(
      Array.from({ length: count }, (_, i) => ({ id: `n${from + i}`, fields: { body }, filter: { key: body.length } })),
    )
  for (let from = 0; from < 4_000; from += 1_000) await put(from, 1_000, 'one red apple a day')
  const { lsn } = collection.describe()
  const begun = Promise.all([
    collection.count({ match }),
    collection.facets({ key: 'key', match }),
    collection.scroll({ match, limit: 1_000 }),
  ])
  const writing = Promise.all([
    put(0, 500, 'an apple that is red'),
    put(3_500, 500, 'red apples'),
    put(9_000, 10, 'red apple'),
  ])
  const [counted, facets, page] = await begun
  t.strictSame(counted, { count: 4_000, lsn })
  const total = facets.values.reduce((sum, { count }) => sum + count, 0)
  t.equal(total, facets.lsn === lsn ? 4_000 : facets.lsn === lsn + 1 ? 3_500 : facets.lsn === lsn + 2 ? 3_000 : 3_010)
  t.equal(page.lsn, lsn)
  t.strictSame(
    page.objects.map(({ id }) => id),
    Array.from({ length: 1_000 }, (_, i) => `n${i}`),
  )
  t.ok(page.objects.every(({ text }) => text.body === 'one red apple a day'))
  await writing
  t.equal((await collection.count({ match })).count, 3_010)
  await engine.close()
})

test('hits show the part of a text with the words', async (t) => {
  const { engine, collection } = await withTexts(t)
  const padding = 'lorem ipsum dolor sit amet '.repeat(40)
  await collection.upsert([{ id: 'long', fields: { body: `${padding}here is 😀 a Zebra crossing, ${padding}` } }])
  const found = await collection.search({ fields: { body: { query: 'zebras crossings', highlight: true } } })
  const highlight = found.results.body?.[0]?.highlight
  t.ok(highlight && highlight.fragment.length < 300, 'it is a part')
  t.strictSame(
    highlight?.ranges.map(([from, to]) => highlight.fragment.slice(from, to)),
    ['Zebra', 'crossing'],
  )
  const [stored] = await collection.getMany(['long'])
  t.equal(stored?.text.body?.slice(highlight?.start).startsWith(highlight?.fragment ?? '?'), true)
  t.equal(JSON.parse(JSON.stringify(found.results.body?.[0])).highlight.start, highlight?.start)
  await engine.close()
})

test('fused hits and groups have the highlights of their texts, and explain lists their terms', async (t) => {
  const { engine, collection } = await withTexts(t)
  const fields = { v: { query: [1, 1], limit: 2 }, body: { query: 'question dog', highlight: true } }
  const fusion = { method: 'rrf' } as const
  const groupBy = { key: 'odd', hits: 2 }
  for (const more of [{}, { groupBy }]) {
    const found = await collection.search({ fields, fusion, explain: true, ...more })
    t.strictSame(found.explain?.fields.body?.terms?.map(({ term }) => term).sort(), ['dog', 'question'])
    const shown = new Map(found.results.body?.map(({ id, highlight }) => [id, highlight]))
    t.ok(shown.size >= 3 && ![...shown.values()].includes(undefined))
    const standings = found.fused?.flatMap(({ hit, standings }) => standings.map((one) => ({ id: hit.id, ...one })))
    const ofText = standings?.filter(({ field }) => field === 'body') ?? []
    t.strictSame(new Map(ofText.map(({ id, highlight }) => [id, highlight])), shown)
    t.notOk(standings?.some(({ field, highlight }) => field === 'v' && highlight))
    if ('groupBy' in more) {
      const hits = [...(found.groups?.body ?? []), ...(found.fusedGroups ?? [])].flatMap(({ hits }): object[] => [
        ...hits,
      ])
      t.ok(hits.length >= 6)
      const marked = hits.filter((hit) => ('hit' in hit ? true : (hit as { highlight?: object }).highlight))
      t.equal(marked.length, hits.length)
    }
  }
  const plain = await collection.search({ fields: { ...fields, body: { query: 'question' } }, fusion })
  t.notOk(plain.fused?.some(({ standings }) => standings.some((one) => 'highlight' in one)))
  await engine.close()
})

test('a page and a read by id have vectors, texts, both, or none, as their reader chooses', async (t) => {
  const { engine, collection } = await withTexts(t)
  const asOf = { lsn: collection.describe().lsn }
  await collection.upsert([{ id: 'f', fields: { v: [9, 9] } }])
  const past = await engine.database().asOf('c', asOf)
  const ids = Object.keys(texts)
  const vectorOf = (i: number) => [i, 1]
  for (const [options, vectors, wanted] of [
    [{}, true, true],
    [{ includeVectors: true }, true, true],
    [{ includeVectors: false }, false, false],
    [{ includeTexts: false }, true, false],
    [{ includeVectors: false, includeTexts: true }, false, true],
    [{ includeVectors: true, includeTexts: true }, true, true],
  ] as const) {
    const reads = {
      page: (await collection.scroll({ ...options, limit: 5 })).objects,
      'page of the past': (await collection.scroll({ ...options, asOf, limit: 5 })).objects,
      objects: await collection.getMany(ids, options),
      'objects of the past': await past.getMany(ids, options),
      'single objects': [],
    }
    for (const id of ids) (reads['single objects'] as unknown[]).push(await collection.get(id, options))
    for (const [what, objects] of Object.entries(reads)) {
      const read = objects.map(({ id, filter, dense, text }) => ({
        id,
        filter,
        v: dense.v && [...dense.v.vector],
        text,
      }))
      const expected = Object.entries(texts).map(([id, body], i) => ({
        id,
        filter: { odd: i % 2 === 1 },
        v: vectors ? vectorOf(i) : undefined,
        text: wanted ? { body } : {},
      }))
      t.strictSame(read, expected, `${what}, ${JSON.stringify(options)}`)
    }
  }
  await engine.close()
})

test('hits have the texts of their objects if the search requests them', async (t) => {
  const { engine, collection } = await withTexts(t)
  const { lsn } = collection.describe()
  const fields = { body: { query: 'quick', limit: 3 }, v: { query: [0, 1], limit: 3 } }
  const without = await collection.search({ fields, includeVectors: true })
  t.notOk(Object.values(without.results).some((hits) => hits.some((hit) => 'texts' in hit.toJSON())))
  const more = { fusion: { method: 'rrf' }, groupBy: { key: 'odd', hits: 2 } } as const
  const requests: readonly SearchRequest[] = [
    { fields: { body: fields.body } },
    { fields: { v: fields.v } },
    { fields },
    { fields, ...more },
  ]
  for (const request of requests) {
    for (const includeVectors of [false, true]) {
      const { results, fused, fusedGroups } = await collection.search({
        ...request,
        includeVectors,
        includeTexts: true,
      })
      const groups = fusedGroups?.flatMap(({ hits }) => hits) ?? []
      const hits = [...Object.values(results).flat(), ...[...(fused ?? []), ...groups].map(({ hit }) => hit)]
      t.ok(hits.length >= 3)
      for (const hit of hits) {
        t.strictSame(hit.texts, { body: texts[hit.id as keyof typeof texts] })
        t.strictSame(hit.toJSON().texts, hit.texts)
      }
    }
  }
  await collection.upsert([{ id: 'a', fields: { v: [0, 1], body: 'another text' } }])
  await collection.upsert([{ id: 'b', fields: { v: [1, 1] } }])
  const nearest = async (asOf?: { lsn: number }) => {
    const { results } = await collection.search({ fields: { v: { ...fields.v, limit: 2 } }, includeTexts: true, asOf })
    return results.v?.map((hit) => hit.texts)
  }
  t.strictSame(await nearest(), [{ body: 'another text' }, {}])
  t.strictSame(await nearest({ lsn }), [{ body: texts.a }, { body: texts.b }])
  const taken: number[] = []
  const room = { take: (bytes: number) => void taken.push(bytes), pageBytesMax: 2 ** 20 }
  for (const includeTexts of [false, true]) await collection.search({ fields: { v: fields.v }, includeTexts }, room)
  t.ok((taken[1] as number) >= (taken[0] as number) + (texts.c?.length ?? 0), 'texts take room')
  await engine.close()
})

test('a choice of contents that is none is refused by its name', async (t) => {
  const { engine, collection } = await withTexts(t)
  const past = await engine.database().asOf('c', { lsn: collection.describe().lsn })
  for (const field of ['includeVectors', 'includeTexts']) {
    const wrong = { [field]: 'no' } as object
    const error = { code: 'invalid_argument', details: { field, value: 'no' } }
    await t.rejects(collection.getMany(['a'], wrong), error)
    await t.rejects(collection.get('a', wrong), error)
    await t.rejects(past.getMany(['a'], wrong), error)
    await t.rejects(collection.scroll(wrong), error)
    await t.rejects(collection.search({ fields: { body: { query: 'a' } }, ...wrong }), error)
  }
  await engine.close()
})

test('objects without vectors and texts take less room of an answer', async (t) => {
  const { engine, collection } = await withTexts(t)
  const taken: number[] = []
  const room = { take: (bytes: number) => void taken.push(bytes), pageBytesMax: 2 ** 20 }
  await collection.getMany(['a', 'b'], {}, room)
  await collection.getMany(['a', 'b'], { includeVectors: false, includeTexts: true }, room)
  await collection.getMany(['a', 'b'], { includeVectors: false }, room)
  t.equal(taken.length, 3)
  t.ok((taken[0] as number) > (taken[1] as number) && (taken[1] as number) > (taken[2] as number), taken.join())
  await engine.close()
})

test('reads of the past find the texts of then, and score them by the numbers of then', async (t) => {
  const { dataDir, engine, collection } = await withTexts(t, { language: 'none' })
  const seed = Number(process.env.ANNAL_SEED ?? 20_261_127)
  t.comment(`ANNAL_SEED=${seed}`)
  const world = new TextWorld(seed)
  const moments: { readonly lsn: number; readonly texts: TextWorld }[] = []
  for (let round = 0; round < 4; round++) {
    await world.change(collection, 120)
    moments.push({ lsn: collection.describe().lsn, texts: world.copy() })
    if (round === 1) await engine.checkpoint()
    if (round === 2) await collection.vacuum()
  }
  const check = async (open: Collection, when: string) => {
    for (const { lsn, texts } of moments.toReversed())
      await texts.check(t, await open.asOf({ lsn }), `${when}: as of ${lsn}`)
    const [first] = moments
    const asOf = { lsn: first?.lsn as number }
    const facets = await open.facets({ key: 'odd', match: { body: { query: 'fword5' } }, asOf })
    t.strictSame([facets.values, facets.asOf?.lsn], [[], asOf.lsn])
    const wrong = open.scroll({ match: { v: { query: 'a' } }, asOf }).catch((error: { code?: string }) => error.code)
    t.equal(await wrong, 'invalid_argument')
  }
  await check(collection, 'before a restart')
  await world.check(t, collection, 'now')
  await engine.close()
  const again = await openEngine({ dataDir, threads: 1 })
  await check(again.database().collection('c'), 'after a restart')
  await again.close()
})

test('texts are returned unchanged', async (t) => {
  const { engine, collection } = await withTexts(t)
  const odd = '\ufeffÄ\u0000 😀 "quotes"\r\n\u2028end '
  await collection.upsert([
    { id: 'odd', fields: { body: odd } },
    { id: 'empty', fields: { body: '' } },
    { id: 'none', fields: { v: [1, 2] } },
  ])
  const [one, empty, none] = await collection.getMany(['odd', 'empty', 'none'])
  t.equal(one?.text.body, odd)
  t.equal(empty?.text.body, '')
  t.notOk('body' in (none?.text ?? {}))
  const page = await collection.scroll({ includeVectors: true, limit: 10 })
  t.equal(page.objects.find(({ id }) => id === 'odd')?.text.body, odd)
  await collection.updateFilters([{ id: 'odd', filter: { a: 1 } }])
  t.equal((await collection.getMany(['odd']))[0]?.text.body, odd, 'a change of the filter keeps them')
  await engine.close()
})

test('a boost of 0 makes a clause a condition only', async (t) => {
  const { engine, collection } = await withTexts(t)
  const find = async (query: Query['query'], limit = 10) => {
    const { results } = await collection.search({ fields: { body: { query, limit } } })
    return results.body?.map(({ id, similarity }) => [id, similarity > 0])
  }
  const unscored = { words: 'quick dog', boost: 0 } as const
  t.strictSame(await find({ should: [unscored] }), [
    ['a', false],
    ['b', false],
    ['c', false],
  ])
  t.strictSame(await find({ should: [unscored] }, 2), [
    ['a', false],
    ['b', false],
  ])
  t.strictSame(await find({ must: [{ ...unscored, operator: 'or' }] }), [
    ['a', false],
    ['b', false],
    ['c', false],
  ])
  t.strictSame(await find({ must: [{ ...unscored, operator: 'and' }] }), [
    ['a', false],
    ['c', false],
  ])
  t.strictSame(await find({ must: [{ ...unscored, operator: 'or' }], should: ['slow'] }), [
    ['b', true],
    ['a', false],
    ['c', false],
  ])
  t.strictSame(await find({ should: [unscored, 'nothing'], mustNot: ['slow'] }), [
    ['d', true],
    ['a', false],
    ['c', false],
  ])
  t.strictSame(
    await find({
      should: [
        { phrase: 'brown dogs', boost: 0 },
        { prefix: 'quick', boost: 0 },
      ],
      mustNot: ['fox'],
    }),
    [['b', false]],
  )
  t.strictSame(await find({ should: [{ phrase: 'brown dogs', boost: 0 }] }), [['c', false]])
  await engine.close()
})

test('clauses that need several words count only in the texts that have them', async (t) => {
  const { engine, collection } = await withTexts(t, { language: 'none' })
  const scores = async (query: Query['query']) => {
    const { results } = await collection.search({ fields: { body: { query } } })
    return new Map(results.body?.map(({ id, similarity }) => [id, similarity]))
  }
  const pairs = [
    'quick brown',
    'brown fox',
    'quick answer',
    'brown dogs',
    'lazy dog',
    'slow question',
    'nothing kind',
    'over the',
  ]
  const total = new Map<string, number>()
  for (const pair of pairs)
    for (const [id, score] of await scores({ must: [pair] })) total.set(id, (total.get(id) ?? 0) + score)
  const found = await scores({ should: pairs.map((pair) => ({ words: pair, operator: 'and' })) })
  t.strictSame([...found.keys()].sort(), [...total.keys()].sort())
  for (const [id, score] of found) t.ok(Math.abs(score - (total.get(id) as number)) < 1e-5, `${id}: ${score}`)
  await engine.close()
})

test('bad texts and queries are refused by name', async (t) => {
  const { engine, collection } = await withTexts(t)
  const put = (body: unknown) => collection.upsert([{ id: 'x', fields: { body: body as string } }])
  await t.rejects(put(7), { code: 'invalid_argument', details: { field: 'objects[0].fields.body' } })
  await t.rejects(put('half \ud800'), { code: 'invalid_argument', details: { field: 'objects[0].fields.body' } })
  await t.rejects(put('ä'.repeat(262_145)), {
    code: 'limit_exceeded',
    details: { field: 'objects[0].fields.body', value: 524_290, limit: 524_288 },
  })
  const many = Array.from({ length: 65_537 }, (_, i) => `w${i}`).join(' ')
  await t.rejects(put(many), { code: 'limit_exceeded', details: { value: 65_537, limit: 65_536 } })
  const ask = (query: unknown, options: object = {}) =>
    collection.search({ fields: { body: { query: query as string, ...options } } })
  for (const [query, field, options] of [
    [7, 'fields.body.query'],
    [[1, 2], 'fields.body.query'],
    [{}, 'fields.body.query'],
    [{ mustNot: ['a'] }, 'fields.body.query'],
    [{ must: 'a' }, 'fields.body.query.must'],
    [{ must: [7] }, 'fields.body.query.must[0]'],
    [{ must: [{}] }, 'fields.body.query.must[0]'],
    [{ must: [{ words: 'a', phrase: 'b' }] }, 'fields.body.query.must[0]'],
    [{ must: [{ words: 'a', slop: 1 }] }, 'fields.body.query.must[0].slop'],
    [{ must: [{ words: 'a', boost: -1 }] }, 'fields.body.query.must[0].boost'],
    [{ must: [{ words: 'a', operator: 'xor' }] }, 'fields.body.query.must[0].operator'],
    [{ must: [{ phrase: 'a', slop: 101 }] }, 'fields.body.query.must[0].slop'],
    [{ must: [{ fuzzy: 'two words' }] }, 'fields.body.query.must[0].fuzzy'],
    [{ must: [{ fuzzy: 'word', edits: 3 }] }, 'fields.body.query.must[0].edits'],
    [{ must: [{ prefix: ' ' }] }, 'fields.body.query.must[0].prefix'],
    [{ must: ['a'], filter: [] }, 'fields.body.query.filter'],
    [{ should: Array.from({ length: 65 }, () => 'a') }, 'fields.body.query.should'],
    [{ should: Array.from({ length: 9 }, () => ({ phrase: 'fox dog' })) }, 'fields.body.query.should'],
    [{ should: Array.from({ length: 9 }, () => ({ words: 'fox dog', operator: 'and' })) }, 'fields.body.query.should'],
    [{ must: [{ phrase: 'fox '.repeat(129) }] }, 'fields.body.query.must[0].phrase'],
    ['x '.repeat(8_193), 'fields.body.query'],
    ['half \udc00', 'fields.body.query'],
    ['a', 'fields.body.k1', { k1: 101 }],
    ['a', 'fields.body.b', { b: 1.1 }],
    ['a', 'fields.body.highlight', { highlight: 'yes' }],
    ['a', 'fields.body.operator', { operator: 'not' }],
    [{ must: ['a'] }, 'fields.body.operator', { operator: 'and' }],
  ] as const)
    await t.rejects(ask(query, options), hasField(field), `${JSON.stringify(query).slice(0, 60)}`)
  const other = collection.search({ fields: { v: { query: [1, 2], highlight: true } } })
  await t.rejects(other, { code: 'invalid_argument', details: { field: 'fields.v.highlight' } })
  t.equal(collection.describe().objects, 5)
  for (const [params, field] of [
    [{ language: 'klingon' }, 'language'],
    [{ language: 7 }, 'language'],
    [{ analyzer: 99 }, 'analyzer'],
    [{ k1: -1 }, 'k1'],
    [{ b: 2 }, 'b'],
    [{ stopWords: 'the' }, 'stop_words'],
    [{ stopWords: [''] }, 'stop_words[0]'],
    [{ keptWords: Array.from({ length: 10_001 }, () => 'a') }, 'kept_words'],
    [{ prefixes: { min: 3, max: 2 } }, 'prefixes.max'],
    [{ prefixes: 7 }, 'prefixes'],
  ] as const) {
    const definition = { name: 'bad', fields: [{ name: 'body', type: 'text' as const, params: params as object }] }
    await t.rejects(engine.database().createCollection(definition), hasField(`fields[0].params.${field}`))
  }
  await engine.close()
})

/** An error whose details name the field. */
function hasField(field: string): Error {
  return { details: { field } } as unknown as Error
}

test('replays, checkpoints, restores, clones, rebuilds, and undo have the texts and find the same', async (t) => {
  const { dataDir, engine, collection } = await withTexts(t, { language: 'none' })
  const world = new TextWorld(20261127)
  await world.change(collection, 300)
  await engine.checkpoint()
  await world.change(collection, 100)
  await world.check(t, collection, 'live')
  const digest = await collection.stateDigest()
  const moment = engine.lsnApplied
  await engine.close()

  const again = await openEngine({ dataDir, threads: 1 })
  t.equal(await again.database().collection('c').stateDigest(), digest, 'from the checkpoint and the tail')
  await world.check(t, again.database().collection('c'), 'from the checkpoint')
  await again.close()
  for (const name of readdirSync(path.join(dataDir, 'checkpoints')))
    rmSync(path.join(dataDir, 'checkpoints', name), { recursive: true })
  const replayed = await openEngine({ dataDir, threads: 2 })
  const database = replayed.database()
  const live = database.collection('c')
  t.equal(await live.stateDigest(), digest, 'from the log alone')
  await world.check(t, live, 'from the log')

  await database.backups.create('c', 'kept')
  await database.backups.settled()
  await database.backups.restore('kept', 'restored')
  await world.check(t, database.collection('restored'), 'restored')
  await database.backups.clone('c', 'cloned')
  await database.collection('cloned').served()
  await world.check(t, database.collection('cloned'), 'cloned')
  await live.rebuild({})
  await world.check(t, live, 'rebuilt')

  const then = world.copy()
  await world.change(live, 60)
  await world.check(t, live, 'changed')
  await database.history.undo({ collection: 'c', asOf: { lsn: moment }, ids: then.ids(150) })
  await then.check(t, live, 'undone')
  await replayed.close()
})
