// The largest messages of a log: NATS sends some replies as base64 in JSON, which is a third longer than what it takes.
import tap, { test } from 'tap'
import type { ClusterConfig } from '../../src/cluster/cluster-config.ts'
import { openLogStore } from '../../src/cluster/log-store.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

for (const replicas of [1, 3])
  test(`the largest message is read back from ${replicas} NATS servers`, { skip: skipNats }, async (t) => {
    const nats = await startNatsServers(t, replicas)
    const connection = await nats.connect('tests')
    const config = { name: 'large', replicas } as ClusterConfig
    const store = await openLogStore(connection, config, async () => undefined)
    t.ok(store.messageBytesMax > 1_000_000, `${store.messageBytesMax} bytes`)
    const messages = [1, 2].map((byte) => Buffer.alloc(store.messageBytesMax, byte))
    for (const [i, message] of messages.entries())
      t.same(await store.append(message, i), { kind: 'stored', seq: i + 1 })
    for (const [i, message] of messages.entries()) {
      const found = await store.at(i + 1)
      t.ok(found !== undefined && message.equals(found.bytes), `message ${i + 1} by its number`)
    }
    const read: Uint8Array[] = []
    for await (const { bytes } of store.read(1, 2)) read.push(bytes)
    t.ok(read.length === 2 && messages.every((message, i) => message.equals(read[i] as Uint8Array)), 'both in order')
  })
