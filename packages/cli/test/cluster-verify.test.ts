// `annal cluster verify`: what it says about equal, different, and missing digests, which a test sets; and that it compares real nodes while they
// are written to, and names the records if one of them differs.
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogRecord } from '@annal/wal'
import tap, { test } from 'tap'
import { openClusterNode } from '../../server/src/cluster/cluster-node.ts'
import type { NodeDigests } from '../../server/src/cluster/cluster-view.ts'
import {
  ClusterNode,
  createCollection,
  leaderOf,
  longLease,
  startNodes as startProcesses,
  Writer,
  write,
} from '../../server/test/cluster/cluster-nodes.ts'
import { type HttpNode, startNodes } from '../../server/test/cluster/http-nodes.ts'
import { skipNats, startNatsServers } from '../../server/test/cluster/nats-servers.ts'
import { until } from '../../server/test/eventually.ts'
import { freePort } from '../../server/test/free-port.ts'
import { temporaryDirectory } from '../../server/test/running-app.ts'
import { annal } from './command.ts'

// A loaded machine is slow.
tap.setTimeout(600_000)

const catalog = { part: 0, lsn: 3, digest: 'c'.repeat(64) }
const film = (lsn: number, digest = 'f') => ({ part: 1, name: 'films', lsn, digest: digest.repeat(64) })

test('cluster verify compares digests of the same records, and names the records of a difference', async (t) => {
  const { nodes, lead } = await startNodes(t, { count: 2 })
  const [first, second] = nodes as [HttpNode, HttpNode]
  let announced: readonly NodeDigests[] = []
  let requests = 0
  let seenMsAgo = 1_000
  for (const { view } of nodes) {
    view.others = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo }))
    view.announced = () => announced
    view.requested = () => {
      requests++
      return [
        { part: 0, lsn: 3 },
        { part: 1, name: 'films', lsn: 9 },
      ]
    }
  }
  const announce = (one: NodeDigests['digests'], two: NodeDigests['digests']) => {
    announced = [
      { node: 'node-0', digests: one },
      { node: 'node-1', digests: two },
    ]
  }
  const verify = (...args: string[]) => annal(['cluster', 'verify', '--timeout', '1', '-s', second.url, ...args])

  announce([catalog, film(5, 'a'), film(9)], [catalog, film(9), film(12, 'b')])
  const equal = await verify()
  t.strictSame([equal.code, equal.err], [0, ''])
  t.strictSame(equal.out.trimEnd().split('\n'), [
    'part                LSN  node-0  node-1',
    'the catalog         3    equal   equal',
    'collection "films"  9    equal   equal',
  ])
  t.equal(requests, 1, 'the leader got the request, through the other node')
  t.match(JSON.parse((await verify('--json')).out), {
    nodes: ['node-0', 'node-1'],
    parts: [{ equal: true }, { lsn: 9 }],
  })

  announce([catalog, film(7), film(11, 'a')], [catalog, film(7), film(11, 'b')])
  const differs = await verify()
  t.equal(differs.code, 1)
  t.match(differs.out, `collection "films"  11   ${'a'.repeat(16)}  ${'b'.repeat(16)}`)
  t.match(differs.out, 'collection "films" differs after record 11: look at records 8 to 11')

  announce([catalog, film(7), film(9)], [catalog, film(7)])
  const missing = await verify()
  t.equal(missing.code, 69, 'equal digests of earlier records do not count')
  t.match(missing.out, 'not compared within 1 s: collection "films"')

  announce([catalog, film(9)], [catalog, film(9)])
  seenMsAgo = 60_000
  first.view.others = second.view.others
  t.match(await verify(), { code: 69, out: /node-0 does not answer/ })
  seenMsAgo = 1_000
  await lead(1)
  first.view.role = 'out-of-service'
  first.view.reason = 'collection "films" differs after record 11: look at records 8 to 11'
  t.match(await verify(), { code: 1, out: /node-0 is out of service: .* look at records 8 to 11/ })
})

test('cluster verify waits for a leader, and says when there was none', async (t) => {
  const { nodes } = await startNodes(t, { count: 2 })
  const [first, second] = nodes as [HttpNode, HttpNode]
  for (const { view } of nodes) {
    view.others = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo: 1_000 }))
    view.announced = () => ['node-0', 'node-1'].map((node) => ({ node, digests: [catalog] }))
    view.requested = () => [{ part: 0, lsn: 3 }]
  }
  const verify = (seconds: number) => annal(['cluster', 'verify', '--timeout', `${seconds}`, '-s', second.url])
  first.view.role = 'follower'
  for (const { view } of nodes) view.known = undefined
  const without = await verify(1)
  t.equal(without.code, 69)
  t.match(without.err, 'no node led within 1 s, so nothing was compared')
  t.equal(without.out, '')
  const waiting = verify(60)
  await sleep(1_000)
  first.view.role = 'leader'
  second.view.known = { node: first.name, url: first.url }
  const found = await waiting
  t.equal(found.code, 0, found.out + found.err)
})

async function nodesKnownTo({ url }: ClusterNode): Promise<number> {
  const reply = await fetch(`${url}/api/v2/cluster`)
  return ((await reply.json()) as { readonly nodes: readonly unknown[] }).nodes.length
}

test('cluster verify compares real nodes while they are written to, and finds the one that differs', {
  skip: skipNats,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startProcesses(t, nats, 2, longLease)
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, 'things'), 200)
  t.equal(await createCollection(leader, 'idle'), 200)
  const { NDD_NODE_NAME: _, NDD_SERVER_PORT: __, ...environment } = leader.environment
  const third = new ClusterNode('node-2', await freePort(), await temporaryDirectory(t), environment)
  const { cluster, dataDir } = third.config
  if (cluster === undefined) throw new Error('the node has a cluster')
  const { engine, view } = await openClusterNode(cluster, { dataDir, threads: 1 })
  t.teardown(async () => {
    await view.close()
    await engine.close()
  })
  await until(() => view.status().role === 'follower')
  // The other two know it.
  await until(async () => (await nodesKnownTo(leader)) === 3)
  const writer = new Writer(nodes, 'things', 'a')
  t.teardown(() => writer.end())
  await writer.more(20)
  const verify = () => annal(['cluster', 'verify', '-s', leader.url])
  const equal = await verify()
  t.equal(equal.code, 0, equal.out + equal.err)
  t.match(equal.out, /^collection "things" +\d+ +equal +equal +equal$/m)
  t.match(equal.out, /^collection "idle" +\d+ +equal +equal +equal$/m)

  const apply = engine.applyTailed.bind(engine)
  let planted = 0
  const changed = (record: LogRecord): LogRecord => {
    const payload = Buffer.from(record.payload)
    const at = payload.indexOf('planted')
    if (at < 0) return record
    if (planted === 0) planted = record.lsn
    payload.write('damaged', at)
    return { ...record, payload }
  }
  engine.applyTailed = (records) => apply(records.map(changed))
  await write(leader, 'things', ['planted'])
  const differs = await verify()
  t.equal(differs.code, 1, differs.out)
  const [, from = 0, to = 0] = /look at records (\d+) to (\d+)/.exec(differs.out) ?? []
  t.ok(Number(from) <= planted && planted <= Number(to), `record ${planted} is in ${from} to ${to}`)
})
