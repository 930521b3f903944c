// What only a client of a real server shows: tokens, statuses and error details. Inputs and results are in suite.ts.
import { test } from 'tap'
import { AnnalError, connect } from '../src/index.ts'
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

test('a real server replies, and its errors name the fault', async (t) => {
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

  await client.createIndex({ name: 'films_l2', dimension: 3, spaceType: 'l2' })
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

/** In a path, these would lead to the collection or to another one. */
const climbing = ['../..', 'a/../..', 'a/../../../other', './a', 'a/.', '%2e%2e', '..%2f..']

test('the requested object is deleted, whatever its id', async (t) => {
  const client = connect({ url: await realServer(t, {}) })
  const index = await client.createIndex({ name: 'ids', dimension: 2, spaceType: 'l2' })
  const ids = ['50%', '%', 'a b', 'a%20b', 'a/b', 'a%2Fb', '.', '..', '%2e', '-', '?', 'a?b', '#', 'other', ...climbing]
  const store = () => index.upsert(ids.map((id, i) => ({ id, vector: [i, 1] })))
  const left = async () => Array.from((await client.collection('ids').scroll()).objects, ({ id }) => id).sort()
  for (const id of ids) {
    const others = ids.filter((one) => one !== id).sort()
    await store()
    t.ok(await client.collection('ids').delete(id), id)
    t.strictSame(await left(), others, id)
    await store()
    t.ok(await index.delete(id), id)
    t.strictSame(await left(), others, id)
  }
})
