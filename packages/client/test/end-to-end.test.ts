// The client against the real server, a child process on an empty directory: what goes in comes out.
import { test } from 'tap'
import { AnnalError, connect, type SpaceType } from '../src/index.ts'
import { realServer } from './real-server.ts'

const token = 'end-to-end-0123456789'

async function code(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason) => reason,
  )
  if (error instanceof AnnalError) return error.code
  throw error
}

function close(found: ArrayLike<number> | undefined, wanted: readonly number[], step: number): boolean {
  return (
    wanted.length === found?.length && wanted.every((value, i) => Math.abs(value - (found[i] ?? Number.NaN)) <= step)
  )
}

test('the client does everything it offers against a real server', async (t) => {
  const url = await realServer(t, { token })
  const client = connect({ url, token })

  await t.test('health and stats answer', async (t) => {
    t.equal((await client.health()).status, 'ok')
    t.type((await client.stats()).version, 'string')
  })

  await t.test('a wrong token is refused with a code', async (t) => {
    t.equal(await code(connect({ url }).listIndexes()), 'authorization_required')
    t.equal(await code(connect({ url, token: 'wrong' }).listIndexes()), 'invalid_token')
  })

  await t.test('an index is made, listed, described and deleted', async (t) => {
    await client.createIndex({ name: 'short_lived', dimension: 8, spaceType: 'ip', precision: 'float32', m: 8 })
    const described = { name: 'short_lived', dimension: 8, spaceType: 'ip', precision: 'float32', m: 8, count: 0 }
    t.match(await client.listIndexes(), [{ ...described, hybrid: false }])
    t.match(await client.index('short_lived').describe(), { ...described, efConstruction: 128, sparseDimension: 0 })
    t.equal(await code(client.createIndex({ name: 'short_lived', dimension: 8 })), 'collection_exists')
    await client.deleteIndex('short_lived')
    t.same(await client.listIndexes(), [])
    t.equal(await code(client.index('short_lived').describe()), 'collection_not_found')
  })

  for (const spaceType of ['cosine', 'l2', 'ip'] satisfies SpaceType[]) {
    await t.test(`vectors of a ${spaceType} index come back as they were given`, async (t) => {
      const index = await client.createIndex({ name: `films_${spaceType}`, dimension: 3, spaceType })
      await index.upsert([
        { id: 'alien', vector: [3, 0, 4], meta: { title: 'Alien' }, filter: { year: 1979, genre: 'horror' } },
        { id: 'é/ü', vector: Float32Array.of(0, 2, 0), meta: Uint8Array.of(1, 2, 3) },
      ])
      const stored = await index.get('alien')
      t.match(stored, { id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979, genre: 'horror' } })
      t.ok(close(stored?.vector, [3, 0, 4], 4 / 127), String(stored?.vector))
      t.equal(stored?.norm, 5)
      t.match((await index.get('é/ü'))?.meta, Uint8Array.of(1, 2, 3))
      t.equal(await index.get('nobody'), undefined)

      const [best, second] = await index.query({ vector: [6, 0, 8], topK: 2, includeVectors: true })
      t.match(best, { id: 'alien', meta: { title: 'Alien' } })
      t.ok(close(best?.vector, [3, 0, 4], 4 / 127))
      const exact = { cosine: [1, 0], l2: [-25, -104], ip: [50, 0] }[spaceType]
      t.ok(close([best?.similarity ?? 0, second?.similarity ?? 0], exact, 1.5), `similarities of ${spaceType}`)
      const fromSimilarity = (similarity: number) => (spaceType === 'cosine' ? 1 - similarity : -similarity)
      t.equal(best?.distance, fromSimilarity(best?.similarity ?? 0))
    })
  }

  await t.test('filters choose, are replaced, and delete', async (t) => {
    const index = await client.createIndex({ name: 'numbers', dimension: 2, spaceType: 'l2' })
    await index.upsert(
      Array.from({ length: 100 }, (_, i) => ({
        id: `n${i}`,
        vector: [i, 1],
        filter: { parity: i % 2 === 0 ? 'even' : 'odd', value: i },
      })),
    )
    const even = await index.query({ vector: [50, 1], topK: 3, filter: [{ parity: { $eq: 'even' } }] })
    t.same(even.map(({ id }) => id).sort(), ['n48', 'n50', 'n52'])
    const range = await index.query({ vector: [0, 1], topK: 10, filter: [{ value: { $range: [10, 12] } }] })
    t.same(range.map(({ id }) => id).sort(), ['n10', 'n11', 'n12'])
    t.equal(
      await index.updateFilters([
        { id: 'n10', filter: { parity: 'none' } },
        { id: 'nobody', filter: {} },
      ]),
      1,
    )
    t.same((await index.get('n10'))?.filter, { parity: 'none' })
    t.equal(await index.deleteWhere([{ parity: { $in: ['odd', 'none'] } }]), 51)
    t.equal(await index.deleteWhere([]), 0)
    t.equal(await index.delete('n50'), true)
    t.equal(await index.delete('n50'), false)
    t.equal((await index.describe()).count, 48)
  })

  await t.test('a hybrid index takes sparse terms and gives them back', async (t) => {
    const index = await client.createIndex({
      name: 'hybrid',
      dimension: 2,
      spaceType: 'cosine',
      sparseDimension: 1_000,
    })
    await index.upsert([{ id: 'a', vector: [1, 0], sparse: { indices: [7, 900], values: [0.5, 2] } }])
    t.match(await index.describe(), { hybrid: true, sparseDimension: 1_000 })
    t.match((await index.get('a'))?.sparse, { indices: Uint32Array.of(7, 900), values: Float32Array.of(0.5, 2) })
  })

  await t.test('a refusal names field, value and limit, and stores nothing', async (t) => {
    const index = client.index('films_l2')
    await t.rejects(index.upsert([{ id: 'wide', vector: [1, 2, 3, 4] }]), {
      name: 'AnnalError',
      code: 'invalid_argument',
      status: 400,
      field: 'objects[0].vector',
      value: 4,
      limit: 3,
      retryable: false,
    })
    await t.rejects(index.query({ vector: [1, 2, 3], topK: 513 }), {
      name: 'AnnalError',
      status: 400,
      field: 'k',
      value: 513,
      limit: 512,
    })
    t.equal(await index.get('wide'), undefined)
  })
})
