// What reads of a node state and require: lag, staleness, strong reads, and the bound for tokens that may be revoked. The nodes are real servers
// with one simulated log; roles, lag, and staleness are set by the test (http-nodes.ts).
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { type Test, test } from 'tap'
import { layLicense } from '../licenses.ts'
import { temporaryDirectory } from '../running-app.ts'
import { type HttpNode, startNodes, until } from './http-nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const accept = 'application/json'
const things = '/api/v2/collection/things'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const search = { fields: { dense: { query: [1, 2] } } }

async function pair(t: Test, options: Parameters<typeof startNodes>[1] = {}): Promise<[HttpNode, HttpNode]> {
  const { nodes } = await startNodes(t, options)
  const [leader, follower] = nodes as [HttpNode, HttpNode]
  const made = await leader.send('POST', '/api/v2/collection', { json: { name: 'things', fields } })
  if (made.status !== 200) throw new Error(made.text)
  await put(leader, 'a')
  await follower.node.engine.whenApplied(leader.node.engine.lsnApplied, 60_000)
  return [leader, follower]
}

function put({ send }: HttpNode, id: string) {
  return send('POST', `${things}/objects`, { json: { objects: [{ id, fields: { dense: [1, 2] } }] }, accept })
}

/** Every kind of read, with the options in its body or query string. */
function reads(options: Readonly<Record<string, string | number>>) {
  const query = new URLSearchParams(
    Object.entries(options).map(([key, value]): [string, string] => [key, String(value)]),
  )
  return [
    ['POST', `${things}/search`, { ...search, ...options }],
    ['POST', `${things}/search/batch`, { searches: [search], ...options }],
    ['POST', `${things}/search/batch`, { searches: [search, { ...search, ...options }] }],
    ['POST', `${things}/objects/query`, { ids: ['a', 'b'], ...options }],
    ['POST', `${things}/objects/count`, { ...options }],
    ['POST', `${things}/objects/scroll`, { ...options }],
    ['POST', `${things}/facets`, { key: 'k', ...options }],
    ['GET', `${things}?${query}`, undefined],
    ['GET', `/api/v2/collection?${query}`, undefined],
    ['GET', `/api/v1/index/list?${query}`, undefined],
    ['POST', `/api/v1/index/things/search?${query}`, { k: 1, vector: [1, 2] }],
  ] as const
}

for (const serverThreads of [1, 2])
  test(`with ${serverThreads} serving threads, a strong read has what the node has not applied`, async (t) => {
    const [leader, follower] = await pair(t, { serverThreads })
    // The follower applies nothing from now on.
    follower.store.isPartitioned = true
    t.equal((await put(leader, 'b')).status, 200)
    const ask = (json: object) => follower.send('POST', `${things}/objects/query`, { json, accept })
    t.notMatch((await ask({ ids: ['a', 'b'] })).text, '"b"')
    const strong = await ask({ ids: ['a', 'b'], consistency: 'strong' })
    t.match(strong.text, '"b"')
    leader.view.lag = 77
    for (const [method, route, json] of reads({ consistency: 'strong' })) {
      const reply = await follower.send(method, route, { accept, ...(json && { json }) })
      t.equal(reply.status, 200, `${method} ${route}: ${reply.text}`)
      t.equal(reply.headers.get('annal-lag'), '77', `${method} ${route} was answered by the leader`)
    }
    const followed = await ask({ ids: ['a'], consistency: 'strong' })
    t.equal(followed.status, 200)
    follower.view.known = undefined
    t.match((await ask({ ids: ['a'], consistency: 'strong' })).json(), { code: 'not_leader' })
    const never = { headers: { 'Annal-Forward': 'never' }, json: { ids: ['a'], consistency: 'strong' } }
    t.equal((await follower.send('POST', `${things}/objects/query`, never)).status, 421)
    for (const wrong of ['weak', 1, {}]) t.equal((await ask({ ids: ['a'], consistency: wrong })).status, 400)
    follower.store.isPartitioned = false
  })

test('a strong read on the leader waits for the record that the log names', async (t) => {
  const [leader] = await pair(t)
  const ask = () => leader.send('POST', `${things}/objects/count`, { json: { consistency: 'strong' } })
  t.equal((await ask()).status, 200)
  for (let count = 2; ; count++) {
    const lsn = leader.node.engine.lsnApplied + 1
    const called = new Promise<void>((resolve) => {
      leader.view.lsnToConfirm = async () => {
        resolve()
        return lsn
      }
    })
    const [reply] = await Promise.all([ask(), called.then(() => sleep(50)).then(() => put(leader, `c${count}`))])
    // A read waits for seconds only, and the system may stop this process for longer.
    if (reply.json().code === 'replica_behind' && count < 10) continue
    t.match([reply.status, reply.json().count], [200, count], 'it waited')
    return
  }
})

test('a strong read on the leader is refused without the log', async (t) => {
  // A limit this short would refuse writes on a loaded machine, so nothing is written.
  const { nodes } = await startNodes(t, { cluster: { writeMs: 200 } })
  const [leader] = nodes as [HttpNode]
  leader.view.lsnToConfirm = (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  t.match((await leader.send('GET', '/api/v2/collection?consistency=strong')).json(), { code: 'not_leader' })
})

test('a read with a bound is refused by a node that is staler', async (t) => {
  const [, follower] = await pair(t)
  follower.view.stalenessMs = 500
  follower.view.lag = 3
  for (const [bound, status] of [
    [499, 503],
    [500, 200],
  ] as const)
    for (const [method, route, json] of reads({ max_staleness_ms: bound })) {
      const reply = await follower.send(method, route, { accept, ...(json && { json }) })
      t.equal(reply.status, status, `${method} ${route}: ${reply.text}`)
      t.strictSame([reply.headers.get('annal-lag'), reply.headers.get('annal-staleness')], ['3', '500'])
      if (status === 503) t.match(reply.json(), { code: 'replica_stale', field: 'max_staleness_ms', limit: 499 })
    }
  const { lsnApplied } = follower.node.engine
  t.equal((await follower.send('GET', `${things}?min_lsn=${lsnApplied}`)).status, 200)
  for (const wrong of ['min_lsn=x', 'min_lsn=-1', 'max_staleness_ms=', 'consistency=weak'])
    t.equal((await follower.send('GET', `${things}?${wrong}`)).status, 400, wrong)
})

test('a node that has left service answers no reads, and says why', async (t) => {
  const [, follower] = await pair(t, { serverThreads: 2 })
  const ask = () => follower.send('POST', `${things}/search`, { json: search, accept })
  t.equal((await ask()).status, 200)
  follower.view.role = 'out-of-service'
  follower.view.reason = 'its digest differs from that of node-1 at LSN 7'
  // Serving threads learn it within a tenth of a second.
  await until(async () => (await ask()).status === 503)
  t.match((await ask()).json(), { code: 'node_out_of_service', error: /digest differs/ })
  t.equal((await put(follower, 'z')).status, 200, 'writes go to the leader')
})

const rootToken = 'the-root-token-0123456789'

for (const serverThreads of [1, 2])
  test(`with ${serverThreads} serving threads, a revoked token ends on every node within the bound`, async (t) => {
    const dataDir = await temporaryDirectory(t)
    await layLicense(dataDir)
    const stalenessMs = 2_000
    const { nodes } = await startNodes(t, { serverThreads, rootToken, dataDir, cluster: { stalenessMs } })
    const [leader, follower] = nodes as [HttpNode, HttpNode]
    const root = { headers: { authorization: rootToken } }
    const made = await follower.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })
    t.equal(made.status, 201, made.text)
    const minted = await follower.send('POST', '/api/v2/admin/dbs/music/tokens', { json: { name: 'site' }, ...root })
    const headers = { authorization: String(minted.json().db_token) }
    const writer = { headers: { authorization: String(made.json().db_token) } }
    t.equal(
      (await leader.send('POST', '/api/v2/collection', { json: { name: 'things', fields }, ...writer })).status,
      200,
    )
    const ask = () => follower.send('POST', `${things}/search`, { json: search, headers, accept })
    await until(async () => (await ask()).status === 200)

    // The follower hears of nothing any more. Its view says so later, as the view of a real node does.
    follower.store.isPartitioned = true
    const revoked = await leader.send('DELETE', '/api/v2/admin/dbs/music/tokens/site', root)
    t.equal(revoked.status, 200)
    t.equal((await leader.send('GET', '/api/v2/collection', { headers })).status, 401)
    t.equal((await ask()).status, 200, 'the bound is not zero')
    const since = performance.now()
    const ageing = setInterval(() => {
      follower.view.stalenessMs = performance.now() - since
    }, 10)
    t.teardown(() => clearInterval(ageing))
    for (;;) {
      // What the view said, not the clock: the view stands still while the system stops this process.
      const saidMs = follower.view.stalenessMs
      const reply = await ask()
      if (reply.status !== 200) {
        t.match([reply.status, reply.json().code], [503, 'replica_stale'])
        break
      }
      if (saidMs > stalenessMs + 200) t.fail(`answered ${saidMs} ms after the node had last heard`)
    }
    const asRoot = await follower.send('GET', '/api/v2/stats', root)
    t.equal(asRoot.status, 200, 'the root token cannot be revoked, and an operator needs it now')
    follower.store.isPartitioned = false
    await follower.node.engine.whenApplied(leader.node.engine.lsnApplied, 60_000)
    clearInterval(ageing)
    follower.view.stalenessMs = 0
    t.equal((await ask()).status, 401, 'the follower has learned it')
  })
