// The identity of a cluster whose bucket was lost, over a real NATS server: a node with the data of the log puts it back, and no other one
// gives the cluster a new one.
import { randomUUID } from 'node:crypto'
import { WalError } from '@annal/wal'
import { openReplicatedLog } from '@annal/wal/replicated'
import { jetstreamManager } from '@nats-io/jetstream'
import tap, { test } from 'tap'
import { clusterIdentity, logIdOf } from '../../src/cluster/cluster-identity.ts'
import { openControlBucket } from '../../src/cluster/control-bucket.ts'
import { openJetStreamStore } from '../../src/cluster/jetstream-store.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

test('a lost identity is put back, and never replaced', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const connection = await nats.connect('tests')
  const openBucket = () => openControlBucket(connection, { name: 'annal-x', replicas: 1, requestMs: 4000 })
  const store = await openJetStreamStore({ name: 'annal-x', replicas: 1, messageBytesMax: 4096, connection })
  let bucket = await openBucket()

  const early = await clusterIdentity(bucket, { store, own: randomUUID() }).catch((error: unknown) => error)
  t.match(early, { code: 'identity_mismatch', message: /its log in NATS is empty/ }, 'a directory with data')
  const uuid = await clusterIdentity(bucket, { store, own: undefined })
  t.equal(await clusterIdentity(bucket, { store, own: randomUUID() }), uuid, 'the bucket has it')
  const log = await openReplicatedLog({ store, logId: logIdOf(uuid), writer: Buffer.alloc(16, 1) })
  await log.lead(1)

  const manager = await jetstreamManager(connection, { checkAPI: false })
  await manager.streams.delete('KV_annal-x')
  bucket = await openBucket()
  for (const own of [undefined, randomUUID()]) {
    const refused = await clusterIdentity(bucket, { store, own }).catch((error: unknown) => error)
    t.ok(refused instanceof WalError && refused.code === 'identity_mismatch', String(refused))
    t.match(String(refused), /the bucket was lost/)
  }
  t.equal(await clusterIdentity(bucket, { store, own: uuid }), uuid, 'the directory of this node belongs to the log')
  t.equal(await clusterIdentity(bucket, { store, own: undefined }), uuid, 'other nodes find it in the bucket')
  await log.close()
})

test('nodes that begin a cluster at the same time have one identity', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const connection = await nats.connect('tests')
  const begin = async () => {
    const bucket = await openControlBucket(connection, { name: 'annal-y', replicas: 1, requestMs: 4000 })
    const store = await openJetStreamStore({ name: 'annal-y', replicas: 1, messageBytesMax: 4096, connection })
    return clusterIdentity(bucket, { store, own: undefined })
  }
  t.equal(new Set(await Promise.all(Array.from({ length: 8 }, begin))).size, 1)
})
