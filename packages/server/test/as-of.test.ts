// Reads of the past over HTTP: every read that takes as_of, from serving threads too, what is refused, and the progress of a load.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const path = '/api/v2/collection/films'
const accept = 'application/json'
const query = [1, 0, 0, 0]

// biome-ignore lint/suspicious/noExplicitAny: replies of several routes.
type Loose = any

for (const asOfSeconds of [600, 0])
  test(`every read of a collection can be as of a moment, with a window of ${asOfSeconds} s`, async (t) => {
    const { send, engine } = await runningApp(t, { asOfSeconds })
    await send('POST', '/api/v2/collection', {
      json: { name: 'films', fields: [{ name: 'v', type: 'vector', params: { dimension: 4, space_type: 'cosine' } }] },
    })
    const upsert = async (id: string, n: number) =>
      send('POST', `${path}/objects`, { json: { objects: [{ id, filter: { n }, fields: { v: [n, 1, 0, 0] } }] } })
    await upsert('a', 1)
    const { lsn } = (await upsert('b', 2)).json() as { lsn: number }
    const live = async (as_of?: unknown) => {
      const read = async (route: string, json: object) => {
        const reply = await send('POST', `${path}/${route}`, { json: { ...json, ...(as_of ? { as_of } : {}) }, accept })
        t.equal(reply.status, 200, `${route}: ${reply.text}`)
        const { as_of: moment, cursor: _, lsn: _lsn, ...rest } = reply.json() as Loose
        if (as_of) {
          t.equal((moment ?? rest.searches[0].as_of).lsn, lsn, route)
          t.equal(JSON.parse(String(reply.headers.get('x-annal-as-of'))).lsn, lsn)
        }
        return JSON.parse(JSON.stringify(rest, (key, value) => (key === 'as_of' || key === 'lsn' ? undefined : value)))
      }
      const search = { fields: { v: { query, limit: 5 } }, exact: true, include_vectors: true }
      return [
        await read('search', search),
        await read('search/batch', { searches: [search, search] }),
        await read('objects/query', { ids: ['a', 'b', 'c'] }),
        await read('objects/scroll', { limit: 10 }),
        await read('objects/scroll', { limit: 10, include_vectors: false }),
        await read('objects/count', {}),
        await read('facets', { key: 'n' }),
      ]
    }
    const then = await live()
    await upsert('a', 7)
    await upsert('c', 8)
    await send('DELETE', `${path}/objects/b`)
    t.notSame(await live(), then)
    t.same(await live({ lsn }), then)
    const recall = await send('GET', `${path}/recall?as_of=${lsn}&wait=true`)
    t.match(recall.json(), { sample: 2, as_of: { lsn } })

    const page = (await send('POST', `${path}/objects/scroll`, { json: { limit: 1, as_of: { lsn } } })).json() as Loose
    const rest = (
      await send('POST', `${path}/objects/scroll`, { json: { limit: 1, cursor: page.cursor } })
    ).json() as Loose
    t.same([page.objects[0].id, rest.objects[0].id, rest.as_of.lsn], ['a', 'b', lsn], 'the cursor keeps its moment')

    const { moments } = (await send('GET', '/api/v2/status/asof')).json()
    t.match(moments, asOfSeconds === 0 ? [{ collection: 'films', lsn, status: 'loaded' }] : [])
    t.equal((moments as unknown[]).length, asOfSeconds === 0 ? 1 : 0, 'a window answers without a load')
    t.ok(asOfSeconds === 0 || engine.stats().asOf.windowReads > 10)
    await send('DELETE', path)
    t.same(await live({ lsn }), then, 'a deleted collection')
    t.equal(engine.stats().asOf.loaded, 1)
    const { text } = await send('GET', '/metrics')
    t.match(text, /annal_asof_loaded 1/)
    t.match(text, /annal_asof_window_reads_total \d+/)
  })

test('wrong moments are refused with field, value, and limit', async (t) => {
  const { send, engine } = await runningApp(t)
  await send('POST', '/api/v2/collection', {
    json: { name: 'films', fields: [{ name: 'v', type: 'vector', params: { dimension: 4, space_type: 'cosine' } }] },
  })
  const newest = engine.lsnApplied
  const bodies: readonly [string, object][] = [
    ['search', { fields: { v: { query } } }],
    ['search/batch', { searches: [{ fields: { v: { query } } }] }],
    ['objects/query', { ids: ['a'] }],
    ['objects/scroll', {}],
    ['objects/count', {}],
    ['facets', { key: 'n' }],
  ]
  const wrong: readonly [object, object][] = [
    [{ as_of: { lsn: newest + 5 } }, { field: 'as_of.lsn', value: newest + 5, limit: newest }],
    [{ as_of: { lsn: 0 } }, { field: 'as_of.lsn', value: 0, limit: 1 }],
    [{ as_of: { lsn: '1' } }, { field: 'as_of.lsn' }],
    [{ as_of: { time: 'noon' } }, { field: 'as_of.time' }],
    [{ as_of: { time: '2999-01-01' } }, { field: 'as_of.time' }],
    [{ as_of: { lsn: 1, time: '2020-01-01' } }, { field: 'as_of' }],
    [{ as_of: 5 }, { field: 'as_of', value: 5 }],
    [
      { as_of: { lsn: newest }, wait: 61 },
      { code: 'limit_exceeded', field: 'wait', value: 61, limit: 60 },
    ],
    [
      { as_of: { lsn: newest }, wait: 'long' },
      { field: 'wait', value: 'long' },
    ],
  ]
  for (const [route, body] of bodies)
    for (const [more, expected] of wrong) {
      const reply = await send('POST', `${path}/${route}`, { json: { ...body, ...more }, accept })
      t.equal(reply.status, 400, `${route} ${JSON.stringify(more)}`)
      t.match(reply.json(), { code: 'invalid_argument', ...expected })
    }
  const missing = await send('POST', '/api/v2/collection/nothing/objects/count', { json: { as_of: { lsn: newest } } })
  t.match(missing.json(), { code: 'collection_not_found' })
  for (const [name, value] of [
    ['as_of', 'noon'],
    ['as_of', '0'],
    ['wait', '99'],
    ['wait', 'long'],
  ] as const)
    t.equal((await send('GET', `${path}/recall?as_of=${newest}&${name}=${value}`)).status, 400, `${name}=${value}`)
})

test('a moment that is not loaded yet is 202, with the place of its progress', async (t) => {
  const { send } = await runningApp(t, { asOfSeconds: 0 })
  await send('POST', '/api/v2/collection', {
    json: { name: 'films', fields: [{ name: 'v', type: 'vector', params: { dimension: 4, space_type: 'cosine' } }] },
  })
  const object = { id: 'a', fields: { v: query } }
  const { lsn } = (await send('POST', `${path}/objects`, { json: { objects: [object] } })).json() as { lsn: number }
  await send('POST', `${path}/objects`, { json: { objects: [{ ...object, id: 'b' }] } })
  const count = (wait: unknown) => send('POST', `${path}/objects/count`, { json: { as_of: { lsn }, wait } })
  const early = await count(0)
  t.equal(early.status, 202)
  t.match(early.json(), { code: 'moment_loading', field: 'as_of' })
  t.equal(early.headers.get('location'), '/api/v2/status/asof')
  t.equal(early.headers.get('retry-after'), '1')
  t.match((await count(true)).json(), { count: 1, as_of: { lsn } })
  t.match((await count(false)).json(), { count: 1 }, 'it is loaded now')
})
