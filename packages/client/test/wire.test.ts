// What the client writes and reads on the wire, checked with an independent decoder.

import { deflateSync, inflateSync } from 'node:zlib'
import { decode } from '@msgpack/msgpack'
import { test } from 'tap'
import { encodeBatch } from '../src/http/batch.ts'
import { MessageWriter } from '../src/http/message-writer.ts'
import { parseRetryAfter, waitBefore } from '../src/http/retry.ts'
import { AnnalError, connect, denseField, type VectorRecord } from '../src/index.ts'
import { MetaReader, packMeta } from '../src/packed-meta.ts'
import { json, scriptedServer } from './scripted-server.ts'

test('the writer matches the MessagePack library at every header size', async (t) => {
  for (const size of [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
    const writer = new MessageWriter(1)
    const numbers = Float32Array.from({ length: size }, (_, i) => i / 3)
    const positions = Uint32Array.from({ length: size }, (_, i) => 0xffffffff - i)
    writer.arrayHeader(4)
    writer.text('é'.repeat(size))
    writer.binary(new Uint8Array(size).fill(7))
    writer.float32Array(numbers)
    writer.uint32Array(positions)
    const [text, bytes, floats, integers] = decode(writer.finish()) as [string, Uint8Array, number[], number[]]
    t.equal(text.length, size)
    t.equal(bytes.length, size)
    t.strictSame(Float32Array.from(floats), numbers)
    t.strictSame(Uint32Array.from(integers), positions)
  }
})

test('a record travels as it is, without a norm', async (t) => {
  const records: VectorRecord[] = [{ id: 'a', vector: [3, 4], meta: { title: 'x' }, filter: { year: 1979 } }]
  const [record] = decode(encodeBatch(records)) as [[string, Uint8Array, string, null, number[]]]
  t.equal(record[0], 'a')
  t.equal(inflateSync(record[1]).toString(), '{"title":"x"}')
  t.equal(record[2], '{"year":1979}')
  t.equal(record[3], null)
  t.strictSame(record[4], [3, 4])
})

test('sparse terms follow the vector', async (t) => {
  const sparse = { indices: [7, 9], values: [0.5, 2] }
  const [record] = decode(encodeBatch([{ id: 'h', vector: [1, 0], sparse }])) as [unknown[]]
  t.strictSame(record.slice(4), [
    [1, 0],
    [7, 9],
    [0.5, 2],
  ])
})

test('invalid input is refused with its position', async (t) => {
  const refused: readonly [unknown, string][] = [
    [{ id: 'a', vector: [1, Number.NaN] }, 'records[0].vector[1]'],
    [{ id: 'a', vector: [1, 1e39] }, 'records[0].vector[1]'],
    [{ id: 'a', vector: [1, '2'] }, 'records[0].vector[1]'],
    [{ id: 'a', vector: undefined }, 'records[0].vector'],
    [{ id: 'a', vector: 'text' }, 'records[0].vector'],
    [{ id: 7, vector: [1, 2] }, 'records[0].id'],
    [{ id: '\ud800', vector: [1, 2] }, 'records[0].id'],
    [{ id: 'a', vector: [1, 2], meta: 'text' }, 'records[0].meta'],
    [{ id: 'a', vector: [1, 2], sparse: { indices: [1], values: [] } }, 'records[0].sparse'],
    [{ id: 'a', vector: [1, 2], sparse: { indices: [-1], values: [1] } }, 'records[0].sparse.indices[0]'],
  ]
  for (const [record, field] of refused) {
    // Ill-typed on purpose: JavaScript callers have no compiler to stop them.
    t.throws(() => encodeBatch([record as VectorRecord]), { name: 'AnnalError', code: 'invalid_argument', field })
  }
})

test('meta is returned as the object or the bytes that were stored', async (t) => {
  const large = { words: 'many words '.repeat(500) }
  const unpackMeta = (bytes: Uint8Array) => new MetaReader().fromBytes(bytes, 'reply')
  for (const meta of [{}, { a: [1, { b: null }] }, large]) t.strictSame(unpackMeta(packMeta(meta, 'meta')), meta)
  t.ok(packMeta(large, 'meta').length < 500, 'a large meta is compressed')
  const opaque = Uint8Array.of(0x78, 0x9c, 1, 2, 3, 4, 5, 6, 7)
  t.strictSame(unpackMeta(packMeta(opaque, 'meta')), opaque)
  t.equal(packMeta(undefined, 'meta').length, 0)
})

test('meta inflates up to the limits per object and per reply, and is returned as bytes beyond them', (t) => {
  const packed = (text: string) => Uint8Array.from(deflateSync(JSON.stringify({ text })))
  const bomb = packed('x'.repeat(6_500_000))
  t.equal(new MetaReader().fromBytes(bomb, 'reply'), bomb)
  const words = Array.from({ length: 9_000 }, (_, i) => ((i * 0x9e3779b1) >>> 0).toString(36)).join(' ')
  const large = packed(words + 'x'.repeat(1_000_000 - words.length))
  t.match(new MetaReader().fromBytes(large, 'reply'), { text: words })
  const reader = new MetaReader()
  const read = Array.from({ length: 100 }, () => reader.fromBytes(large, 'reply'))
  const bytes = read.filter((meta) => meta === large).length
  t.ok(bytes > 30 && bytes < 40, `${bytes} of 100 are left as they are stored`)

  const base64 = Buffer.from(packed('y')).toString('base64')
  t.strictSame(new MetaReader().fromJson({ meta_base64: base64, meta_limit: 'reply' }), { text: 'y' })
  t.strictSame(new MetaReader().fromJson({ meta_base64: base64, meta_limit: 'object' }), packed('y'))
  t.strictSame(new MetaReader().fromJson({ meta_base64: base64 }), packed('y'), 'opaque bytes stay unchanged')
  t.strictSame(new MetaReader().fromJson({ meta: { a: 1 } }), { a: 1 })
  t.end()
})

test('hits and vectors are requested in JSON and returned unchanged', async (t) => {
  const entry = { id: 'a', meta: { n: 1 }, filter: { c: 'x' }, norm: 5, vector: [3, -0.10000000149011612] }
  const hits = { results: [{ ...entry, similarity: 0.25, distance: 0.75 }] }
  await using server = await scriptedServer(json(200, hits), json(200, { ...entry, meta: {} }))
  const index = connect({ url: server.url }).index('i')
  const [hit] = await index.query({ vector: [30, 40], includeVectors: true })
  const vector = Float32Array.of(3, -0.1)
  t.strictSame(hit, { ...entry, similarity: 0.25, distance: 0.75, vector })
  t.strictSame(await index.get('a'), { ...entry, meta: undefined, vector })
  t.match(server.requests, [{ headers: { accept: 'application/json' } }, { headers: { accept: 'application/json' } }])
  const sent = server.requests[0]!.body.subarray(-8)
  t.strictSame([sent.readFloatLE(0), sent.readFloatLE(4)], [30, 40], 'a query is sent unchanged')
})

test('an unknown id is undefined, an unknown index is a failure', async (t) => {
  const missing = (code: string) =>
    scriptedServer((response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'not there', code }))
    })
  await using noVector = await missing('object_not_found')
  t.equal(await connect({ url: noVector.url }).index('i').get('a'), undefined)
  t.equal(await connect({ url: noVector.url }).index('i').delete('a'), false)
  await using noIndex = await missing('collection_not_found')
  await t.rejects(
    connect({ url: noIndex.url }).index('i').get('a'),
    new AnnalError('collection_not_found', 'not there', { status: 404 }),
  )
  await t.rejects(
    connect({ url: noIndex.url }).index('i').delete('a'),
    new AnnalError('collection_not_found', 'not there', { status: 404 }),
  )
})

test('waits grow, have jitter and a maximum, and are never shorter than requested', async (t) => {
  const wait = (attempt: number, random: number, requestedMs?: number) => waitBefore(attempt, { random, requestedMs })
  t.strictSame([wait(0, 0), wait(1, 0), wait(2, 0), wait(0, 1), wait(30, 1)], [50, 100, 200, 100, 5_000])
  t.equal(wait(0, 0, 7_000), 7_000)
  t.equal(parseRetryAfter('2', 0), 2_000)
  t.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 4_000), 5_000)
  t.equal(parseRetryAfter('soon', 0), undefined)
  t.equal(parseRetryAfter(null, 0), undefined)
})

test('options are camelCase in the client and snake_case on the wire', async (t) => {
  await using server = await scriptedServer(
    json(200, { results: {}, complete: true, lsn: 1, objects: [], cursor: null }),
  )
  const client = connect({ url: server.url })
  const bodyOf = async (call: Promise<unknown>): Promise<unknown> => {
    await call
    return JSON.parse(server.requests.at(-1)?.body.toString() ?? '')
  }
  const dense = {
    dimension: 3,
    spaceType: 'l2',
    precision: 'int16',
    M: 8,
    efConstruction: 64,
    keepOriginals: false,
  } as const
  const wire = { dimension: 3, space_type: 'l2', precision: 'int16', M: 8, ef_con: 64, keep_originals: false }
  const earlier = {
    dimension: 3,
    space_type: 'l2',
    precision: 'int16',
    M: 8,
    ef_con: 64,
    keep_originals: false,
  } as const
  const fields = [
    { name: 'a', type: 'vector', params: dense },
    { name: 'b', type: 'multi_vector', params: { ...dense, keepOriginals: undefined, pooling: 'max' } },
    { name: 'c', type: 'sparse', params: { model: 'endee_bm25', dimension: 9 } },
    { name: 'd', type: 'sparse' },
    { name: 'e', type: 'vector', params: earlier },
    { name: 'f', type: 'sparse', sparse_model: 'endee_bm25' },
    { name: 'g', type: 'vector', params: { ...dense, space_type: 'ip', ef_con: 5, keep_originals: true } },
    denseField('h', { dimension: 3, m: 8 }),
  ] as const
  const { keep_originals: _, ...always } = wire
  t.strictSame(await bodyOf(client.createCollection({ name: 'films', fields })), {
    name: 'films',
    fields: [
      { name: 'a', type: 'vector', params: wire },
      { name: 'b', type: 'multi_vector', params: { ...always, pooling: 'max' } },
      { name: 'c', type: 'sparse', sparse_model: 'endee_bm25', params: { dimension: 9 } },
      { name: 'd', type: 'sparse' },
      { name: 'e', type: 'vector', params: wire },
      { name: 'f', type: 'sparse', sparse_model: 'endee_bm25' },
      { name: 'g', type: 'vector', params: wire },
      { name: 'h', type: 'vector', params: { dimension: 3, M: 8 } },
    ],
  })
  const films = client.collection('films')
  const search = {
    fields: { a: { query: [1, 2, 3], limit: 4, ef: 5, scoreThreshold: 0.5 }, b: { query: [Float32Array.of(1, 2)] } },
    filter: [{ year: { $eq: 1979 } }],
    prefilterCardinalityThreshold: 6,
    filterBoostPercentage: 7,
    includeVectors: true,
    rescore: false,
    exact: true,
    explain: true,
    fusion: { method: 'rrf', k: 8, weights: { a: 9 }, limit: 10 },
  } as const
  const query = {
    fields: { a: { query: [1, 2, 3], limit: 4, ef_search: 5, score_threshold: 0.5 }, b: { query: [[1, 2]] } },
    filter: search.filter,
    filter_params: { prefilter_threshold: 6, boost_percentage: 7 },
    include_vectors: true,
    rescore: false,
    exact: true,
    explain: true,
    fusion: search.fusion,
  }
  t.strictSame(await bodyOf(films.search({ ...search, explain: false })), { ...query, explain: false })
  const batch = await bodyOf(films.searchBatch([search]).catch((error: AnnalError) => error.code))
  t.strictSame(batch, { searches: [query] })
  t.strictSame(await bodyOf(films.scroll({ limit: 3, includeVectors: false })), { limit: 3, include_vectors: false })
  t.strictSame(await bodyOf(films.rebuild({ a: { M: 8, efConstruction: 64 } })), {
    fields: [{ field: 'a', M: 8, ef_con: 64 }],
  })
})

test('options that the client does not know are sent, so that the server refuses them', async (t) => {
  await using server = await scriptedServer(json(400, { error: 'unknown option', code: 'invalid_argument' }))
  const client = connect({ url: server.url })
  const params = { dimension: 3, spaceTpye: 'l2' }
  const fields = [{ name: 'a', type: 'vector', params, shards: 2 }]
  await t.rejects(client.createCollection({ name: 'films', fields, owner: 'ada' } as never))
  await t.rejects(
    client.collection('films').search({ fields: { a: { query: { id: 'x' }, top: 3 } }, limt: 3 } as never),
  )
  const bodies = server.requests.map(({ body }) => JSON.parse(body.toString()))
  t.strictSame(bodies, [
    { name: 'films', fields, owner: 'ada' },
    { fields: { a: { query: { id: 'x' }, top: 3 } }, limt: 3 },
  ])
})
