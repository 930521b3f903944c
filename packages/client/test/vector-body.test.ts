// A search with one vector is sent as bytes. Servers of earlier versions refuse that once, and get JSON from then on.
import { test } from 'tap'
import { connect, denseField, sparseField } from '../src/index.ts'
import { realServer } from './real-server.ts'
import { json, type RecordedRequest, type Reply, scriptedServer } from './scripted-server.ts'

const bytesType = 'application/octet-stream'
const found = { results: [], complete: true, lsn: 1 }

/** A server that knows only JSON and MessagePack, or also bytes. */
function server(accepts: 'json' | 'bytes'): Promise<Awaited<ReturnType<typeof scriptedServer>>> {
  const reply: Reply = (response, request) => {
    const refused = accepts === 'json' && request.headers['content-type'] === bytesType
    const inCollection = request.url.startsWith('/api/v2')
    const body = inCollection ? { ...found, results: { plot: [] } } : found
    const error = { error: 'Content-Type must be application/json', code: 'unsupported_media_type' }
    return refused ? json(415, error)(response, request) : json(200, body)(response, request)
  }
  return scriptedServer(reply)
}

function typeOf({ headers }: RecordedRequest): string | undefined {
  return headers['content-type']
}

/** The parameters and the vector of a body of bytes. */
function read({ body }: RecordedRequest) {
  const end = 4 + body.readUInt32LE(0)
  const vector = new Float32Array(Uint8Array.from(body.subarray(end)).buffer)
  return { parameters: JSON.parse(body.toString('utf8', 4, end)), vector: [...vector] }
}

test('a search with one vector is sent as bytes', async (t) => {
  await using recorded = await server('bytes')
  await using client = connect({ url: recorded.url })
  await client.index('docs').query({ vector: [0.5, 0.1], topK: 3, filter: [{ a: { $eq: 'ü' } }] })
  await client.collection('films').search({ fields: { plot: { query: [1, 2], limit: 4, ef: 5 } }, exact: true })
  t.strictSame(recorded.requests.map(typeOf), [bytesType, bytesType])
  const [query, search] = recorded.requests.map(read)
  t.strictSame(query, { parameters: { k: 3, filter: '[{"a":{"$eq":"ü"}}]' }, vector: [0.5, Math.fround(0.1)] })
  t.strictSame(search, { parameters: { exact: true, fields: { plot: { limit: 4, ef_search: 5 } } }, vector: [1, 2] })
})

test('other searches are sent as JSON', async (t) => {
  await using recorded = await server('bytes')
  await using client = connect({ url: recorded.url })
  const films = client.collection('films')
  const sparse = { indices: [1], values: [1] }
  await client.index('docs').query({ vector: [1], sparse })
  await client.index('docs').query({ sparse })
  await films.search({ fields: { plot: { query: { id: 'a' } } } })
  await films.search({ fields: { plot: { query: sparse } } })
  await films.search({ fields: { plot: { query: [[1], [2]] } } })
  await films.search({ fields: { plot: { query: [1] }, other: { query: [1] } } })
  t.strictSame([...new Set(recorded.requests.map(typeOf))], ['application/json'])
})

test('a server that refuses bytes gets JSON, and is not tried again', async (t) => {
  await using recorded = await server('json')
  await using client = connect({ url: recorded.url })
  for (let i = 0; i < 2; i++) {
    t.strictSame(await client.index('docs').query({ vector: [1, 2] }), [])
    t.match(await client.collection('films').search({ fields: { plot: { query: [1, 2] } } }), { lsn: 1 })
  }
  const types = recorded.requests.map(typeOf)
  t.strictSame(types, [bytesType, ...Array.from({ length: 4 }, () => 'application/json')])
  await using other = connect({ url: recorded.url })
  await other.index('docs').query({ vector: [1, 2] })
  t.equal(typeOf(recorded.requests[5]!), bytesType, 'each client finds out for itself')
})

test('other errors are reported, and nothing is sent a second time', async (t) => {
  await using recorded = await scriptedServer(json(400, { error: 'wrong', code: 'invalid_argument' }))
  await using client = connect({ url: recorded.url })
  await t.rejects(client.index('docs').query({ vector: [1] }), { code: 'invalid_argument' })
  await t.rejects(client.index('docs').query({ vector: [Number.NaN] }), { name: 'AnnalError', field: 'vector[0]' })
  await t.rejects(client.collection('c').search({ fields: { plot: { query: [1, Number.NaN] } } }), {
    name: 'AnnalError',
    field: 'fields.plot.query[1]',
  })
  t.equal(recorded.requests.length, 1)
})

test('a real server finds the same with bytes and with JSON', async (t) => {
  const url = await realServer(t)
  const types: (string | undefined)[] = []
  const spied: typeof fetch = (input, init) => {
    types.push(new Headers(init?.headers).get('content-type') ?? undefined)
    return fetch(input, init)
  }
  const refusing: typeof fetch = async (input, init) => {
    const isBytes = new Headers(init?.headers).get('content-type') === bytesType
    return isBytes ? Response.json({ code: 'unsupported_media_type' }, { status: 415 }) : fetch(input, init)
  }
  await using bytes = connect({ url, fetch: spied })
  await using text = connect({ url, fetch: refusing })
  const fields = [denseField('plot', { dimension: 8, precision: 'int8' }), sparseField('words')] as const
  const films = await bytes.createCollection({ name: 'films', fields })
  const vector = (seed: number) => Array.from({ length: 8 }, (_, i) => Math.sin(seed * 8 + i))
  await films.upsert(
    Array.from({ length: 50 }, (_, i) => ({ id: `f${i}`, filter: { even: i % 2 === 0 }, fields: { plot: vector(i) } })),
  )
  for (const request of [
    { fields: { plot: { query: vector(3.5), limit: 5 } } },
    { fields: { plot: { query: Float32Array.from(vector(9)), limit: 5, ef: 20, scoreThreshold: 0 } } },
    { fields: { plot: { query: vector(1) } }, filter: [{ even: { $eq: true } }], includeVectors: true },
  ]) {
    types.length = 0
    t.strictSame(await films.search(request), await text.collection('films').search(request))
    t.strictSame(types, [bytesType])
  }
  await t.rejects(films.search({ fields: { plot: { query: [1, 2] } } }), { code: 'invalid_argument' })
})
