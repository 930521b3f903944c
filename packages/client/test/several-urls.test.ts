// A client with several URLs. The nodes are real HTTP servers in front of one real server: they answer 421 and 503 as a node of a cluster does,
// and forward everything else, so what is written through one is read through another.
import { type Test, test } from 'tap'
import { AnnalError, type Collection, connect, denseField, type HttpOptions } from '../src/index.ts'
import { type Fate, type FaultyProxy, type ForwardedRequest, faultyProxy } from './faulty-proxy.ts'
import { realServer } from './real-server.ts'

const definition = { name: 'films', fields: [denseField('plot', { dimension: 2, spaceType: 'l2' })] }
const object = (id: string) => ({ id, filter: { of: id }, fields: { plot: [1, id.length] } })

interface FrontNode {
  readonly proxy: FaultyProxy
  readonly url: string
  /** The LSN that it claims to have applied; undefined: everything. */
  appliedLsn: number | undefined
  /** Takes precedence over what a node does. */
  before: ((request: ForwardedRequest) => Fate | undefined) | undefined
}

interface Cluster {
  readonly nodes: readonly [FrontNode, FrontNode, FrontNode]
  leader: FrontNode | undefined
  /** Requests to each node, without measurements, since the last call. */
  seen(): { readonly [node: string]: readonly string[] }
}

function refuse(status: number, code: string, headers: Record<string, string> = {}): Fate {
  return (response) => {
    const type = { 'content-type': 'application/json' }
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify({ error: code, code }))
  }
}

async function cluster(t: Test, target: string): Promise<Cluster> {
  const frontNode = async (): Promise<FrontNode> => {
    const proxy = await faultyProxy(t, target)
    return { proxy, url: proxy.url, appliedLsn: undefined, before: undefined }
  }
  const nodes = [await frontNode(), await frontNode(), await frontNode()] as const
  const offsets = nodes.map(() => 0)
  const all: Cluster = {
    nodes,
    leader: nodes[1],
    seen() {
      return Object.fromEntries(
        nodes.map(({ proxy }, i) => {
          const requests = proxy.requests.slice(offsets[i]).filter(({ url }) => url !== '/api/v2/health')
          offsets[i] = proxy.requests.length
          return [i, requests.map(({ method, headers }) => `${method} ${headers['annal-forward'] ?? 'forward'}`)]
        }),
      )
    },
  }
  for (const node of nodes) {
    node.proxy.fate = (request) => node.before?.(request) ?? fateAt(all, node, request)
    node.proxy.adds = (request, body): Record<string, string> => {
      if (!isWrite(request)) return {}
      const lsn = /"lsn":(\d+)/.exec(body.toString())?.[1]
      return lsn === undefined ? {} : { 'annal-lsn': lsn }
    }
  }
  return all
}

function isWrite({ method, url }: ForwardedRequest): boolean {
  return method === 'DELETE' || (method === 'POST' && /(?:objects|filters|collection)$/.test(url.split('?')[0] ?? ''))
}

function fateAt({ leader }: Cluster, node: FrontNode, request: ForwardedRequest): Fate {
  const needsLeader = isWrite(request) || /consistency=strong|"consistency":"strong"/.test(request.url + request.body)
  if (needsLeader && node !== leader) {
    if (leader === undefined) return refuse(503, 'not_leader', { 'retry-after': '0' })
    if (request.headers['annal-forward'] === 'never') return refuse(421, 'not_leader', { 'annal-leader': leader.url })
    return 'pass'
  }
  const wanted = Number(/min_lsn(?:=|":)(\d+)/.exec(request.url + request.body.toString('latin1'))?.[1] ?? 0)
  if (node.appliedLsn !== undefined && wanted > node.appliedLsn) return refuse(503, 'replica_behind')
  return 'pass'
}

/** Gives up no node of a busy machine, unless a test sets another timeout. */
function client({ nodes }: Cluster, options: Partial<HttpOptions> = {}) {
  return connect({ url: nodes.map(({ url }) => url), timeoutMs: 300_000, ...options })
}

test('several URLs', async (t) => {
  const url = await realServer(t)
  const direct = connect({ url })
  await direct.createCollection(definition)
  const none = { 0: [], 1: [], 2: [] }

  await t.test('writes go to the leader that a node names, reads stay on one node', async (t) => {
    const all = await cluster(t, url)
    const films = client(all).collection('films')
    await films.upsert([object('a')])
    const first = all.seen()
    // fetch sends a request again after 421, some of them without their body.
    t.ok(
      first[0]?.every((request) => request.endsWith(' never')),
      'the first node names the leader',
    )
    t.strictSame({ ...first, 0: [] }, { ...none, 1: ['POST never'] })
    await films.upsert([object('b')])
    t.strictSame(all.seen(), { ...none, 1: ['POST never'] })
    t.equal(await films.count([{ of: { $eq: 'b' } }]), 1)
    t.equal((await films.get('a'))?.id, 'a')
    const seen = all.seen()
    t.strictSame(Object.values(seen).flat(), ['POST forward', 'POST forward'])
    t.equal(Object.values(seen).filter((requests) => requests.length > 0).length, 1, 'both on one node')
    all.leader = all.nodes[2]
    await films.delete('a')
    const changed = all.seen()
    t.strictSame([...new Set(changed[1])], ['DELETE never'])
    t.strictSame({ ...changed, 1: [] }, { ...none, 2: ['DELETE never'] }, 'the leader changed')
  })

  await t.test('while the URL of the leader cannot be reached, other nodes forward', async (t) => {
    const all = await cluster(t, url)
    const films = client(all).collection('films')
    await films.upsert([object('a')])
    await all.nodes[1].proxy.close()
    all.seen()
    await films.upsert([object('b')])
    await films.upsert([object('c')])
    const seen = all.seen()
    t.strictSame(seen[1], [])
    t.equal([...(seen[0] ?? []), ...(seen[2] ?? [])].filter((request) => request === 'POST forward').length, 2)
    await client(all, { retriesMax: 1 }).collection('films').delete('c')
  })

  await t.test('a read goes to another node if one is gone, starts, is stale, or is behind', async (t) => {
    for (const code of ['gone', 'hangs-up', 'starting', 'replica_stale', 'replica_behind', 'node_out_of_service']) {
      const all = await cluster(t, url)
      if (code === 'gone') await all.nodes[0].proxy.close()
      else all.nodes[0].before = () => (code === 'hangs-up' ? 'drop-request' : refuse(503, code))
      const films = client(all).collection('films')
      t.type(await films.count(), 'number', code)
      t.type(await films.count(), 'number', code)
      t.strictSame(all.seen()[0], code === 'gone' ? [] : ['POST forward'], code)
    }
    const dead = await cluster(t, url)
    for (const { proxy } of dead.nodes) await proxy.close()
    const error = await client(dead, { retriesMax: 4, timeoutMs: 120_000 })
      .listCollections()
      .catch((error: unknown) => error)
    t.ok(error instanceof AnnalError && error.code === 'unreachable', String(error))
  })

  await t.test('a node that does not reply costs a third of the time', async (t) => {
    const all = await cluster(t, url)
    all.nodes[0].before = () => () => undefined
    // The other nodes of a busy machine may need more than two thirds of a short timeout.
    let found: unknown
    for (let timeoutMs = 2_000; timeoutMs <= 32_000 && typeof found !== 'number'; timeoutMs *= 2)
      found = await client(all, { timeoutMs: 60_000 })
        .collection('films')
        .count(undefined, { timeoutMs })
        .catch((error: unknown) => error)
    t.type(found, 'number')
    const controller = new AbortController()
    for (const node of all.nodes) {
      node.before = () => {
        setTimeout(() => controller.abort(), 20)
        return () => undefined
      }
    }
    const aborted = client(all).collection('films').count(undefined, { signal: controller.signal })
    t.match(await aborted.catch((error: unknown) => error), { code: 'aborted' })
    const late = client(all).collection('films').count(undefined, { timeoutMs: 300 })
    t.match(await late.catch((error: unknown) => error), { code: 'timeout' })
  })

  await t.test('a call that takes long by nature has one node until its deadline', async (t) => {
    type Call = (films: Collection, timeoutMs: number) => Promise<number>
    const answers = async (path: RegExp, call: Call, timeoutMs: number) => {
      const all = await cluster(t, url)
      let attempts = 0
      for (const node of all.nodes)
        node.before = (request) => {
          if (!path.test(request.url)) return undefined
          attempts++
          // After more than a third of the time.
          return (response) =>
            void setTimeout(() => response.writeHead(200).end('{"reclaimed_bytes":7,"count":7}'), 0.45 * timeoutMs)
        }
      const films = client(all, { timeoutMs: 0.9 * timeoutMs }).collection('films')
      const found = await call(films, timeoutMs).catch((error: unknown) => error)
      return { found, attempts }
    }
    const slow = async (name: string, path: RegExp, call: Call) => {
      // A busy machine may use up the rest of a short timeout itself; a client that gives a node a third of it would never get the reply.
      let last: unknown
      for (let timeoutMs = 2_000; timeoutMs <= 64_000; timeoutMs *= 2) {
        const { found, attempts } = await answers(path, call, timeoutMs)
        last = { found, attempts }
        if (found === 7) break
      }
      t.strictSame(last, { found: 7, attempts: 1 }, name)
    }
    await Promise.all([
      slow('a call with a long default', /vacuum$/, (films, timeoutMs) => films.vacuum({ timeoutMs: 0.9 * timeoutMs })),
      slow('a call with a longer timeout than the client', /count/, (films, timeoutMs) =>
        films.count(undefined, { timeoutMs }),
      ),
    ])
  })

  await t.test('a client reads its own writes on any node', async (t) => {
    const all = await cluster(t, url)
    all.nodes[0].appliedLsn = 1
    const films = client(all).collection('films')
    for (const read of [
      () => films.get('mine'),
      () => films.search({ fields: { plot: { query: [1, 4], limit: 1 } } }),
      () => films.count(),
      () =>
        client(all)
          .collection('films')
          .describe({ minLsn: 9_999_999 })
          .catch(() => undefined),
    ]) {
      await films.upsert([object('mine')])
      all.seen()
      await read()
      const [behind, leader, other] = all.nodes.map(({ proxy }) => proxy.requests.at(-1))
      const says = (request: ForwardedRequest | undefined) =>
        /min_lsn(?:=|":)\d/.test(`${request?.url}${request?.body.toString('latin1')}`)
      t.ok(says(behind) || says(leader) || says(other), read.toString())
    }
    const unread = await cluster(t, url)
    const loose = client(unread, { readYourWrites: false }).collection('films')
    await loose.upsert([object('mine')])
    await loose.count()
    for (const { proxy } of unread.nodes)
      t.notMatch(proxy.requests.map(({ url, body }) => url + body).join(), 'min_lsn')
  })

  await t.test('a strong read goes to the leader', async (t) => {
    const all = await cluster(t, url)
    const films = client(all).collection('films')
    await films.upsert([object('a')])
    all.seen()
    await films.count(undefined, { consistency: 'strong' })
    await films.getMany(['a'], { consistency: 'strong', maxStalenessMs: 5 })
    t.strictSame(all.seen(), { ...none, 1: ['POST never', 'POST never'] })
    const [count, get] = all.nodes[1].proxy.requests.slice(-2)
    t.match(count?.url, /\?consistency=strong$/)
    t.strictSame(JSON.parse(String(get?.body)), { ids: ['a'], consistency: 'strong', max_staleness_ms: 5 })
  })

  await t.test('a write whose reply is lost runs once, though another node leads then', async (t) => {
    const all = await cluster(t, url)
    const films = client(all).collection('films')
    await films.upsert(['x', 'y'].map(object))
    all.nodes[1].before = (request) => {
      if (request.method !== 'DELETE') return undefined
      all.leader = undefined
      setTimeout(() => {
        all.leader = all.nodes[2]
      }, 200)
      all.nodes[1].before = undefined
      return 'drop-reply'
    }
    const before = (await direct.history.events()).events.length
    t.equal(await films.deleteWhere([{ of: { $in: ['x', 'y'] } }]), 2)
    t.equal((await direct.history.events()).events.length, before + 1)
    const keys = all.nodes.flatMap(({ proxy }) =>
      proxy.requests.filter(({ method }) => method === 'DELETE').map(({ headers }) => headers['idempotency-key']),
    )
    t.ok(keys.length >= 2 && new Set(keys).size === 1, String(keys))
  })

  await t.test('one URL gets no header and no request that are about nodes', async (t) => {
    const proxy = await faultyProxy(t, url)
    for (const options of [proxy.url, new URL(proxy.url), [proxy.url], { url: [proxy.url] }]) {
      const films = connect(options).collection('films')
      await films.upsert([object('a')])
      await films.get('a')
    }
    t.equal(proxy.requests.length, 8)
    const names = ['accept', 'accept-encoding', 'accept-language', 'connection', 'content-length', 'content-type']
    for (const { headers, body } of proxy.requests) {
      const known = new Set([...names, 'host', 'idempotency-key', 'sec-fetch-mode', 'user-agent'])
      t.strictSame(
        Object.keys(headers).filter((name) => !known.has(name)),
        [],
      )
      t.notMatch(body.toString('latin1'), 'min_lsn')
    }
    t.throws(() => connect([]), { code: 'invalid_argument', field: 'url' })
    t.throws(() => connect([proxy.url, 'nowhere']), { code: 'invalid_argument', field: 'url' })
  })
})
