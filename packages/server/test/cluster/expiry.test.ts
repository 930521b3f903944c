// Objects expire on engines that share a log in JetStream.
import { systemClock } from '@annal/wal'
import tap, { test } from 'tap'
import { onlyTheLeaderDeletes } from '../../../engine/test/replicated/expiry-of-nodes.ts'
import { openJetStreamStore } from '../../src/cluster/jetstream-store.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

test('only the leader deletes what has expired, and every node hides it', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const connection = await nats.connect('tests')
  const connect = () => openJetStreamStore({ name: 'log', replicas: 1, messageBytesMax: 16_384, connection })
  await onlyTheLeaderDeletes(t, { sim: { connect }, clock: systemClock() })
})
