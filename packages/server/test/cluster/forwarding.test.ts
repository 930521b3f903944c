// A write on a node that does not lead: the leader answers, and the client sees no difference. The nodes are real servers in this process;
// what they know about the cluster is set by the test (http-nodes.ts).
import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import tap, { test } from 'tap'
import { EngineSlot } from '../../src/engine-slot.ts'
import { createApp } from '../../src/index.ts'
import { send } from '../running-app.ts'
import { FakeView, type HttpNode, startNodes } from './http-nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const accept = 'application/json'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const things = '/api/v2/collection/things'

function objects(from: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({ id: `o${from + i}`, fields: { dense: [from + i, 1] } }))
}

async function createThings({ send }: HttpNode): Promise<void> {
  const reply = await send('POST', '/api/v2/collection', { json: { name: 'things', fields } })
  if (reply.status !== 200) throw new Error(reply.text)
}

for (const serverThreads of [1, 2])
  test(`with ${serverThreads} serving threads, a follower takes every write, and shows it at once`, async (t) => {
    const { nodes } = await startNodes(t, { serverThreads })
    const [leader, follower] = nodes as [HttpNode, HttpNode]
    await createThings(follower)
    const upserted = await follower.send('POST', `${things}/objects`, { json: { objects: objects(0, 3) }, accept })
    t.match([upserted.status, upserted.json()], [200, { upserted: 3, durable: true }], upserted.text)
    for (const { send } of [follower, leader]) {
      const found = await send('POST', `${things}/search`, { json: { fields: { dense: { query: [0, 1] } } }, accept })
      t.equal(found.status, 200)
      t.match(found.headers.get('annal-lag'), /^\d+$/)
      t.match(found.headers.get('annal-staleness'), /^\d+$/)
      const read = await send('POST', `${things}/objects/query`, { json: { ids: ['o0', 'o2'] }, accept })
      t.match(read.text, /"o0".*"o2"/)
    }
    const index = { index_name: 'docs', dim: 2, space_type: 'l2', precision: 'float32' }
    const created = await follower.send('POST', '/api/v1/index/create', { json: index })
    t.strictSame([created.status, created.text], [200, 'Index created successfully'])
    const packed = [['a', Buffer.from('{}'), '{}', null, [1, 2]]]
    const inserted = await follower.send('POST', '/api/v1/index/docs/vector/insert', { msgpack: packed })
    t.strictSame([inserted.status, inserted.text, inserted.headers.get('content-type')], [200, '', null])
    const there = await follower.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'a' }, accept })
    t.equal(there.status, 200, there.text)
    const gone = await follower.send('DELETE', '/api/v1/index/docs/vector/a/delete', { type: 'application/json' })
    t.strictSame([gone.status, gone.text], [200, 'Vector deleted successfully'])
    const missing = await follower.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'a' } })
    t.equal(missing.status, 404, 'the follower has applied the deletion')
    const byFilter = await follower.send('DELETE', `${things}/objects`, { json: { filter: [{ a: { $eq: 1 } }] } })
    t.match(byFilter.json(), { deleted: 0 }, 'DELETE with a body')
  })

test('replies are those of the leader, byte for byte, errors included', async (t) => {
  const { nodes } = await startNodes(t)
  const [leader, follower] = nodes as [HttpNode, HttpNode]
  await createThings(leader)
  const requests = [
    ['POST', '/api/v2/collection', { name: 'things', fields }],
    ['POST', `${things}/objects`, { objects: [{ id: '', fields: { dense: [1, 2] } }] }],
    ['POST', '/api/v2/collection/absent/objects', { objects: objects(0, 1) }],
    ['DELETE', `${things}/objects/absent`, undefined],
    ['POST', `${things}/clone`, { target_collection_name: 'copy' }],
  ] as const
  const names = (headers: Headers) => [...headers.keys()].filter((name) => name !== 'keep-alive').sort()
  for (const [method, route, json] of requests) {
    const answers = [leader, follower].map(({ send }) => send(method, route, { accept, ...(json && { json }) }))
    const [there, here] = await Promise.all(answers)
    if (there === undefined || here === undefined) throw new Error('no reply')
    const withoutId = (text: string) => text.replace(/"request_id":"[^"]*"/, '')
    t.equal(here.status, there.status, `${method} ${route}`)
    t.equal(withoutId(here.text), withoutId(there.text))
    t.strictSame(names(here.headers), names(there.headers))
    t.equal(here.json().request_id, here.headers.get('x-request-id') ?? undefined, 'the id of the leader')
  }
})

test('a request key makes a write happen once, wherever it is sent', async (t) => {
  const { nodes, lead } = await startNodes(t)
  const [first, second] = nodes as [HttpNode, HttpNode]
  await createThings(second)
  const key = { headers: { 'Idempotency-Key': 'k1' }, accept }
  const json = { objects: objects(0, 2) }
  const written = await second.send('POST', `${things}/objects`, { json, ...key })
  t.equal(written.status, 200, written.text)
  await lead(1)
  for (const { send } of [first, second]) {
    const again = await send('POST', `${things}/objects`, { json, ...key })
    t.equal(again.text, written.text)
    t.equal(again.headers.get('idempotency-replayed'), 'true')
  }
  const other = await first.send('POST', `${things}/objects`, { json: { objects: objects(5, 1) }, ...key })
  t.match([other.status, other.json().code], [422, 'request_key_reused'])
})

test('a client that follows the leader itself, and a node that took another for the leader, get 421', async (t) => {
  const { nodes } = await startNodes(t)
  const [leader, follower] = nodes as [HttpNode, HttpNode]
  await createThings(leader)
  const json = { objects: objects(0, 1) }
  for (const headers of [{ 'Annal-Forward': 'never' }, { 'Annal-Forwarded-By': 'node-9' }]) {
    const refused = await follower.send('POST', `${things}/objects`, { json, headers })
    t.match([refused.status, refused.json()], [421, { code: 'not_leader', leader: leader.url }])
    t.equal(refused.headers.get('annal-leader'), leader.url)
    t.equal(refused.headers.get('retry-after'), null)
    t.equal((await leader.send('POST', `${things}/objects`, { json, headers })).status, 200, 'the leader answers')
  }
  follower.view.known = undefined
  const headers = { 'Annal-Forward': 'never' }
  const nobody = await follower.send('POST', `${things}/objects`, { json, headers })
  t.match([nobody.status, nobody.json().code, nobody.headers.get('annal-leader')], [421, 'not_leader', null])
  const unknown = await follower.send('POST', `${things}/objects`, { json })
  t.match([unknown.status, unknown.json().code, unknown.headers.get('retry-after')], [503, 'not_leader', '1'])
  t.equal((await follower.send('POST', `${things}/objects/query`, { json: { ids: ['o0'] } })).status, 200)
})

test('nodes that take each other for the leader do not forward in a circle', async (t) => {
  const { nodes } = await startNodes(t)
  const [a, b] = nodes as [HttpNode, HttpNode]
  a.view.role = 'follower'
  a.view.known = { node: b.name, url: b.url }
  b.view.known = { node: a.name, url: a.url }
  for (const { send } of [a, b]) {
    const refused = await send('POST', '/api/v2/collection', { json: { name: 'things', fields } })
    t.match([refused.status, refused.json().code], [503, 'not_leader'])
  }
  b.view.known = { node: b.name, url: b.url }
  const itself = await b.send('POST', '/api/v2/collection', { json: { name: 'things', fields } })
  t.match([itself.status, itself.json().code], [503, 'not_leader'], 'a node that takes itself for the leader, too')
})

test('a leader that was deposed within a write leaves it to the next one', async (t) => {
  const { nodes } = await startNodes(t)
  const [first, second] = nodes as [HttpNode, HttpNode]
  await createThings(second)
  // Its engine refuses, though it has not learned yet that it does not lead.
  first.node.leads = false
  const there = await first.send('POST', `${things}/objects`, { json: { objects: objects(0, 1) } })
  t.match([there.status, there.json().code], [503, 'not_leader'])
  const forwarded = await second.send('POST', `${things}/objects`, { json: { objects: objects(0, 1) } })
  t.match([forwarded.status, forwarded.json().code], [503, 'not_leader'])
  t.match(forwarded.json().error, 'does not lead any more')
})

test('a node that has no engine yet forwards what it can authenticate', async (t) => {
  const authToken = 'the-right-token-0123456789'
  const { nodes } = await startNodes(t, { count: 1, authToken })
  const [leader] = nodes as [HttpNode]
  const slot = new EngineSlot()
  slot.cluster = Object.assign(new FakeView('starting'), {
    role: 'bootstrapping',
    known: { node: 'node-0', url: leader.url },
  })
  const app = createApp({ slot, config: { ...leader.config, serverThreads: 1 } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const json = { name: 'things', fields }
  const refused = await send(url, 'POST', '/api/v2/collection', { json })
  t.equal(refused.status, 401)
  const created = await send(url, 'POST', '/api/v2/collection', { json, headers: { authorization: authToken } })
  t.equal(created.status, 200, created.text)
  const read = await send(url, 'GET', '/api/v2/collection', { headers: { authorization: authToken } })
  t.match([read.status, read.json().code], [503, 'starting'])
})

test('the other node gets no header that was for this one', async (t) => {
  const { nodes } = await startNodes(t, { count: 1 })
  const [node] = nodes as [HttpNode]
  const seen: http.IncomingHttpHeaders[] = []
  const leader = http.createServer((request, response) => {
    seen.push(request.headers)
    request.resume()
    response
      .writeHead(200, { connection: 'close, x-hop', 'x-hop': '1', 'x-end': '2', 'proxy-authenticate': 'x' })
      .end('{}')
  })
  leader.listen(0, '127.0.0.1')
  await once(leader, 'listening')
  t.teardown(() => void leader.close())
  node.view.role = 'follower'
  node.view.known = { node: 'other', url: `http://127.0.0.1:${(leader.address() as AddressInfo).port}` }
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
  const given = {
    ...{
      Host: 'localhost',
      Connection: 'close, X-Mine',
      'X-Mine': '1',
      Authorization: 'Bearer t',
      Accept: 'application/json',
    },
    ...{ Origin: 'http://localhost', 'Sec-Fetch-Site': 'same-origin', Cookie: 'a=b', 'X-Forwarded-For': '10.9.8.7' },
    ...{ 'Idempotency-Key': 'k', 'Content-Type': 'application/json', traceparent: '00-1-1-01', 'Content-Length': '2' },
    ...{ 'Proxy-Authorization': 'x', TE: 'trailers', Expect: '100-continue' },
  }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${things}/objects?a=%2F..%2f HTTP/1.1\r\n${lines.join('')}\r\n{}`)
  const reply = Buffer.concat(await socket.toArray()).toString()
  const { host, ...rest } = seen[0] ?? {}
  t.strictSame(rest, {
    ...{ authorization: 'Bearer t', accept: 'application/json', 'idempotency-key': 'k', traceparent: '00-1-1-01' },
    ...{ 'content-type': 'application/json', 'content-length': '2', connection: 'keep-alive' },
    ...{ 'x-forwarded-for': '10.9.8.7, 127.0.0.1', 'annal-forwarded-by': 'node-0' },
  })
  t.match(reply, /x-end: 2\r\n/)
  t.notMatch(reply, /x-hop|proxy-authenticate/i)
})

test('a write finds the new leader when the one before does not lead any more, or cannot be reached', async (t) => {
  const { nodes, lead } = await startNodes(t, { count: 3 })
  const [first, second, third] = nodes as [HttpNode, HttpNode, HttpNode]
  await createThings(first)
  await lead(1)
  const known = { node: second.name, url: second.url }
  for (const [i, url] of [first.url, 'http://127.0.0.1:1'].entries()) {
    third.view.known = { node: 'before', url }
    const learn = setTimeout(() => {
      third.view.known = known
    }, 50)
    const written = await third.send('POST', `${things}/objects`, { json: { objects: objects(i, 1) }, accept })
    clearTimeout(learn)
    t.equal(written.status, 200, written.text)
  }
  third.view.known = { node: 'gone', url: 'http://127.0.0.1:1' }
  const refused = await third.send('POST', `${things}/objects`, { json: { objects: objects(9, 1) } })
  t.match([refused.status, refused.json().code, refused.headers.get('retry-after')], [503, 'not_leader', '1'])
})
