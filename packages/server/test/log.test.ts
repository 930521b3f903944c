// The history over HTTP: what happened, when, and how to restore it; without access to other databases.
import { type Test, test } from 'tap'
import { type RunningApp, runningApp } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'

interface LoggedEvent {
  readonly lsn: number
  readonly time: string
  readonly type: string
  readonly collection?: string
  readonly objects?: number
  readonly ids?: readonly string[]
  readonly author?: { readonly token: string; readonly actor: string }
}

type Ask = (method: string, route: string, json?: unknown) => Promise<Record<string, unknown>>

function senderWith(running: RunningApp, token?: string): Ask {
  return async (method, route, json) => {
    const headers = token === undefined ? {} : { authorization: token }
    const answer = await running.send(method, `/api/v2${route}`, { headers, ...(json === undefined ? {} : { json }) })
    if (answer.status >= 300) throw new Error(`${method} ${route}: ${answer.status} ${answer.text}`)
    return answer.json()
  }
}

const fields = [{ name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } }]
const object = (id: string) => ({ id, fields: { v: [1, 2, 3, 4] } })

async function writeShop(ask: Ask): Promise<void> {
  await ask('POST', '/collection', { name: 'shop', fields })
  await ask('POST', '/collection/shop/objects', { objects: ['a', 'b', 'c'].map(object) })
  await ask('DELETE', '/collection/shop/objects/b')
  await ask('POST', '/collection/shop/filters', { updates: [{ id: 'a', filter: { n: 1 } }] })
}

const events = async (ask: Ask, query = '') =>
  (await ask('GET', `/log/events${query}`)).events as readonly LoggedEvent[]

test('plain: events, activity, and restoring a deleted collection', async (t) => {
  const running = await runningApp(t)
  const ask = senderWith(running)
  await writeShop(ask)
  const listedEvents = await events(ask)
  t.match(
    listedEvents.map(({ type, collection, objects }) => [type, collection, objects]),
    [
      ['collection-created', 'shop', undefined],
      ['objects-upserted', 'shop', 3],
      ['objects-deleted', 'shop', 1],
      ['filters-replaced', 'shop', 1],
    ],
  )
  t.strictSame(listedEvents[1]?.ids, ['a', 'b', 'c'])
  t.equal(new Date(listedEvents[0]?.time ?? '').toISOString(), listedEvents[0]?.time)
  t.strictSame(await events(ask, `?from=${listedEvents[2]?.lsn}&limit=1`), [listedEvents[2]])
  t.strictSame(await events(ask, `?before=${listedEvents[2]?.lsn}&limit=1`), [listedEvents[1]])
  t.equal((await events(ask, `?since=${listedEvents[0]?.time}&limit=2`)).length, 2)
  const page = await ask('GET', '/log/events?from=0&limit=3')
  t.match(page, { complete: true, next: listedEvents[3]?.lsn, previous: null })

  const activity = await ask('GET', '/log/activity?buckets=1')
  const buckets = activity.buckets as readonly Record<string, number>[]
  const total = (part: string) => buckets.reduce((sum, bucket) => sum + (bucket[part] ?? 0), 0)
  t.strictSame(['records', 'written', 'deleted', 'refiltered', 'changes'].map(total), [4, 3, 1, 1, 1])
  t.equal(activity.restorable_from, null, 'without an archive nothing is promised')

  await ask('DELETE', '/collection/shop')
  const restored = await ask('POST', '/collection/shop/restore', {
    target_collection_name: 'shop_again',
    lsn: listedEvents[1]?.lsn,
  })
  t.match(restored, { collection: 'shop_again', durable: true })
  t.match(await ask('GET', '/collection/shop_again'), { total_elements: 3 })
  t.equal((await events(ask)).at(-1)?.type, 'collection-restored')
})

async function refused(t: Test, running: RunningApp, route: string, status: number, code: string): Promise<void> {
  const answer = await running.send('GET', `/api/v2${route}`)
  t.equal(answer.status, status, route)
  t.match(answer.json(), { code }, route)
}

test('an invalid position in the log is refused', async (t) => {
  const running = await runningApp(t)
  await refused(t, running, '/log/events?from=-1', 400, 'invalid_argument')
  await refused(t, running, '/log/events?from=1&before=2', 400, 'invalid_argument')
  await refused(t, running, '/log/events?since=yesterday', 400, 'invalid_argument')
  await refused(t, running, '/log/events?limit=501', 400, 'limit_exceeded')
  await refused(t, running, '/log/activity?buckets=0', 400, 'limit_exceeded')
  await refused(t, running, '/log/activity?to=x', 400, 'invalid_argument')
  const json = { target_collection_name: 'x' }
  const answer = await running.send('POST', '/api/v2/collection/none/restore', { json })
  t.match(answer.json(), { code: 'invalid_argument', field: 'lsn' })
  const absent = await running.send('POST', '/api/v2/collection/none/restore', { json: { ...json, lsn: 0 } })
  t.equal(absent.status, 404)
})

test('a database sees and restores its own history only', async (t) => {
  const running = await runningApp(t, { rootToken })
  const root = senderWith(running, rootToken)
  const tokens = []
  for (const name of ['mine', 'theirs'])
    tokens.push(String((await root('POST', '/admin/dbs', { db_name: name, db_type: 'enterprise' })).db_token))
  const [mine, theirs] = tokens.map((token) => senderWith(running, token)) as [Ask, Ask]
  await writeShop(mine)
  await theirs('POST', '/collection', { name: 'hidden', fields })
  await theirs('POST', '/collection/hidden/objects', { objects: [object('secret')] })
  const hiddenLsn = (await events(theirs)).at(-1)?.lsn
  await theirs('DELETE', '/collection/hidden')
  const reader = String((await mine('POST', '/tokens', { name: 'looker', token_type: 'r' })).db_token)

  const listedEvents = await events(senderWith(running, reader))
  t.strictSame(
    listedEvents.map(({ type }) => type),
    ['database-created', 'collection-created', 'objects-upserted', 'objects-deleted', 'filters-replaced', 'token-put'],
  )
  t.notMatch(JSON.stringify(listedEvents), /hidden|theirs|secret/)
  t.notMatch(JSON.stringify(listedEvents), new RegExp(reader.split(':')[1] ?? ''))
  t.strictSame(await events(mine, '?collection=hidden'), [])
  const activity = (await mine('GET', '/log/activity')).buckets as readonly { records: number; lsn_last: number }[]
  t.equal(
    activity.reduce((sum, { records }) => sum + records, 0),
    listedEvents.length,
  )
  const json = { target_collection_name: 'stolen', lsn: hiddenLsn }
  const answer = await running.send('POST', '/api/v2/collection/hidden/restore', {
    json,
    headers: { authorization: tokens[0] ?? '' },
  })
  t.match([answer.status, answer.json().code], [404, 'collection_not_found'])
  await theirs('POST', '/collection/hidden/restore', { target_collection_name: 'back', lsn: hiddenLsn })
  t.match(await theirs('GET', '/collection/back'), { total_elements: 1 })
})

test('writes are kept with their tokens and actors', async (t) => {
  const json = { objects: [object('a')] }
  for (const [options, token, name] of [
    [{}, undefined, undefined],
    [{ authToken: 'the-token-of-the-owner' }, 'the-token-of-the-owner', 'owner'],
  ] as const) {
    const running = await runningApp(t, options)
    const ask = senderWith(running, token)
    await ask('POST', '/collection', { name: 'shop', fields })
    await ask('POST', '/collection/shop/objects', json)
    const headers = { 'x-annal-actor': 'agent 7', ...(token !== undefined && { authorization: token }) }
    const path = '/api/v2/collection/shop/objects'
    t.equal((await running.send('POST', path, { headers, json })).status, 200)
    t.equal((await running.send('DELETE', `${path}/a`, { headers })).status, 200)
    const alone = name === undefined ? undefined : { token: name, actor: '' }
    const both = { token: name ?? '', actor: 'agent 7' }
    t.strictSame(
      (await events(ask)).map(({ author }) => author),
      [alone, alone, both, both],
    )
  }
})

test('in enterprise mode, the name of the token is kept', async (t) => {
  const running = await runningApp(t, { rootToken })
  const root = senderWith(running, rootToken)
  const token = String((await root('POST', '/admin/dbs', { db_name: 'acme', db_type: 'enterprise' })).db_token)
  const ask = senderWith(running, token)
  await ask('POST', '/tokens', { name: 'second', token_type: 'rw' })
  await ask('POST', '/collection', { name: 'shop', fields })
  await root('DELETE', '/admin/dbs/acme/tokens/second')
  const authors = (await events(ask)).map(({ type, author }) => [type, author?.token])
  t.strictSame(authors.slice(0, 2), [
    ['database-created', 'root'],
    ['token-put', authors[2]?.[1]],
  ])
  t.strictSame(authors.at(-1), ['token-dropped', 'root'])
  t.not(authors[2]?.[1], 'root')
})

test('an actor that no record may have is refused with its limit', async (t) => {
  const running = await runningApp(t)
  const ask = senderWith(running)
  await ask('POST', '/collection', { name: 'shop', fields })
  for (const actor of ['a'.repeat(129), 'a\u00e4']) {
    const refused = await running.send('DELETE', '/api/v2/collection/shop', { headers: { 'x-annal-actor': actor } })
    t.equal(refused.status, 400, JSON.stringify(actor))
    t.match(refused.json(), { code: 'invalid_argument', field: 'X-Annal-Actor', limit: 128 })
  }
  t.equal((await events(ask)).length, 1)
})

test('versions, differences, and an undo of objects', async (t) => {
  const running = await runningApp(t)
  const ask = senderWith(running)
  await writeShop(ask)
  const lsn = Number((await ask('POST', '/collection/shop/objects', { objects: [object('d')] })).lsn)
  await ask('POST', '/collection/shop/filters', { updates: [{ id: 'a', filter: { n: 2 } }] })
  await ask('DELETE', '/collection/shop/objects/c')
  const page = await ask('GET', '/collection/shop/history?id=a&limit=2')
  t.match(page, { complete: true, versions: [{ kind: 'created', exists: true }, { kind: 'filter_updated' }] })
  const rest = await ask('GET', `/collection/shop/history?id=a&from=${page.next}`)
  const changes = { meta: {}, filter: { n: { before: 1, after: 2 } }, fields: [] }
  t.match(rest, { versions: [{ kind: 'filter_updated', changes }], next: null })
  const lines = async (query: string) => {
    const { text } = await running.send('GET', `/api/v2/collection/shop/diff?${query}`)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as object)
  }
  const different = [
    { id: 'a', change: 'changed' },
    { id: 'c', change: 'removed' },
  ]
  t.strictSame(await lines(`from=${lsn}`), different)
  const undo = { ids: ['a', 'c', 'x'], as_of: { lsn } }
  t.match(await ask('POST', '/collection/shop/undo', { ...undo, dry_run: true }), { restored: 2, deleted: 0 })
  t.strictSame(await lines(`from=${lsn}`), different)
  t.match(await ask('POST', '/collection/shop/undo', undo), { restored: 2, deleted: 0, as_of_lsn: lsn, durable: true })
  t.strictSame(await lines(`from=${lsn}`), [])
  t.match(await ask('GET', '/collection/shop/history?id=c'), {
    versions: [{}, {}, { kind: 'restored', as_of_lsn: lsn }],
  })
  for (const [json, field] of [
    [{ as_of: { lsn } }, 'ids'],
    [{ ids: ['a'], as_of: {} }, 'as_of'],
    [{ ids: ['a'], filter: [{ n: { $eq: 1 } }], as_of: { lsn } }, 'ids'],
    [{ ids: ['a'], as_of: { time: 'soon' } }, 'as_of.time'],
  ] as const) {
    const refusal = await running.send('POST', '/api/v2/collection/shop/undo', { json })
    t.equal(refusal.status, 400)
    t.match(refusal.json(), { code: 'invalid_argument', field })
  }
  await refused(t, running, '/collection/shop/diff?from=x', 400, 'invalid_argument')
  await refused(t, running, `/collection/shop/diff?from=${lsn}&to=1`, 400, 'invalid_argument')
  await refused(t, running, '/collection/shop/history?id=a&limit=501', 400, 'limit_exceeded')
  await refused(t, running, '/collection/nope/history?id=a', 404, 'collection_not_found')
})
