// The stores of all NATS servers are replaced by an older copy, as a restore from a backup of these machines does: acknowledged records are gone
// from the log, and no node goes on as if they had never been. Nodes that have read more leave service and say so, a node that starts with such
// a directory ends, and one that knows nothing does not lead in their place. The same if NATS has lost everything.
import { rm } from 'node:fs/promises'
import tap, { test } from 'tap'
import { eventually, until } from '../eventually.ts'
import { startProcess } from '../running-process.ts'
import { startWorld } from './chaos/world.ts'
import {
  type ClusterNode,
  caughtUp,
  createCollection,
  leaderOf,
  startNodes,
  upsert,
  Writer,
  write,
} from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

const servers = [0, 1, 2]
const things = 'things'

test('nodes that have read what the log lost do not go on', { skip: skipNats, timeout: 300_000 }, async (t) => {
  // A busy machine may not renew a shorter lease in time.
  const world = await startWorld(t, 4000)
  const { nodes } = world
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  await write(leader, things, ['kept'])
  const copies: string[] = []
  await world.whileDown(servers, async () => {
    for (const index of servers) copies.push(await world.copyStore(t, index))
  })
  await world.serves()
  const writer = new Writer(nodes, things, 'lost-')
  await writer.more(5)
  await writer.end()
  await caughtUp(await leaderOf(nodes), nodes)
  // Each node announces what it has read, and the copy does not have that.
  const [absent, ...present] = nodes as [ClusterNode, ...ClusterNode[]]
  await absent.signal('SIGKILL')
  await world.whileDown(servers, async () => {
    for (const index of servers) await world.replaceStore(index, copies[index])
  })
  for (const node of present) {
    const reason = await eventually(async () => {
      const { status, cluster } = await node.health()
      return status === 'failed' && cluster?.role === 'out-of-service' ? (cluster.reason ?? '') : undefined
    })
    t.match(reason, /rolled back or damaged|older than this node/, reason)
    t.not(await upsert(node, things, ['after']), 200)
  }

  t.comment('a node without data starts')
  await rm(absent.dataDir, { recursive: true })
  await absent.start()
  const why = await eventually(async () => {
    const { cluster } = await absent.health()
    return cluster?.role === 'out-of-service' ? cluster.reason : undefined
  })
  t.match(why, /the log in NATS ends with LSN \d+, and node node-\d has read LSN \d+: it was rolled back or damaged/)
  t.not(await upsert(absent, things, ['after']), 200)

  // A node takes a checkpoint when it stops, unless its log had failed: that depends on which evidence it found first.
  t.comment('a node that stopped in order and starts again ends, or leaves service')
  const [last] = present as [ClusterNode]
  await last.signal('SIGTERM')
  const again = startProcess(last.environment)
  t.teardown(() => again.child.kill('SIGKILL'))
  const exit = new AbortController()
  const left = until(async () => exit.signal.aborted || (await last.role()) === 'out-of-service')
  const outcome = await Promise.race([again.ended, left])
  exit.abort()
  if (outcome === undefined) {
    t.not(await upsert(last, things, ['after']), 200)
  } else {
    t.match(outcome, { code: 65 })
    t.match(again.stderr(), /the replicated log is older than this node/)
  }
  await until(async () => (await absent.role()) === 'out-of-service')
})

test('NATS comes back without what it stored', { skip: skipNats, timeout: 300_000 }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startNodes(t, nats, 2)
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  await write(leader, things, ['kept'])
  await caughtUp(leader, nodes)
  const [server] = nats.servers
  await server?.kill()

  t.comment('while NATS is away, the nodes answer reads and say that they take no writes')
  for (const node of nodes) {
    const { reasons } = await eventually(async () => {
      const health = await node.health()
      return health.status === 'degraded' ? health : undefined
    })
    t.match(reasons?.join(), node === leader ? /has not confirmed its lease/ : /does not answer/)
  }

  t.comment('it has no log any more')
  await rm(`${server?.directory}/jetstream`, { recursive: true })
  server?.start()
  for (const node of nodes) {
    const { cluster } = await eventually(async () => {
      const health = await node.health()
      return health.status === 'failed' ? health : undefined
    })
    t.match(cluster, { role: 'out-of-service', reason: /NATS does not have the log/ })
    t.not(await upsert(node, things, ['after']), 200)
  }

  t.comment('a node that starts again does not begin a new log over its data')
  await leader.signal('SIGTERM')
  const again = startProcess(leader.environment)
  t.teardown(() => again.child.kill('SIGKILL'))
  t.match(await again.ended, { code: 65 })
  t.match(again.stderr(), /its log in NATS is empty.*annal cluster leave/)
})
