// Health and the routes of a cluster: what a node says about itself and the others, and who may know it. The nodes are real servers; what they know
// is set by the test (http-nodes.ts).
import tap, { test } from 'tap'
import { createConformance } from '../openapi/conformance.ts'
import { runningApp } from '../running-app.ts'
import { type HttpNode, startNodes, until } from './http-nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

for (const serverThreads of [1, 2])
  test(`with ${serverThreads} serving threads, health and the status of the cluster name every node`, async (t) => {
    const { nodes } = await startNodes(t, { serverThreads })
    const [leader, follower] = nodes as [HttpNode, HttpNode]
    const known = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo: 3.4 }))
    for (const { view } of nodes) view.others = known
    follower.view.lag = 2
    follower.view.stalenessMs = 40.2
    const expected = {
      ...{ node: 'node-1', role: 'follower', epoch: 1, lag: 2, staleness_ms: 41, failovers: 0 },
      sync_interval: 'unverified',
      leader: { node: 'node-0', url: leader.url, epoch: 1 },
    }
    const conformance = await createConformance()
    const status = await follower.send('GET', '/api/v2/cluster')
    t.match(status.json(), {
      ...expected,
      nodes: [
        { node: 'node-0', role: 'leader' },
        { ...expected, seen_ms_ago: 3 },
      ],
    })
    t.equal(conformance.fault('GET', '/api/v2/cluster', status), undefined)
    for (const path of ['/api/v1/health', '/api/v2/health']) {
      // Serving threads answer with what was published last.
      await until(async () => (await follower.send('GET', path)).text.includes('"lag":2'))
      const health = await follower.send('GET', path)
      t.match(health.json().cluster, expected)
      t.equal(conformance.fault('GET', path, health), undefined)
      t.equal(health.headers.get('annal-lag'), null, 'health is no read')
    }
  })

test('health says nothing about the cluster without a token', async (t) => {
  const { nodes } = await startNodes(t, { count: 1, authToken: 'the-right-token-0123456789' })
  const [node] = nodes as [HttpNode]
  t.strictSame(Object.keys((await node.send('GET', '/api/v2/health')).json()).sort(), ['status', 'timestamp'])
  const headers = { authorization: 'the-right-token-0123456789' }
  t.match((await node.send('GET', '/api/v2/health', { headers })).json(), {
    cluster: { node: 'node-0', role: 'leader' },
  })
  t.equal((await node.send('GET', '/api/v2/cluster')).status, 401)
  t.equal((await node.send('POST', '/api/v2/cluster/step-down')).status, 401)
})

test('a node steps down if it leads, and names the leader if it does not', async (t) => {
  const { nodes, lead } = await startNodes(t)
  const [first, second] = nodes as [HttpNode, HttpNode]
  const conformance = await createConformance()
  const path = '/api/v2/cluster/step-down'
  const refused = await second.send('POST', path)
  t.match([refused.status, refused.json()], [421, { code: 'not_leader', leader: first.url }])
  t.equal(refused.headers.get('annal-leader'), first.url)
  t.equal(conformance.fault('POST', path, refused), undefined)
  first.view.stepsDown = () => lead(1)
  const done = await first.send('POST', path)
  t.match([done.status, done.json()], [200, { role: 'follower', leader: { node: 'node-1' } }], done.text)
  t.equal(conformance.fault('POST', path, done), undefined)
})

test('a node is removed and admitted by its name', async (t) => {
  const { nodes } = await startNodes(t)
  const [, follower] = nodes as [HttpNode, HttpNode]
  const conformance = await createConformance()
  for (const [method, path, removed] of [
    ['DELETE', '/api/v2/cluster/nodes/node.9', ['node.9']],
    ['POST', '/api/v2/cluster/nodes/node.9/admit', []],
  ] as const) {
    const done = await follower.send(method, path)
    t.match([done.status, done.json()], [200, { node: 'node-1' }])
    t.strictSame(follower.view.removed, removed, 'this node does it, and forwards nothing')
    t.equal(conformance.fault(method, path, done), undefined)
  }
})

test('a single server is not clustered, and its replies say nothing of a cluster', async (t) => {
  const { send } = await runningApp(t)
  for (const [method, route] of [
    ['GET', '/api/v2/cluster'],
    ['POST', '/api/v2/cluster/step-down'],
    ['DELETE', '/api/v2/cluster/nodes/node-1'],
    ['POST', '/api/v2/cluster/nodes/node-1/admit'],
  ] as const) {
    const reply = await send(method, route)
    t.match([reply.status, reply.json().code], [404, 'not_clustered'])
  }
  const health = await send('GET', '/api/v2/health')
  t.notOk('cluster' in health.json())
  const list = await send('GET', '/api/v2/collection?consistency=strong&max_staleness_ms=0', {
    headers: { 'Annal-Forward': 'never', 'Annal-Forwarded-By': 'node-9' },
  })
  t.strictSame([list.status, list.headers.get('annal-lag'), list.headers.get('annal-staleness')], [200, null, null])
  const created = await send('POST', '/api/v2/collection', {
    json: { name: 'things', fields: [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2' } }] },
    headers: { 'Annal-Forward': 'never' },
  })
  t.strictSame([created.status, created.headers.get('annal-lsn')], [200, null])
})
