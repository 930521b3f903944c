// The log over real JetStream: every test that each Log and each replicated log must pass, on one NATS server and on three.
import { systemClock } from '@annal/wal'
import { openReplicatedLog } from '@annal/wal/replicated'
import { logSuite, replicatedLogSuite } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openJetStreamStore } from '../../src/cluster/jetstream-store.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

for (const replicas of [1, 3]) {
  test(`a log on ${replicas} NATS servers`, { skip: skipNats, timeout: 600_000 }, async (t) => {
    const nats = await startNatsServers(t, replicas)
    const connection = await nats.connect('tests')
    let streams = 0
    for (const { name, run } of logSuite) {
      await t.test(name, async () => {
        const stream = { name: `log-${streams++}`, replicas, messageBytesMax: 4096 }
        let epoch = 0
        await run(async () => {
          const store = await openJetStreamStore({ ...stream, connection })
          const log = await openReplicatedLog({ store, logId: 7n, writer: Buffer.alloc(16, 1) })
          await log.lead(++epoch)
          return log
        })
      })
    }
    for (const { name, run } of replicatedLogSuite) {
      await t.test(name, async () => {
        const stream = { name: `log-${streams++}`, replicas, messageBytesMax: 1024 }
        await run({ clock: systemClock(), connect: () => openJetStreamStore({ ...stream, connection }) })
      })
    }
  })
}
