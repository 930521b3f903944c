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
