// The published client endee@1.0.8, unchanged, against a listening server.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Endee, Precision } from 'endee'
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const colors = ['red', 'green', 'blue']
const items = Array.from({ length: 60 }, (_, i) => ({
  id: `item ${i}`,
  vector: [Math.sin(i), Math.cos(i), Math.sin(i / 7) + 1.5, i % 5],
  meta: { title: `item number ${i}`, position: i },
  filter: { color: colors[i % 3], score: i },
}))

test('the published client creates, lists, describes, fills, queries, changes and deletes an index', async (t) => {
  const running = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${running.url}/api/v1`)

  const created = await client.createIndex({
    name: 'items',
    dimension: 4,
    spaceType: 'cosine',
    precision: Precision.FLOAT32,
  })
  t.equal(created, 'Index created successfully')
  t.match(await client.listIndexes(), { indexes: [{ name: 'items', dimension: 4, total_elements: 0 }] })

  const index = await client.getIndex('items')
  t.match(index.describe(), {
    name: 'items',
    dimension: 4,
    spaceType: 'cosine',
    isHybrid: false,
    count: 0,
    precision: 'float32',
    M: 16,
  })
  t.equal(await index.upsert(items), 'Vectors inserted successfully')
  t.equal((await client.getIndex('items')).describe().count, items.length)

  const wanted = items[17]!
  const [nearest, ...others] = await index.query({ vector: wanted.vector, topK: 5, includeVectors: true })
  t.match(nearest, { id: wanted.id, meta: wanted.meta, filter: wanted.filter })
  t.ok(nearest!.similarity > 0.9999)
  t.equal(nearest!.vector?.length, 4)
  t.equal(others.length, 4)
  t.notOk((await index.query({ vector: wanted.vector, topK: 1 }))[0]!.vector, 'vectors only come on request')

  const filtered = await index.query({
    vector: wanted.vector,
    topK: 10,
    filter: [{ color: { $in: ['red', 'blue'] } }, { score: { $range: [10, 40] } }],
  })
  t.equal(filtered.length, 10)
  for (const { filter } of filtered) {
    const { color, score } = filter as { color: string; score: number }
    t.ok(color !== 'green' && score >= 10 && score <= 40, 'every hit matches the filter')
  }

  const got = await index.getVector(wanted.id)
  t.match(got, { id: wanted.id, meta: wanted.meta, filter: wanted.filter })
  const length = Math.hypot(...wanted.vector)
  t.ok(Math.abs(got.norm - length) < 1e-4)
  t.ok(
    got.vector.every((value, i) => Math.abs(value - wanted.vector[i]! / length) < 1e-5),
    'the unit vector comes back',
  )

  t.match(await index.deleteVector(wanted.id), /deleted/)
  await t.rejects(index.getVector(wanted.id), { name: 'NotFoundException' })
  t.equal(await index.deleteWithFilter([{ color: { $eq: 'green' } }]), '20 vectors deleted')
  t.equal((await client.getIndex('items')).describe().count, 39)

  t.equal(await client.deleteIndex('items'), 'Index items deleted successfully')
  await t.rejects(client.getIndex('items'), { name: 'NotFoundException' })
})

for (const precision of Object.values(Precision)) {
  test(`the published client reads back what it sent to ${precision} indexes, including the norm`, async (t) => {
    const running = await runningApp(t)
    const client = new Endee()
    client.setBaseUrl(`${running.url}/api/v1`)
    for (const spaceType of ['cosine', 'l2', 'ip'] as const) {
      await client.createIndex({ name: spaceType, dimension: 4, spaceType, precision })
      const index = await client.getIndex(spaceType)
      // Quantized rows are float32 in memory up to about five hundred rows.
      const count = precision === Precision.INT8D ? 540 : 60
      const sent = Array.from({ length: count }, (_, i) => ({
        id: `${i}`,
        vector: [Math.sin(i), Math.cos(i), Math.sin(i / 7), i % 5].map((x) => x * 10 ** ((i % 7) - 3)),
      }))
      await index.upsert(sent)
      const lengthOf = (vector: readonly number[]) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
      const wanted = ({ vector }: (typeof sent)[number]) => {
        const norm = spaceType === 'cosine' ? lengthOf(vector) : 1
        return { vector: vector.map((x) => Math.fround(x / norm)), norm: Math.fround(norm) }
      }
      for (const one of [0, 3, 31, count - 1].map((i) => sent[i]!)) {
        const { vector, norm } = await index.getVector(one.id)
        t.strictSame({ vector, norm }, wanted(one), `${spaceType}: a vector of length ${lengthOf(one.vector)}`)
      }
      for (const hit of await index.query({ vector: sent[40]!.vector, topK: 20, includeVectors: true })) {
        const { vector, norm } = wanted(sent[Number(hit.id)]!)
        t.strictSame([hit.vector, hit.norm], [vector, norm])
      }
    }
  })
}

test('the published client stores hybrid objects', async (t) => {
  const running = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${running.url}/api/v1`)
  await client.createIndex({ name: 'both', dimension: 4, sparseDimension: 30_000, precision: Precision.INT16D })
  const index = await client.getIndex('both')
  t.match(index.describe(), { isHybrid: true, sparseDimension: 30_000, precision: 'int16' })
  await index.upsert(
    items.slice(0, 10).map((item, i) => ({ ...item, sparseIndices: [i, 29_999], sparseValues: [1, 0.25] })),
  )
  t.equal((await index.query({ vector: items[3]!.vector, topK: 1 }))[0]!.id, items[3]!.id)
  t.match(await index.getVector('item 4'), { id: 'item 4', meta: items[4]!.meta })
})

test('the published client reports conflicts and wrong tokens with its own exceptions', async (t) => {
  const running = await runningApp(t, { authToken: 'a-token-of-many-characters' })
  const client = new Endee('a-token-of-many-characters')
  client.setBaseUrl(`${running.url}/api/v1`)
  await client.createIndex({ name: 'once', dimension: 4 })
  await t.rejects(client.createIndex({ name: 'once', dimension: 4 }), { name: 'ConflictException' })
  const stranger = new Endee('another-token')
  stranger.setBaseUrl(`${running.url}/api/v1`)
  await t.rejects(stranger.listIndexes(), { name: 'AuthenticationException' })
})

test('the published client deletes by ids that a path can express in two ways', async (t) => {
  const running = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${running.url}/api/v1`)
  await client.createIndex({ name: 'ids', dimension: 2 })
  const index = await client.getIndex('ids')
  const ids = ['50%', 'a b', 'a%20b', 'a/b', 'plain']
  await index.upsert(ids.map((id, i) => ({ id, vector: [i, 1] })))
  t.match(await index.deleteVector('50%'), /deleted/)
  await t.rejects(index.getVector('50%'), { name: 'NotFoundException' })
  await t.rejects(index.deleteVector('a%20b'), { name: 'ConflictException' })
  await t.rejects(index.deleteVector('a b'), { name: 'ConflictException' })
  t.match(await index.getVector('a b'), { id: 'a b' }, 'nothing is deleted')
  t.match(await index.getVector('a%20b'), { id: 'a%20b' })
  t.match(await index.deleteVector('a%2520b'), /deleted/)
  await t.rejects(index.getVector('a%20b'), { name: 'NotFoundException' })
  t.match(await index.deleteVector('a b'), /deleted/)
  t.match(await index.deleteVector('a/b'), /deleted/)
  t.equal((await client.getIndex('ids')).describe().count, 1)
})

test('the published client removes dot segments of an id before it sends the path, as the reference says', async (t) => {
  const urls: string[] = []
  const server = createServer((request, reply) => {
    urls.push(request.url ?? '')
    reply.end('Vector deleted successfully')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const real = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${real.url}/api/v1`)
  await client.createIndex({ name: 'ids', dimension: 2 })
  const index = await client.getIndex('ids')
  // The private URL of an index is read when a request is sent.
  Reflect.set(index, 'url', `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`)
  for (const id of ['.', '..', '%2e%2e', 'a/../..', 'a/../../../other', 'a..b', '...']) await index.deleteVector(id)
  t.strictSame(urls, [
    '/api/v1/index/ids/vector/delete',
    '/api/v1/index/ids/delete',
    '/api/v1/index/ids/delete',
    '/api/v1/index/ids/delete',
    '/api/v1/index/other/delete',
    '/api/v1/index/ids/vector/a..b/delete',
    '/api/v1/index/ids/vector/.../delete',
  ])
})

test('sparse values that an index cannot store are refused for the published client', async (t) => {
  const running = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${running.url}/api/v1`)
  await client.createIndex({ name: 'dense', dimension: 4 })
  const index = await client.getIndex('dense')
  const sparse = { sparseIndices: [1], sparseValues: [1] }
  await t.rejects(index.upsert([{ ...items[0]!, ...sparse }]))
  await t.rejects(index.query({ vector: items[0]!.vector, topK: 1, ...sparse }))
  t.equal((await client.getIndex('dense')).describe().count, 0)
})

test('the published client gets correct similarities from a binary index, although it cannot request rescoring', async (t) => {
  const running = await runningApp(t)
  const client = new Endee()
  client.setBaseUrl(`${running.url}/api/v1`)
  const dimension = 64
  const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * (n + 78.233)))
  for (const spaceType of ['cosine', 'l2', 'ip'] as const) {
    const name = `binary_${spaceType}`
    await client.createIndex({ name, dimension, spaceType, precision: Precision.BINARY })
    const index = await client.getIndex(name)
    t.equal(index.describe().precision, 'binary')
    const vectors = Array.from({ length: 600 }, (_, n) => vectorOf(n))
    await index.upsert(vectors.map((vector, n) => ({ id: `${n}`, vector })))
    const similarityOf = (a: number[], b: number[]) => {
      if (spaceType === 'l2') return -a.reduce((sum, x, i) => sum + (x - b[i]!) ** 2, 0)
      const dot = a.reduce((sum, x, i) => sum + x * b[i]!, 0)
      return spaceType === 'ip' ? dot : dot / Math.hypot(...a) / Math.hypot(...b)
    }
    let found = 0
    for (let n = 0; n < 10; n++) {
      const query = vectorOf(n * 31).map((x, i) => x + 0.3 * Math.cos(i * n))
      const truth = vectors
        .map((vector, row) => ({ id: `${row}`, similarity: similarityOf(vector, query) }))
        .sort((a, b) => b.similarity - a.similarity)
        .slice(0, 10)
      const hits = await index.query({ vector: query, topK: 10 })
      found += hits.filter(({ id }) => truth.some((other) => other.id === id)).length
      for (const { id, similarity } of hits) {
        const exact = similarityOf(vectors[Number(id)]!, query)
        t.ok(
          Math.abs(similarity - exact) <= 1e-6 * Math.max(1, Math.abs(exact)),
          `${spaceType}: ${similarity} is ${exact}`,
        )
      }
    }
    t.ok(found >= 95, `${spaceType}: ${found} of the true 100`)
  }
})
