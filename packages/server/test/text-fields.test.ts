// Text fields over HTTP: definitions, texts in both forms of an upsert, queries of every kind, and what replies say.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const collection = '/api/v2/collection/docs'
// Base64 of four bytes, so that it would be read as a vector of one number in another field.
const likeBase64 = 'AAAA'

// biome-ignore lint/suspicious/noExplicitAny: replies of several routes.
type Loose = any

async function open(t: Parameters<typeof runningApp>[0]) {
  const app = await runningApp(t)
  const fields = [
    { name: 'body', type: 'text', params: { language: 'english' } },
    { name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } },
  ]
  const created = await app.send('POST', '/api/v2/collection', { json: { name: 'docs', fields }, accept })
  const post = async (path: string, json: object): Promise<Loose> => {
    const reply = await app.send('POST', `${collection}${path}`, { json, accept })
    return { status: reply.status, ...reply.json() }
  }
  const written = await post('/objects', {
    objects: [
      { id: 'a', fields: { body: 'The quick brown fox jumps over the lazy dog', v: [1, 0] } },
      { id: 'b', fields: { body: likeBase64 } },
      { id: 'c', fields: { body: 'Quick answers to slow questions' }, filter: { n: 1 } },
    ],
  })
  return { ...app, post, created, written }
}

test('texts are written, searched, and returned as JSON', async (t) => {
  const { send, post, created, written } = await open(t)
  t.equal(created.status, 200, created.text)
  t.match(written, { status: 200, upserted: 3 })
  const described = (await send('GET', collection, { accept })).json() as Loose
  t.match(described.fields[0], {
    name: 'body',
    type: 'text',
    params: { language: 'english', analyzer: 1, k1: 1.2, b: 0.75 },
    element_count: 3,
  })
  const { results } = await post('/search', { fields: { body: { query: 'foxes', limit: 5 } } })
  t.strictSame(
    results.body.map(({ id }: Loose) => id),
    ['a'],
  )
  t.ok(results.body[0].similarity > 0)
  const { objects } = await post('/objects/query', { ids: ['a', 'b'] })
  t.equal(objects[0].fields.body, 'The quick brown fox jumps over the lazy dog')
  t.strictSame(objects[0].fields.v.vector, [1, 0])
  t.equal(objects[1].fields.body, likeBase64)
  const again = await post('/objects', { objects })
  t.match(again, { status: 200, upserted: 2 }, 'what was read can be written')
  const page = await post('/objects/scroll', { include_vectors: true, limit: 10 })
  t.equal(page.objects.find(({ id }: Loose) => id === 'c').fields.body, 'Quick answers to slow questions')
})

test('clauses, options, batches, fusion, and explain have their names of the wire', async (t) => {
  const { post } = await open(t)
  const ids = async (query: unknown, more: object = {}): Promise<string[]> => {
    const reply = await post('/search', { fields: { body: { query, limit: 5, ...more } } })
    t.equal(reply.status, 200, JSON.stringify(reply))
    return reply.results.body.map(({ id }: Loose) => id).sort()
  }
  t.strictSame(await ids('quick dogs'), ['a', 'c'])
  t.strictSame(await ids('quick dogs', { operator: 'and' }), ['a'])
  t.strictSame(await ids({ must: ['quick'], must_not: ['dog'] }), ['c'])
  t.strictSame(await ids({ must: [{ phrase: 'slow questions' }] }), ['c'])
  t.strictSame(await ids({ should: [{ prefix: 'laz' }, { fuzzy: 'answr' }] }), ['a', 'c'])
  t.strictSame(await ids({ id: 'a' }), ['c'])
  const shown = await post('/search', {
    fields: { body: { query: 'lazy', highlight: true, k1: 0, b: 0 } },
    explain: true,
  })
  const [{ highlight }] = shown.results.body
  t.strictSame(
    highlight.ranges.map(([from, to]: [number, number]) => highlight.fragment.slice(from, to)),
    ['lazy'],
  )
  t.strictSame(shown.explain.fields.body.terms, [{ term: 'lazi', rows: 1 }])
  const batch = await post('/search/batch', {
    searches: [{ fields: { body: { query: 'quick' } } }, { fields: { v: { query: [1, 0] } } }],
  })
  t.equal(batch.searches[0].results.body.length, 2)
  const fused = await post('/search', {
    fields: { body: { query: 'answers' }, v: { query: [1, 0] } },
    fusion: { method: 'rrf' },
    filter: [{ n: { $exists: false } }],
  })
  t.strictSame(
    fused.fused.map(({ id }: Loose) => id),
    ['a'],
  )
})

test('counts, facets, and pages take conditions on texts, and fused hits have highlights', async (t) => {
  const { post, send, written } = await open(t)
  const match = (query: unknown, more: object = {}) => ({ match: { body: { query, ...more } } })
  const count = async (json: object) => {
    const reply = await post('/objects/count', json)
    t.equal(reply.status, 200, JSON.stringify(reply))
    return reply.count
  }
  t.equal(await count(match('quick lazy')), 2)
  t.equal(await count(match('quick lazy', { operator: 'and' })), 1)
  t.equal(await count({ ...match('quick'), filter: [{ n: { $eq: 1 } }] }), 1)
  t.equal(await count(match({ must: ['quick'], must_not: [{ phrase: 'slow questions' }] })), 1)
  t.equal(await count(match(likeBase64)), 1, 'a word that is base64 of a vector')
  t.equal(await count({ match: { ...match('quick').match, v: undefined } }), 2)
  const { as_of: asOf, ...past } = await post('/objects/count', { ...match('quick'), as_of: { lsn: written.lsn } })
  t.strictSame([past.count, asOf.lsn], [2, written.lsn])
  const facets = await post('/facets', { key: 'n', ...match('answers') })
  t.match(facets, { status: 200, values: [{ value: 1, count: 1 }], distinct: 1 })
  t.match(await post('/facets', { key: 'n', ...match('lazy') }), { values: [], distinct: 0 })
  const first = await post('/objects/scroll', { ...match('quick'), limit: 1, include_vectors: false })
  const second = await post('/objects/scroll', { ...match('quick'), limit: 1, cursor: first.cursor })
  t.strictSame(
    [first, second].map(({ objects }) => objects.map(({ id }: Loose) => id)),
    [['a'], ['c']],
  )
  t.equal(second.cursor, null)
  const pages = async (more: object) => (await post('/objects/scroll', { limit: 1, ...more })).objects[0].fields
  const body = 'The quick brown fox jumps over the lazy dog'
  const v = { vector: [1, 0], norm: 1 }
  t.strictSame(await pages({}), { v, body })
  t.strictSame(await pages({ include_vectors: false, include_texts: true }), { body })
  t.strictSame(await pages({ include_texts: false }), { v })
  t.strictSame(await pages({ include_vectors: false }), undefined)
  t.strictSame(await pages({ include_vectors: false, include_texts: false }), undefined)
  t.equal((await post('/objects/scroll', { include_texts: 'yes' })).status, 400)
  const got = async (more: object) => (await post('/objects/query', { ids: ['a'], ...more })).objects[0]
  t.strictSame((await got({})).fields, { v, body })
  t.strictSame((await got({ include_vectors: false, include_texts: true })).fields, { body })
  t.strictSame((await got({ include_texts: false, as_of: { lsn: written.lsn } })).fields, { v })
  t.strictSame(Object.keys(await got({ include_vectors: false })), ['id', 'lsn', 'meta', 'filter'])
  t.strictSame((await got({ include_vectors: null })).fields, { v, body })
  t.equal((await post('/objects/query', { ids: ['a'], include_vectors: 'no' })).status, 400)
  const packed = await send('POST', `${collection}/objects/count`, { msgpack: match('quick'), accept })
  t.match(packed.json(), { count: 2 })

  for (const [json, code, field] of [
    [{ match: 'quick' }, 'invalid_argument', 'match'],
    [{ match: {} }, 'invalid_argument', 'match'],
    [{ match: { none: { query: 'quick' } } }, 'field_not_found', 'match'],
    [{ match: { v: { query: 'quick' } } }, 'invalid_argument', 'match.v'],
    [match(7), 'invalid_argument', 'match.body.query'],
    [match({ must: [{ phrase: 'a b', slop: 1_000 }] }), 'limit_exceeded', 'match.body.query.must[0].slop'],
    [match({ must: ['quick'], must_not: [5] }), 'invalid_argument', 'match.body.query.must_not[0]'],
  ] as const) {
    for (const [path, more] of [['/objects/count'], ['/facets', { key: 'n' }], ['/objects/scroll']] as const) {
      const reply = await post(path, { ...json, ...more })
      t.strictSame([reply.status, reply.code, reply.field], [400, code, field], path)
    }
  }

  const fused = await post('/search', {
    fields: { body: { query: 'answers', highlight: true }, v: { query: [1, 0] } },
    fusion: { method: 'rrf' },
  })
  const found = fused.fused.find(({ id }: Loose) => id === 'c')
  t.strictSame(found.fields.body.highlight, fused.results.body[0].highlight)
  t.match(found.fields.body.highlight, { fragment: /Quick answers/ })
})

test('MessagePack batches have texts as their eighth part, and replies too', async (t) => {
  const { send, post } = await open(t)
  const upserted = await send('POST', `${collection}/objects`, {
    msgpack: [[['m', new Uint8Array(0), '', {}, {}, {}, '', { body: 'a text in MessagePack' }]]],
    accept,
  })
  t.equal(upserted.status, 200, upserted.text)
  const { results } = await post('/search', { fields: { body: { query: 'messagepack' } } })
  t.strictSame(
    results.body.map(({ id }: Loose) => id),
    ['m'],
  )
  const read = await send('POST', `${collection}/objects/query`, {
    json: { ids: ['m'] },
    accept: 'application/msgpack',
  })
  const [[tuple]] = read.msgpack() as Loose
  t.equal(tuple.length, 8)
  t.strictSame(tuple[7], { body: 'a text in MessagePack' })
})

test('bad texts and queries are refused by name', async (t) => {
  const { post } = await open(t)
  const refused = async (path: string, json: object, field: string) => {
    const { status, code, field: named } = await post(path, json)
    t.equal(status, 400, field)
    t.equal(named, field, `${named} ${code}`)
    t.ok(['invalid_argument', 'limit_exceeded'].includes(code), `${field}: ${code}`)
  }
  const put = (body: unknown) => ({ objects: [{ id: 'x', fields: { body } }] })
  await refused('/objects', put(7), 'objects[0].fields.body')
  await refused('/objects', put('x'.repeat(1_048_577)), 'objects[0].fields.body')
  const ask = (query: unknown, more: object = {}) => ({ fields: { body: { query, ...more } } })
  await refused('/search', ask({ must: [{ words: 'a', boost: 1_001 }] }), 'fields.body.query.must[0].boost')
  for (const query of [null, 7, true, [], [1, 2], ['a'], {}, { must_not: ['a'] }])
    await refused('/search', ask(query), 'fields.body.query')
  await refused('/search', ask({ words: 'a' }), 'fields.body.query.words')
  await refused('/search', ask({ must: ['a'], must_not: [7] }), 'fields.body.query.must_not[0]')
  await refused('/search', ask('a', { operator: 'xor' }), 'fields.body.operator')
  await refused('/search', ask('a', { k1: -1 }), 'fields.body.k1')
  await refused('/search', { fields: { v: { query: [1, 0], highlight: true } } }, 'fields.v.highlight')
  t.equal((await post('/objects/count', {})).count, 3)
})
