// The Python clients with the URLs of three real nodes over real NATS servers: they write once and read their own writes while leaders are killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import tap, { test } from 'tap'
import { leaderOf, startNodes } from '../../server/test/cluster/cluster-nodes.ts'
import { skipNats, startNatsServers } from '../../server/test/cluster/nats-servers.ts'
import { pythonEnvironment, pythonHome, pythonWith } from './python.ts'

tap.setTimeout(600_000)

const python = pythonWith('requests', 'msgpack', 'httpx')
const rounds = 12

test('Python clients of three nodes write once and read what they wrote, while leaders are killed', {
  skip: python === undefined ? 'needs python3-requests python3-msgpack python3-httpx' : skipNats,
  timeout: 600_000,
}, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '1000' })
  await leaderOf(nodes)
  const urls = nodes.map(({ url }) => url)
  for (const kind of ['sync', 'async']) {
    const args = [path.join(pythonHome, 'tests', 'cluster_client.py'), kind, `${rounds}`, ...urls]
    const client = spawn(python ?? '', args, { env: pythonEnvironment, stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => client.kill())
    const ended = once(client, 'exit')
    let last = ''
    for await (const line of createInterface({ input: client.stdout })) {
      last = line
      if (line !== '3') continue
      const leader = await leaderOf(nodes)
      await leader.signal('SIGKILL')
      await leader.start()
    }
    t.strictSame((await ended)[0], 0, kind)
    t.strictSame(JSON.parse(last), { faults: [], strong: rounds, fresh: rounds }, kind)
  }
})
