// `annal cluster` against nodes in this process. What the nodes know about the cluster is set by the test.
import tap, { test } from 'tap'
import { type HttpNode, startNodes } from '../../server/test/cluster/http-nodes.ts'
import { annal, freshDir, serve, start } from './command.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

test('cluster status lists the nodes, and step-down hands the lead on', async (t) => {
  const authToken = 'the-right-token-0123456789'
  const { nodes, lead } = await startNodes(t, { authToken })
  const [first, second] = nodes as [HttpNode, HttpNode]
  for (const { view } of nodes)
    view.others = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo: 1_500 }))
  first.view.digestLsn = 41
  first.view.version = '1.2.3'
  const run = (server: string, ...args: string[]) =>
    annal(['cluster', ...args, '-s', server], { ANNAL_TOKEN: authToken })

  const shown = await run(second.url, 'status')
  t.strictSame([shown.code, shown.err], [0, ''])
  const lines = shown.out.trimEnd().split('\n')
  t.match(lines[0], /^node +role +version +epoch +lag +digest LSN +staleness +seen +url$/)
  t.equal(lines[1]?.replaceAll(/ +/g, ' '), `node-0 leader 1.2.3 1 0 41 0 ms 1.5 s ${first.url}`)
  t.equal(lines[2]?.replaceAll(/ +/g, ' '), `node-1 * follower - 1 0 0 0 ms 1.5 s ${second.url}`)
  t.match(lines[3], 'NDD_CLUSTER_MONITOR_URL')
  t.match(JSON.parse((await run(second.url, 'status', '--json')).out), {
    node: 'node-1',
    nodes: [{ role: 'leader' }, {}],
  })

  const refused = await run(second.url, 'step-down')
  t.strictSame([refused.code, refused.out], [76, ''])
  t.match(refused.err, first.url)
  first.view.stepsDown = () => lead(1)
  const done = await run(first.url, 'step-down')
  t.strictSame([done.code, done.out], [0, 'node-0 no longer leads; node-1 does\n'])

  second.view.others = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo: 15_001 }))
  const silent = await run(second.url, 'status')
  t.equal(silent.code, 1)
  t.match(silent.out, /^node-0 +silent, was \w+ /m)
  t.match(silent.out, 'node-0 has been silent for 15.0 s: `annal cluster remove node-0` if it does not come back')
  t.notMatch(silent.out, 'node-1 has been silent', 'the node that replies is not silent')
  second.view.others = first.view.others

  first.view.role = 'out-of-service'
  first.view.reason = 'its digest differs'
  const bad = await run(second.url, 'status')
  t.equal(bad.code, 1)
  t.match(bad.out, 'node-0: its digest differs')
  second.view.role = 'candidate'
  second.view.known = undefined
  t.match((await run(second.url, 'status')).out, 'no node leads')

  const wrong = await annal(['cluster', 'status', '-s', second.url], { ANNAL_TOKEN: 'wrong' })
  t.match([wrong.code, wrong.err], [76, /invalid_token/])
  t.match(await annal(['cluster', 'status', '-s', 'http://127.0.0.1:1']), { code: 69, err: /did not answer: bad port/ })
})

test('cluster commands say that a single server is none', async (t) => {
  const { address } = await serve(t, freshDir(t))
  for (const command of ['status', 'step-down']) {
    const refused = await annal(['cluster', command, '-s', address])
    t.match([refused.code, refused.err], [76, /not_clustered/])
  }
})

test('serve --cluster makes the server a node, and takes no password', async (t) => {
  const dir = freshDir(t)
  const args = ['serve', '-d', dir, '-p', '0', '--cluster']
  const refused = await annal([...args, 'nats://annal:secret@127.0.0.1:4222'])
  t.equal(refused.code, 64)
  t.match(refused.err, /NDD_CLUSTER_URL.*without user and password/)
  t.notMatch(refused.out + refused.err, 'secret')

  // Nothing listens on the first port of a machine, so the node waits for NATS.
  const started = start([...args, 'nats://127.0.0.1:1,nats://localhost:1'])
  t.teardown(() => void started.child.kill('SIGKILL'))
  await new Promise<void>((resolve) => {
    started.child.stdout?.on('data', (bytes: Buffer) => {
      if (bytes.includes('waiting for NATS: ')) resolve()
    })
  })
  started.child.kill('SIGTERM')
  t.equal((await started.ended).code, 0, 'a node that waits can be stopped')
})
