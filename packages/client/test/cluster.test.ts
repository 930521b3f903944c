// A client with the URLs of three real nodes over real NATS servers: it writes once and reads its own writes while leaders are killed.
import tap, { test } from 'tap'
import { leaderOf, startNodes } from '../../server/test/cluster/cluster-nodes.ts'
import { skipNats, startNatsServers } from '../../server/test/cluster/nats-servers.ts'
import { connect, denseField } from '../src/index.ts'

tap.setTimeout(600_000)

test('a client of three nodes writes once and reads what it wrote, while leaders are killed', {
  skip: skipNats,
  timeout: 600_000,
}, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '1000' })
  await leaderOf(nodes)
  const client = connect({ url: nodes.map(({ url }) => url), timeoutMs: 120_000, retriesMax: 100 })
  const films = await client.createCollection({ name: 'films', fields: [denseField('plot', { dimension: 2 })] })
  const object = (id: string) => ({ id, filter: { of: id }, fields: { plot: [1, 2] } })
  const writeAndRead = async (id: string) => {
    const { lsn } = await films.upsert([object(id), object(`${id}-gone`)])
    t.ok(lsn > 0)
    t.equal((await films.get(id))?.id, id, 'the write is in the next read')
    t.equal(await films.deleteWhere([{ of: { $eq: `${id}-gone` } }]), 1, 'a second execution would find none')
    t.equal(await films.get(`${id}-gone`), undefined)
  }
  for (let i = 0; i < 5; i++) await writeAndRead(`before-${i}`)
  for (let kill = 0; kill < 2; kill++) {
    const leader = await leaderOf(nodes)
    const writing = (async () => {
      for (let i = 0; i < 10; i++) await writeAndRead(`kill-${kill}-${i}`)
    })()
    await leader.signal('SIGKILL')
    await writing
    await leader.start()
  }
  t.equal(await films.count(undefined, { consistency: 'strong' }), 25)
  t.equal(await client.collection('films').count(undefined, { maxStalenessMs: 10_000 }), 25)
})
