// Aliases and branches over HTTP: both versions take them, bad input is refused by name, and no read after a switch is answered by the old
// collection, on any serving thread, while others read and write.
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { type Answer, type RunningApp, runningApp } from './running-app.ts'

const accept = 'application/json'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
const vector = [1, 2]
const queryBody = { fields: { dense: { query: vector, limit: 1 } } }
const switches = process.env.ANNAL_LONG === '1' ? 2_000 : 30

/** Each collection has one object, whose id is its name. */
async function withCollections(t: Parameters<typeof runningApp>[0], changes = {}): Promise<RunningApp> {
  const running = await runningApp(t, changes)
  for (const name of ['one', 'two']) {
    await running.send('POST', '/api/v2/collection', { json: { name, fields } })
    const json = { objects: [{ id: name, fields: { dense: vector } }] }
    await running.send('POST', `/api/v2/collection/${name}/objects`, { json })
  }
  return running
}

function idsIn({ text }: Answer): string[] {
  return ['one', 'two'].filter((id) => text.includes(`"${id}"`))
}

test('an alias is created, switched, listed, and deleted, and every route takes it', async (t) => {
  const { send } = await withCollections(t)
  const made = await send('PUT', '/api/v2/alias/live', { json: { collection: 'one' } })
  t.match([made.status, made.json()], [200, { name: 'live', collection: 'one', lsn: Number, durable: true }])
  const list = await send('GET', '/api/v2/alias')
  t.match(list.json(), { aliases: [{ name: 'live', collection: 'one', lsn: made.json().lsn, changed_at: String }] })
  const reads: readonly (readonly [method: string, route: string, json?: object])[] = [
    ['GET', '/api/v2/collection/live'],
    ['POST', '/api/v2/collection/live/search', queryBody],
    ['POST', '/api/v2/collection/live/search/batch', { searches: [queryBody] }],
    ['POST', '/api/v2/collection/live/objects/query', { ids: ['one', 'two'] }],
    ['POST', '/api/v2/collection/live/objects/scroll', {}],
    ['GET', '/api/v1/index/live/info'],
    ['POST', '/api/v1/index/live/search', { vector, k: 1 }],
  ]
  for (const target of ['one', 'two']) {
    const { lsn } = (await send('PUT', '/api/v2/alias/live', { json: { collection: target } })).json()
    for (const [method, route, json] of reads) {
      const reply = await send(method, route, json === undefined ? { accept } : { json, accept })
      t.match([reply.status, idsIn(reply)], [200, [target]], `${method} ${route}: ${reply.text}`)
    }
    for (const [id, status] of [
      [target, 200],
      [target === 'one' ? 'two' : 'one', 404],
    ] as const)
      t.equal((await send('POST', '/api/v1/index/live/vector/get', { json: { id } })).status, status)
    const named = await send('POST', '/api/v2/collection/live/search', { json: { ...queryBody, min_lsn: lsn }, accept })
    t.strictSame(idsIn(named), [target])
  }
  const inserted = await send('POST', '/api/v1/index/live/vector/insert', {
    msgpack: [['more', new Uint8Array(0), '{"x":1}', 1, vector]],
  })
  t.equal(inserted.status, 200, inserted.text)
  const updated = await send('POST', '/api/v2/collection/live/filters', {
    json: { updates: [{ id: 'more', filter: {} }] },
  })
  t.match(updated.json(), { updated: 1 })
  t.equal((await send('DELETE', '/api/v2/collection/live/objects/more')).status, 200)
  t.equal((await send('DELETE', '/api/v1/index/live/vector/two/delete')).status, 200)
  t.match((await send('GET', '/api/v2/collection/two')).json(), { total_elements: 0 })
  const schedule = await send('PUT', '/api/v2/collection/live/schedule', { json: { every_hours: 24 } })
  t.match(schedule.json(), { collection: 'two' })
  t.match((await send('DELETE', '/api/v2/collection/live/schedule')).json(), { deleted: true })
  const refused = await send('DELETE', '/api/v2/collection/two')
  t.match([refused.status, refused.json()], [409, { code: 'collection_has_aliases', aliases: ['live'] }])
  t.match((await send('DELETE', '/api/v2/alias/live')).json(), { lsn: Number })
  t.equal((await send('GET', '/api/v2/collection/live')).status, 404)
  t.equal((await send('DELETE', '/api/v2/collection/two')).status, 200)
})

test('a branch is made, listed, and promoted', async (t) => {
  const { send } = await withCollections(t)
  const { lsn } = (await send('GET', '/api/v2/collection/one')).json()
  await send('POST', '/api/v2/collection/one/objects', {
    json: { objects: [{ id: 'two', fields: { dense: vector } }] },
  })
  const now = await send('POST', '/api/v2/collection/one/branch', { json: { name: 'now' } })
  t.match([now.status, now.json()], [201, { collection: 'now', content_lsn: Number, lsn: Number }])
  const past = await send('POST', '/api/v2/collection/one/branch', { json: { name: 'past', as_of: { lsn } } })
  t.match([past.status, past.json()], [201, { collection: 'past', content_lsn: lsn }])
  const { branches } = (await send('GET', '/api/v2/collection/past/branches')).json() as { branches: object[] }
  t.match(branches, [
    { name: 'one', parent_id: null, parent_lsn: null, objects: 2 },
    { name: 'now', parent_id: 1, objects: 2 },
    { name: 'past', parent_id: 1, parent_lsn: lsn, objects: 1 },
  ])
  const promoted = await send('POST', '/api/v2/collection/past/promote', { json: { over: 'one', keep_as: 'old' } })
  t.match([promoted.status, promoted.json()], [200, { collection: 'one', kept_as: 'old', lsn: Number }])
  t.match((await send('GET', '/api/v2/collection/one')).json(), { name: 'one', total_elements: 1 })
  t.match((await send('GET', '/api/v2/collection/old')).json(), { name: 'old', total_elements: 2 })
  t.equal((await send('GET', '/api/v2/collection/past')).status, 404)
  const { events } = (await send('GET', '/api/v2/log/events')).json() as { events: object[] }
  t.match(events.at(-1), { type: 'collection-promoted', collection: 'one', kept_as: 'old' })
})

test('bad input names the field, and changes nothing', async (t) => {
  const { send, engine } = await withCollections(t)
  await send('PUT', '/api/v2/alias/live', { json: { collection: 'one' } })
  const before = engine.stats().lsnApplied
  const cases: readonly (readonly [method: string, route: string, json: unknown, status: number, reply: object])[] = [
    ['PUT', '/alias/x', {}, 400, { code: 'invalid_argument', field: 'collection' }],
    ['PUT', '/alias/x', { collection: 7 }, 400, { code: 'invalid_argument', field: 'collection' }],
    ['PUT', '/alias/x', { collection: 'none' }, 404, { code: 'collection_not_found', field: 'collection' }],
    ['PUT', '/alias/x', { collection: 'live' }, 400, { code: 'invalid_argument', field: 'collection' }],
    ['PUT', '/alias/one', { collection: 'two' }, 409, { code: 'collection_exists', field: 'name' }],
    ['PUT', '/alias/a%20b', { collection: 'one' }, 400, { code: 'invalid_argument', field: 'name' }],
    ['DELETE', '/alias/none', undefined, 404, { code: 'alias_not_found', field: 'name' }],
    ['POST', '/collection', { name: 'live', fields }, 409, { code: 'alias_exists', field: 'name' }],
    ['POST', '/collection/one/branch', {}, 400, { code: 'invalid_argument', field: 'name' }],
    ['POST', '/collection/one/branch', { name: 'live' }, 409, { code: 'alias_exists' }],
    ['POST', '/collection/one/branch', { name: 'two' }, 409, { code: 'collection_exists' }],
    ['POST', '/collection/none/branch', { name: 'x' }, 404, { code: 'collection_not_found' }],
    ['POST', '/collection/one/branch', { name: 'x', as_of: {} }, 400, { code: 'invalid_argument', field: 'as_of' }],
    [
      'POST',
      '/collection/one/branch',
      { name: 'x', as_of: { lsn: -1 } },
      400,
      { code: 'limit_exceeded', field: 'as_of.lsn' },
    ],
    ['POST', '/collection/one/branch', { name: 'x', as_of: { lsn: 1, time: 2 } }, 400, { field: 'time' }],
    ['POST', '/collection/one/branch', { name: 'x', as_of: { time: 'no' } }, 400, { field: 'time' }],
    ['POST', '/collection/two/promote', { over: 'one' }, 400, { code: 'invalid_argument', field: 'keep_as' }],
    ['POST', '/collection/two/promote', { over: 'live', keep_as: 'x' }, 400, { field: 'over' }],
    ['POST', '/collection/two/promote', { over: 'none', keep_as: 'x' }, 404, { field: 'over' }],
    ['POST', '/collection/two/promote', { over: 'one', keep_as: 'live' }, 409, { code: 'alias_exists' }],
    ['GET', '/collection/none/branches', undefined, 404, { code: 'collection_not_found' }],
  ]
  for (const [method, route, json, status, expected] of cases) {
    const reply = await send(method, `/api/v2${route}`, json === undefined ? {} : { json })
    t.match(
      [reply.status, reply.json()],
      [status, expected],
      `${method} ${route} ${JSON.stringify(json)}: ${reply.text}`,
    )
  }
  t.equal(engine.stats().lsnApplied, before)
})

test('after a switch no thread answers from the old collection, and no request fails', async (t) => {
  const { send } = await withCollections(t, { serverThreads: 3 })
  await send('PUT', '/api/v2/alias/live', { json: { collection: 'one' } })
  /** Undefined while a switch is running. */
  let settled: string | undefined = 'one'
  let begun = 0
  let isOver = false
  const faults: string[] = []
  const counts = { checked: 0, all: 0 }
  const read = async (route: string, json: object): Promise<void> => {
    const [expected, at] = [settled, begun]
    const reply = await send('POST', route, { json, accept })
    counts.all++
    if (reply.status !== 200) faults.push(`${route}: ${reply.status} ${reply.text}`)
    if (expected === undefined || at !== begun) return
    counts.checked++
    if (idsIn(reply).join() !== expected) faults.push(`${route} was answered by ${idsIn(reply)}, not ${expected}`)
  }
  const readers = [
    ['/api/v2/collection/live/search', queryBody],
    ['/api/v1/index/live/search', { vector, k: 1 }],
    ['/api/v2/collection/live/objects/query', { ids: ['one', 'two'] }],
    ['/api/v2/collection/live/objects/scroll', { limit: 1 }],
  ] as const
  const loads = [...readers, ...readers].map(async ([route, json]) => {
    while (!isOver) await read(route, json)
  })
  const writing = (async () => {
    for (let i = 0; !isOver; i++) {
      const json = { objects: [{ id: `z${i}`, fields: { dense: [900, 900] } }] }
      const reply = await send('POST', '/api/v2/collection/live/objects', { json })
      if (reply.status !== 200) faults.push(`upsert: ${reply.status} ${reply.text}`)
    }
  })()
  for (let i = 0; i < switches && faults.length === 0; i++) {
    const target: string = settled === 'one' ? 'two' : 'one'
    begun++
    settled = undefined
    const reply = await send('PUT', '/api/v2/alias/live', { json: { collection: target } })
    if (reply.status !== 200) faults.push(`switch: ${reply.status} ${reply.text}`)
    settled = target
    for (const [route, json] of readers) await read(route, json)
    await delay(2)
  }
  isOver = true
  await Promise.all([...loads, writing])
  t.strictSame(faults.slice(0, 5), [])
  t.ok(counts.checked >= switches, `${counts.checked} of ${counts.all} replies were compared`)
})
