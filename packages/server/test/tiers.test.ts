// A database may do exactly what its type allows, and a refused request has no partial effect.
import { type Test, test } from 'tap'
import { tiers } from '../src/license/tier-limits.ts'
import { type Answer, runningApp } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'
const field = (params: object) => [
  { name: 'v', type: 'vector', params: { dimension: 4, precision: 'int8', ...params } },
]

async function database(t: Test, type: string) {
  const running = await runningApp(t, { rootToken, topKMax: 4_096 })
  const root = { authorization: rootToken }
  const json = { db_name: 'acme', db_type: type }
  const made = await running.send('POST', '/api/v2/admin/dbs', { json, headers: root })
  const headers = { authorization: String(made.json().db_token) }
  const ask = (method: string, path: string, body?: object) =>
    running.send(method, path, { headers, ...(body === undefined ? {} : { json: body }) })
  const retype = (to: string) =>
    running.send('PUT', '/api/v2/admin/dbs/acme/type', { json: { db_type: to }, headers: root })
  return { ask, retype, engine: running.engine }
}

test('a starter database has three collections of 2,000 dimensions in int8', async (t) => {
  const { ask, retype, engine } = await database(t, 'starter')
  const create = (name: string, params: object = {}) =>
    ask('POST', '/api/v2/collection', { name, fields: field(params) })
  refused(t, await create('a', { dimension: 2_001 }), 'dimension', 2_000)
  refused(t, await create('a', { precision: 'float32' }), 'precision', 'int8')
  const index = { index_name: 'a', dim: 2_001, space_type: 'l2', precision: 'int8' }
  refused(t, await ask('POST', '/api/v1/index/create', index), 'dimension', 2_000)
  t.equal((await create('a', { dimension: 2_000 })).status, 200)
  t.equal((await ask('POST', '/api/v1/index/create', { ...index, index_name: 'b', dim: 4 })).status, 200)
  t.equal((await create('c')).status, 200)
  refused(t, await create('d'), 'collections', 3)
  refused(t, await ask('POST', '/api/v2/collection/c/clone', { target_collection_name: 'd' }), 'collections', 3)
  t.equal(engine.database('acme').collections().length, 3)
  t.equal((await retype('pro')).status, 200)
  t.equal((await create('d', { precision: 'float32', dimension: 4_000 })).status, 200, 'at once with another type')
})

test('the number of results and the widening of a search are limited by the type', async (t) => {
  const { ask, retype } = await database(t, 'starter')
  await ask('POST', '/api/v2/collection', { name: 'c', fields: field({}) })
  const search = (limit: number, boost?: number) =>
    ask('POST', '/api/v2/collection/c/search', {
      fields: { v: { query: [1, 0, 0, 0], limit } },
      ...(boost === undefined ? {} : { filter_params: { boost_percentage: boost } }),
    })
  t.equal((await search(128)).status, 200)
  refused(t, await search(129), 'limit', 128)
  refused(t, await search(1, 1), 'filter_boost_percentage', 0)
  await retype('pro')
  t.equal((await search(1_024, 100)).status, 200)
  refused(t, await search(1_025), 'limit', 1_024)
  await retype('enterprise')
  t.equal((await search(4_096)).status, 200)
})

test('collections created concurrently are counted together', async (t) => {
  const { ask, engine } = await database(t, 'starter')
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const made = await Promise.all(names.map((name) => ask('POST', '/api/v2/collection', { name, fields: field({}) })))
  t.same(made.map(({ status }) => status).sort(), [200, 200, 200, 403, 403, 403])
  t.equal(engine.database('acme').collections().length, 3)
})

test('objects above the limit of the type are refused before they are written', async (t) => {
  t.match(
    Object.values(tiers).map((tier) => tier?.objectsMax),
    [1_000_000, 10_000_000, 100_000_000, undefined],
  )
  const { ask, engine } = await database(t, 'starter')
  await ask('POST', '/api/v2/collection', { name: 'c', fields: field({}) })
  const collection = engine.database('acme').collection('c')
  const upsert = (id: string) =>
    ask('POST', '/api/v2/collection/c/objects', { objects: [{ id, fields: { v: [1, 0, 0, 0] } }] })
  t.equal((await upsert('a')).status, 200)
  // A million objects would take minutes, and only the number that the collection reports is used.
  Object.defineProperty(collection, 'objects', { configurable: true, get: () => 1_000_000 })
  refused(t, await upsert('b'), 'objects', 1_000_000)
  Reflect.deleteProperty(collection, 'objects')
  t.strictSame(await collection.getMany(['b']), [])
})

function refused(t: Test, answer: Answer, fieldName: string, limit: unknown): void {
  t.match([answer.status, answer.json()], [403, { code: 'quota_exceeded', field: fieldName, limit }], answer.text)
}
