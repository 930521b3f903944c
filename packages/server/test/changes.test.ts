// The change feed over HTTP: events, resuming, limits, and when streams end.
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { feedStreamsMax } from '../src/limits.ts'
import { until } from './eventually.ts'
import { type RunningApp, runningApp } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]

interface SentEvent {
  readonly id?: number
  readonly event?: string
  readonly data?: Record<string, unknown>
}

interface Stream {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly events: SentEvent[]
  text(): string
  readonly ended: Promise<unknown>
  close(): void
}

async function follow(
  url: string,
  query: string,
  headers: Record<string, string> = {},
  isReading = true,
): Promise<Stream> {
  const sent = httpRequest(`${url}/api/v2/changes${query}`, { headers, agent: false })
  sent.on('error', () => undefined)
  sent.end()
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  reply.on('error', () => undefined)
  const events: SentEvent[] = []
  let [text, rest] = ['', '']
  reply.setEncoding('utf8')
  const onData = (piece: string) => {
    text += piece
    rest += piece
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      events.push(eventOf(rest.slice(0, end)))
      rest = rest.slice(end + 2)
    }
  }
  if (isReading) reply.on('data', onData)
  const ended = new Promise((resolve) => reply.on('close', resolve))
  return {
    status: reply.statusCode ?? 0,
    headers: reply.headers,
    events,
    text: () => text,
    ended,
    close: () => sent.destroy(),
  }
}

function eventOf(block: string): SentEvent {
  const lines = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const [id, data] = [lines.get('id'), lines.get('data')]
  return {
    ...(id !== undefined && { id: Number(id) }),
    ...(lines.has('event') && { event: lines.get('event') as string }),
    ...(data !== undefined && { data: JSON.parse(data) as Record<string, unknown> }),
  }
}

const shown = ({ events }: Stream) => events.filter(({ data }) => data !== undefined)

async function createShop({ send }: Pick<RunningApp, 'send'>, headers: Record<string, string> = {}): Promise<void> {
  const made = await send('POST', '/api/v2/collection', { json: { name: 'shop', fields }, headers })
  if (made.status !== 200 && made.status !== 201) throw new Error(made.text)
}

async function upsert({ send }: Pick<RunningApp, 'send'>, id: string, n: number, headers: Record<string, string> = {}) {
  const json = { objects: [{ id, meta: { a: id }, filter: { n }, fields: { v: [n, 1.5] } }] }
  const written = await send('POST', '/api/v2/collection/shop/objects', { json, headers })
  if (written.status !== 200) throw new Error(written.text)
  return (written.json() as { readonly lsn: number }).lsn
}

test('events have id, kind and data, and a client resumes after the last one', async (t) => {
  const running = await runningApp(t)
  await createShop(running)
  const lsn = await upsert(running, 'x', 1)
  const stream = await follow(running.url, '?from=1')
  t.match(stream, { status: 200, headers: { 'content-type': /^text\/event-stream/, 'cache-control': 'no-store' } })
  await until(() => shown(stream).length >= 2)
  t.match(shown(stream), [
    { event: 'collection-created', data: { collection: 'shop' } },
    { id: lsn, event: 'objects-upserted', data: { lsn, kind: 'objects-upserted', collection: 'shop' } },
  ])
  t.strictSame(shown(stream)[1]?.data?.objects, [{ id: 'x', meta: { a: 'x' }, filter: { n: 1 } }])
  const next = await upsert(running, 'y', 2)
  await until(() => shown(stream).at(-1)?.id === next)
  stream.close()
  const resumed = await follow(running.url, '?from=1&vectors=true', { 'last-event-id': String(lsn) })
  await until(() => shown(resumed).length > 0)
  t.strictSame(shown(resumed)[0]?.data?.objects, [
    { id: 'y', meta: { a: 'y' }, filter: { n: 2 }, fields: { v: [2, 1.5] } },
  ])
  resumed.close()
  await until(() => running.engine.stats().feed.consumers === 0)
})

test('filters by collection, kind and object', async (t) => {
  const running = await runningApp(t)
  await createShop(running)
  for (let n = 0; n < 4; n++) await upsert(running, `o${n}`, n)
  const filter = encodeURIComponent(JSON.stringify([{ n: { $gte: 2 } }]))
  const query = `?from=1&collection=shop,other&kind=objects-upserted&kind=objects-deleted&filter=${filter}`
  const stream = await follow(running.url, query)
  await running.send('DELETE', '/api/v2/collection/shop/objects/o3')
  await until(() => shown(stream).length >= 5)
  t.match(
    shown(stream).map(({ data }) => [(data?.objects as { id: string }[] | undefined)?.map(({ id }) => id), data?.left]),
    [
      [[], ['o0']],
      [[], ['o1']],
      [['o2'], []],
      [['o3'], []],
      [undefined, ['o3']],
    ],
  )
  const none = await follow(running.url, '?from=1&collection=other')
  // The place moves over what is filtered out.
  await until(() => none.events.at(-1)?.id === running.engine.lsnApplied)
  t.strictSame(shown(none), [])
  stream.close()
  none.close()
})

test('what is wrong is named', async (t) => {
  const running = await runningApp(t)
  const refused = async (query: string, wanted: object, headers = {}) =>
    t.match((await running.send('GET', `/api/v2/changes${query}`, { headers })).json(), wanted, query)
  await refused('?from=-1', { code: 'invalid_argument', field: 'from' })
  await refused('?from=x', { code: 'invalid_argument', field: 'from' })
  await refused('?kind=x', { code: 'invalid_argument', field: 'kind[0]', value: 'x' })
  await refused('?collection=a/b', { code: 'invalid_argument', field: 'collection[0]' })
  await refused('?filter=x', { code: 'invalid_json', field: 'filter', value: 'x' })
  await refused('?filter=%7B%7D', { code: 'invalid_filter' })
  await refused('?vectors=1', { code: 'invalid_argument', field: 'vectors' })
  await refused('', { code: 'invalid_argument', field: 'Last-Event-ID', value: 'x' }, { 'last-event-id': 'x' })
  const lost = await running.send('GET', '/api/v2/changes?from=1000')
  t.equal(lost.status, 410)
  t.match(lost.json(), { code: 'feed_position_lost', field: 'from', value: 1000 })
  t.equal((await running.send('HEAD', '/api/v2/changes')).status, 405, 'a stream has no head alone')
})

test('a token sees its database, and its stream ends with it', async (t) => {
  const running = await runningApp(t, { rootToken })
  const root = { authorization: rootToken }
  const made = await running.send('POST', '/api/v2/admin/dbs', {
    json: { db_name: 'music', db_type: 'pro' },
    headers: root,
  })
  const { db_token: token } = made.json() as { readonly db_token: string }
  const music = { authorization: token }
  await createShop(running, { authorization: `root/default:${rootToken}` })
  await createShop(running, music)
  const added = await running.send('POST', '/api/v2/tokens', {
    json: { name: 'reader', token_type: 'r' },
    headers: music,
  })
  const { db_token: reader } = added.json() as { readonly db_token: string }
  const stream = await follow(running.url, '?from=1', { authorization: reader })
  t.equal(stream.status, 200)
  await upsert(running, 'x', 1, music)
  await until(() => shown(stream).length >= 2)
  t.strictSame(
    shown(stream).map(({ event }) => event),
    ['collection-created', 'objects-upserted'],
  )
  await running.send('DELETE', '/api/v2/tokens/reader', { headers: music })
  await stream.ended
  t.equal((await follow(running.url, '', { authorization: reader })).status, 401)
  const other = await follow(running.url, '', music)
  await running.send('DELETE', '/api/v2/admin/dbs/music', { headers: root })
  await other.ended
  t.pass('streams ended')
})

test('at most a tenth of the connections are streams, and they leave room for requests', async (t) => {
  const running = await runningApp(t)
  await createShop(running)
  const streams: Stream[] = []
  while (streams.length < feedStreamsMax) streams.push(await follow(running.url, ''))
  t.ok(streams.every(({ status }) => status === 200))
  const more = await running.send('GET', '/api/v2/changes')
  t.equal(more.status, 503)
  t.match(more.json(), { code: 'too_many_streams', limit: feedStreamsMax })
  const lsn = await upsert(running, 'x', 1)
  await until(() => streams.every((stream) => stream.events.at(-1)?.id === lsn))
  t.match((await running.send('GET', '/metrics')).text, new RegExp(`annal_feed_consumers ${feedStreamsMax}\n`))
  streams.pop()?.close()
  await until(async () => {
    const again = await follow(running.url, '')
    streams.push(again)
    return again.status === 200
  })
  for (const stream of streams) stream.close()
})

test('a cursor keeps the place of a client', async (t) => {
  const running = await runningApp(t)
  await createShop(running)
  const lsn = await upsert(running, 'x', 1)
  const put = (json: object) => running.send('PUT', '/api/v2/cursors/cache', { json })
  t.equal((await running.send('GET', '/api/v2/changes?cursor=cache')).json().code, 'feed_cursor_not_found')
  t.match((await put({ lsn: 1e9 })).json(), { code: 'limit_exceeded', field: 'lsn', value: 1e9 })
  t.match((await put({ lsn: -1 })).json(), { code: 'limit_exceeded', field: 'lsn', value: -1 })
  t.match((await put({ lsn: 'x' })).json(), { code: 'invalid_argument', field: 'lsn' })
  const early = await follow(running.url, '?cursor=cache&from=1')
  await until(() => shown(early).length >= 2)
  t.match((await put({ lsn })).json(), { name: 'cache', lsn, durable: true })
  t.match((await running.send('GET', '/api/v2/cursors')).json(), { cursors: [{ name: 'cache', lsn }] })
  const next = await upsert(running, 'y', 2)
  const late = await follow(running.url, '?cursor=cache&from=1')
  await until(() => shown(late).length > 0)
  t.match(shown(late), [{ id: next }])
  t.match((await running.send('DELETE', '/api/v2/cursors/cache')).json(), { message: 'Cursor deleted' })
  t.equal((await running.send('DELETE', '/api/v2/cursors/cache')).status, 404)
  early.close()
  late.close()
})

test('a client that does not read holds little, and gets everything later', async (t: Test) => {
  const running = await runningApp(t)
  await createShop(running)
  const json = {
    objects: Array.from({ length: 20 }, (_, i) => ({
      id: `o${i}`,
      meta: { a: 'x'.repeat(40_000) },
      fields: { v: [1, 2] },
    })),
  }
  const slow = await follow(running.url, '?from=1', {}, false)
  for (let i = 0; i < 30; i++) await running.send('POST', '/api/v2/collection/shop/objects', { json })
  await sleep(200)
  const { feed, lsnApplied } = running.engine.stats()
  t.equal(feed.consumers, 1)
  t.ok(feed.lagMax > 10, `the consumer is ${feed.lagMax} behind ${lsnApplied}`)
  t.ok(feed.bytes <= 16 * 1024 * 1024)
  slow.close()
  const all = await follow(running.url, '?from=1')
  await until(() => shown(all).length >= 31)
  t.equal(shown(all).length, 31)
  all.close()
})

test('streams end when the server stops', async (t) => {
  const running = await runningApp(t)
  const stream = await follow(running.url, '')
  await running.app.close()
  await stream.ended
  t.pass('it ended')
})
