// A revoked token on real nodes: a follower that is cut off from NATS, or stopped, accepts it for no longer than the staleness bound, and
// refuses then. Each reply states its staleness, so the test compares that with the bound, and no clock.
import { connect, createServer, type Socket } from 'node:net'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { type Answer, send, temporaryDirectory } from '../running-app.ts'
import { ClusterNode, longLease } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const rootToken = 'the-root-token-0123456789'
const root = { headers: { authorization: rootToken } }
const boundMs = 2_000
const collection = '/api/v2/collection'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
const search = { fields: { dense: { query: [1, 2], limit: 1 } } }

interface Cable {
  readonly url: string
  cut(): void
  join(): void
}

/** A way to a NATS server that can be cut. */
async function cableTo(t: Test, url: string): Promise<Cable> {
  const { hostname, port } = new URL(url.replace('nats:', 'http:'))
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return void near.destroy()
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const own = await freePort()
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve))
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    cut()
    server.close()
  })
  const join = () => {
    isCut = false
  }
  return { url: `nats://127.0.0.1:${own}`, cut, join }
}

async function roleOf({ url }: ClusterNode): Promise<unknown> {
  return (await send(url, 'GET', '/api/v2/cluster', root)).json().role
}

test('a follower that cannot learn of a revocation refuses tokens after the bound', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const [server] = nats.servers
  const cable = await cableTo(t, server?.url ?? '')
  const settings = {
    ...{ NDD_CLUSTER_REPLICAS: '1', ...longLease, NDD_CLUSTER_STALENESS_MS: `${boundMs}` },
    ...{ NDD_ROOT_TOKEN: rootToken, NDD_NUM_SERVER_THREADS: '2' },
  }
  const nodes: ClusterNode[] = []
  for (const [name, url] of [
    ['node-0', server?.url],
    ['node-1', cable.url],
  ] as const) {
    const environment = { ...settings, NDD_CLUSTER_URL: url ?? '' }
    const node = new ClusterNode(name, await freePort(), await temporaryDirectory(t), environment)
    t.teardown(() => node.signal('SIGKILL'))
    await node.start()
    nodes.push(node)
    if (nodes.length === 1) await until(async () => (await roleOf(node)) === 'leader')
  }
  const [leader, follower] = nodes as [ClusterNode, ClusterNode]
  await until(async () => (await roleOf(follower)) === 'follower')
  t.equal((await send(follower.url, 'POST', '/api/v2/license/generate', { json: {}, ...root })).status, 200)
  const made = await send(follower.url, 'POST', '/api/v2/admin/dbs', { json: { db_name: 'music' }, ...root })
  t.equal(made.status, 201, made.text)
  const owner = { headers: { authorization: String(made.json().db_token) } }
  t.equal((await send(follower.url, 'POST', collection, { json: { name: 'things', fields }, ...owner })).status, 200)
  const mint = async (name: string) => {
    const minted = await send(follower.url, 'POST', '/api/v2/tokens', { json: { name }, ...owner })
    return { headers: { authorization: String(minted.json().db_token) }, accept: 'application/json' }
  }
  const [site, app] = [await mint('site'), await mint('app')]
  const ask = (token: typeof site) =>
    send(follower.url, 'POST', `${collection}/things/search`, { json: search, ...token })
  const revoke = async (name: string) => {
    const revoked = await send(leader.url, 'DELETE', `/api/v2/tokens/${name}`, owner)
    t.equal(revoked.status, 200, revoked.text)
  }
  const stalenessOf = ({ headers }: Answer) => Number(headers.get('annal-staleness') ?? Number.NaN)

  t.comment('cut off from NATS')
  await until(async () => (await ask(site)).status === 200)
  cable.cut()
  await revoke('site')
  t.equal((await send(leader.url, 'GET', collection, site)).status, 401, 'the leader refuses the token at once')
  for (;;) {
    const reply = await ask(site)
    if (reply.status !== 200) {
      t.match([reply.status, reply.json()], [503, { code: 'replica_stale', limit: boundMs }])
      break
    }
    if (!(stalenessOf(reply) <= boundMs)) t.fail(`accepted at a staleness of ${stalenessOf(reply)} ms`)
  }
  t.equal((await ask(app)).status, 503, 'nor does the node know of any other token of a database')
  t.equal((await send(follower.url, 'GET', '/api/v2/cluster', root)).status, 200, 'the root token is a setting')
  const written = await send(follower.url, 'POST', collection, { json: { name: 'more', fields }, ...site })
  t.not(written.status, 200, 'a write is decided by the leader')
  cable.join()
  await until(async () => (await ask(app)).status === 200)
  t.equal((await ask(site)).status, 401, 'the node has learned of the revocation before it serves again')

  t.comment('stopped')
  await follower.signal('SIGSTOP')
  await revoke('app')
  await new Promise((resolve) => setTimeout(resolve, boundMs + 500))
  const replies = [1, 2, 3, 4].map(() => ask(app))
  await follower.signal('SIGCONT')
  for (const reply of await Promise.all(replies)) t.match([reply.status], [/^(401|503)$/], reply.text)

  t.comment('a restart')
  await until(async () => (await ask(app)).status === 401)
  await follower.signal('SIGTERM')
  await follower.start()
  await until(async () => (await send(follower.url, 'GET', collection, owner)).status === 200)
  for (const token of [site, app]) t.equal((await ask(token)).status, 401)
})
