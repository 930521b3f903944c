// Three real nodes are replaced one by one by those of another version, as docs/guide/cluster.md describes it, while clients read and write:
// no read fails, and no write is lost. The other version is a copy of the server that has another version in its package.json.
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { type Test, test } from 'tap'
import { type ClusterNode, caughtUp, digestsOf, leaderOf, startNodes } from '../../server/test/cluster/cluster-nodes.ts'
import { skipNats, startNatsServers } from '../../server/test/cluster/nats-servers.ts'
import { until } from '../../server/test/eventually.ts'
import { send, temporaryDirectory } from '../../server/test/running-app.ts'
import { connect, denseField } from '../src/index.ts'

tap.setTimeout(600_000)

const server = fileURLToPath(new URL('../../server/', import.meta.url))
const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** Copies the server as another version. Returns its main file. */
async function otherVersion(t: Test, version: string): Promise<string> {
  const top = await temporaryDirectory(t)
  const home = path.join(top, 'server')
  await mkdir(home)
  await cp(path.join(server, 'src'), path.join(home, 'src'), { recursive: true })
  const facts = JSON.parse(await readFile(path.join(server, 'package.json'), 'utf8')) as object
  await writeFile(path.join(home, 'package.json'), JSON.stringify({ ...facts, version }))
  for (const name of ['kernel', 'node_modules']) await symlink(path.join(server, name), path.join(home, name))
  await symlink(modules, path.join(top, 'node_modules'))
  return path.join(home, 'src', 'main.ts')
}

test('nodes are upgraded one by one without a failed read or a lost write', { skip: skipNats }, async (t) => {
  const version = '99.0.0'
  const [nats, main] = await Promise.all([startNatsServers(t, 3), otherVersion(t, version)])
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '1000' })
  await leaderOf(nodes)
  const client = () => connect({ url: nodes.map(({ url }) => url), timeoutMs: 120_000, retriesMax: 100 })
  const films = await client().createCollection({ name: 'films', fields: [denseField('plot', { dimension: 2 })] })
  await films.upsert([{ id: 'first', fields: { plot: [1, 2] } }])
  // Other clients read it on any node.
  await caughtUp(await leaderOf(nodes), nodes)

  let isEnded = false
  const written: string[] = []
  const failures: unknown[] = []
  let reads = 0
  const writing = (async () => {
    while (!isEnded) {
      const id = `f${written.length}`
      await films.upsert([{ id, fields: { plot: [1, 2] } }])
      written.push(id)
    }
  })()
  const reading = [0, 1].map(async () => {
    const reader = client().collection('films')
    while (!isEnded) {
      const found = await reader.get('first').catch((error: unknown) => void failures.push(error))
      if (found?.id !== 'first') failures.push(`the object is missing in read ${reads}`)
      reads++
    }
  })

  const versionOf = async ({ url }: ClusterNode) => (await send(url, 'GET', '/api/v2/cluster')).json().version
  const before = await versionOf(nodes[0] as ClusterNode)
  t.not(before, version)
  const leader = await leaderOf(nodes)
  // The leader is the last one, so that the lead changes once.
  for (const node of [...nodes.filter((each) => each !== leader), leader]) {
    const others = nodes.filter((each) => each !== node)
    if ((await node.role()) === 'leader') await send(node.url, 'POST', '/api/v2/cluster/step-down')
    await leaderOf(others)
    await node.signal('SIGTERM')
    const [writes, readsBefore] = [written.length, reads]
    await until(() => written.length > writes + 5 && reads > readsBefore + 20)
    await node.start({}, main)
    await until(async () => ['leader', 'follower'].includes((await node.role()) ?? ''))
    t.equal(await versionOf(node), version, `${node.name} is upgraded`)
  }
  const count = written.length
  await until(() => written.length > count + 5)
  isEnded = true
  await Promise.all([writing, ...reading])
  t.strictSame(failures, [])
  t.comment(`${written.length} writes, ${reads} reads`)
  const { digests, missing } = await digestsOf(nodes, { collection: 'films', ids: written })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, 'all nodes have the same data')
})
