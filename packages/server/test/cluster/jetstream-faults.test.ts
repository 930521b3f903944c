// The log over three real NATS servers that are killed, stopped, and cut off while two writers take the log from each other:
// whatever was acknowledged is there once, at its LSN, and a follower sees all of it in order.
import { randomBytes } from 'node:crypto'
import { openReplicatedLog, type ReplicatedLog } from '@annal/wal/replicated'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { DiscardPolicy, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import tap, { type Test, test } from 'tap'
import { openJetStreamStore } from '../../src/cluster/jetstream-store.ts'
import { ensureLogStream, logSubject, WeakStreamError } from '../../src/cluster/log-stream.ts'
import { until } from '../eventually.ts'
import { type NatsServers, skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const stream = { name: 'log', replicas: 3, messageBytesMax: 64 * 1024 }

/** The server that leads the stream now. */
async function leaderOf(nats: NatsServers): Promise<number> {
  const manager = await jetstreamManager(await nats.connect('looks'), { checkAPI: false })
  const { cluster } = await manager.streams.info(stream.name)
  return Number(/^n(\d)$/.exec(cluster?.leader ?? '')?.[1])
}

/** A fault of servers that ends. `pick` is a number below 3. */
type Fault = (nats: NatsServers, pick: number) => Promise<void>

const shortFaults: Readonly<Record<string, Fault>> = {
  'the leader of the stream is killed': async (nats: NatsServers) => restart(nats, await leaderOf(nats)),
  'all servers are killed at once': async (nats: NatsServers) => {
    await Promise.all(nats.servers.map((server) => server.kill()))
    for (const server of nats.servers) server.start()
  },
}
/** With those that take long until the others notice. */
const faults: Readonly<Record<string, Fault>> = {
  ...shortFaults,
  'a server is killed': (nats: NatsServers, pick: number) => restart(nats, pick),
  'the leader of the stream hangs': async (nats: NatsServers) => hang(nats, await leaderOf(nats)),
}
const isLong = process.env.ANNAL_LONG === '1'

async function restart(nats: NatsServers, index: number): Promise<void> {
  await nats.servers[index]?.kill()
  nats.servers[index]?.start()
}

/** Stops a server for longer than the others wait for it. */
async function hang(nats: NatsServers, index: number): Promise<void> {
  nats.servers[index]?.signal('SIGSTOP')
  const manager = await jetstreamManager(await nats.connect('looks'), { checkAPI: false, timeout: 500 })
  await until(async () => {
    const info = await manager.streams.info(stream.name).catch(() => undefined)
    return info?.cluster?.leader !== undefined && info.cluster.leader !== `n${index}`
  })
  nats.servers[index]?.signal('SIGCONT')
}

async function node(t: Test, nats: NatsServers, name: string): Promise<ReplicatedLog> {
  const store = await openJetStreamStore({ ...stream, connection: await nats.connect(name), requestMs: 1000 })
  const log = await openReplicatedLog({ store, logId: 1n, writer: randomBytes(16) })
  t.teardown(() => log.close())
  return log
}

/** Two nodes, of which one leads, and the records that were acknowledged. */
class Writers {
  readonly acknowledged = new Map<number, string>()
  readonly #logs: readonly ReplicatedLog[]
  #sent = 0
  #epoch = 0
  #isEnded = false
  readonly #working: Promise<void>[] = []

  constructor(logs: readonly ReplicatedLog[]) {
    this.#logs = logs
    this.#working = logs.map((log) => this.#write(log))
  }

  /** The next node takes the log while the other one still believes that it leads. */
  async change(): Promise<void> {
    const log = this.#logs[++this.#epoch % this.#logs.length]
    await log?.stepDown()
    await log?.lead(this.#epoch)
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await Promise.all(this.#working)
  }

  async #write(log: ReplicatedLog): Promise<void> {
    while (!this.#isEnded) {
      const texts = Array.from({ length: 4 }, () => `${this.#sent++}`)
      const appends = texts.map(async (text) => {
        const { lsn } = await log.append({ type: 16, version: 1, payload: Buffer.from(text) })
        this.acknowledged.set(lsn, text)
      })
      const outcomes = await Promise.allSettled(appends)
      // A node that does not lead is refused at once.
      if (outcomes.some(({ status }) => status === 'rejected')) await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

test('acknowledged records survive the faults of NATS servers', { skip: skipNats, timeout: 600_000 }, async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const nats = await startNatsServers(t, 3)
  const follower = await node(t, nats, 'follower')
  const ending = new AbortController()
  const followed: string[] = []
  const following = (async () => {
    for await (const { records } of follower.tail(follower.position, ending.signal))
      for (const { lsn, payload } of records) {
        if (lsn !== followed.length + 1) throw new Error(`LSN ${lsn} follows ${followed.length}`)
        followed.push(Buffer.from(payload).toString())
      }
  })()
  const writers = new Writers([await node(t, nats, 'first'), await node(t, nats, 'second')])
  await writers.change()
  const rounds = isLong ? 50 : 1
  for (let round = 0; round < rounds; round++) {
    for (const [name, strike] of Object.entries(isLong ? faults : shortFaults)) {
      const before = writers.acknowledged.size
      await strike(nats, random.below(3))
      await until(() => writers.acknowledged.size > before + 20)
      const passed = writers.acknowledged.size - before
      // The old leader does not learn of it before its next append.
      await writers.change()
      t.ok(passed > 20, `${name}: ${passed} records were acknowledged meanwhile`)
    }
  }
  await writers.end()
  const reader = await node(t, nats, 'reader')
  const { lsnLast } = reader.state()
  await until(() => followed.length >= lsnLast)
  ending.abort()
  await following
  const wrong = [...writers.acknowledged].filter(([lsn, text]) => followed[lsn - 1] !== text)
  t.strictSame(wrong, [], `all ${writers.acknowledged.size} acknowledged records are at their LSNs`)
  t.equal(new Set(followed).size, followed.length, 'none is there twice')
})

test('a stream that could lose writes is refused, with each reason', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const connection = await nats.connect('tests')
  const manager = await jetstreamManager(connection)
  const weaknesses = {
    'storage is memory, it must be file': { storage: StorageType.Memory },
    'max_age is 1000000000, it must be 0': { max_age: 1_000_000_000 },
    'max_msgs is 10, it must be -1': { max_msgs: 10 },
    'retention is interest, it must be limits': { retention: RetentionPolicy.Interest },
    'discard is old, it must be new': { discard: DiscardPolicy.Old },
    'deny_delete is false, it must be true': { deny_delete: false },
    'max_msg_size is 100, it must be at least 2024': { max_msg_size: 100 },
    'allow_direct is false, it must be true': { allow_direct: false },
  }
  for (const [reason, weakness] of Object.entries(weaknesses)) {
    const name = `weak-${Object.keys(weakness)[0]}`
    const found = { name, replicas: 1, messageBytesMax: 1000 }
    const right = {
      name,
      subjects: [logSubject(name)],
      deny_delete: true,
      allow_direct: true,
      discard: DiscardPolicy.New,
      storage: StorageType.File,
      republish: { src: logSubject(name), dest: `annal.stored.${name}`, headers_only: true },
    }
    await manager.streams.add({ ...right, ...weakness })
    const error = await ensureLogStream(manager, found).catch((caught: unknown) => caught)
    t.ok(error instanceof WeakStreamError, String(error))
    t.match(String(error), `the stream ${name} cannot keep the log of a cluster: ${reason}`)
  }
  const single = { name: 'single', replicas: 1, messageBytesMax: 1000 }
  await ensureLogStream(manager, single)
  await t.rejects(ensureLogStream(manager, { ...single, replicas: 3 }), {
    message: 'the stream single cannot keep the log of a cluster: num_replicas is 1, it must be at least 3',
  })
  await ensureLogStream(manager, single)
})
