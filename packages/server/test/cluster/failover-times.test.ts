// Measures how long nobody acknowledges writes after the leader is killed, hangs, or is stopped, and after NATS loses the leader of the stream.
// Long runs only, since times depend on the machine; nothing acknowledged may be lost in any of them.
import { jetstreamManager } from '@nats-io/jetstream'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import {
  type ClusterNode,
  caughtUp,
  createCollection,
  digestsOf,
  leaderOf,
  startNodes,
  Writer,
} from './cluster-nodes.ts'
import { type NatsServers, skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(1_800_000)

const rounds = Number(process.env.ANNAL_ROUNDS ?? 20)
const skip = process.env.ANNAL_LONG === '1' ? skipNats : 'long runs only (ANNAL_LONG=1)'
const secondsMax = Number(process.env.ANNAL_SECONDS_MAX ?? 1200)
const only = process.env.ANNAL_ONLY
const things = 'things'

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function report(t: Test, what: string, values: readonly number[]): void {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.round)
  t.comment(`${what}: median ${Math.round(median(values))} ms, ${least} to ${most}, ${values.length} times`)
}

/** Something that a leader or NATS is lost by, and how it comes back. */
interface Loss {
  readonly isOfNats: boolean
  strike(leader: ClusterNode): Promise<void>
  recover(leader: ClusterNode): Promise<void>
}

function signals(signal: NodeJS.Signals): Loss {
  return {
    isOfNats: false,
    strike: (leader) => leader.signal(signal),
    recover: (leader) => (signal === 'SIGSTOP' ? leader.signal('SIGCONT') : leader.start()),
  }
}

/** The NATS server that leads the stream is killed. */
async function natsLoss(nats: NatsServers): Promise<Loss> {
  const manager = await jetstreamManager(await nats.connect('looks'), { checkAPI: false, timeout: 1000 })
  let lost: NatsServers['servers'][number] | undefined
  return {
    isOfNats: true,
    async strike() {
      const { cluster } = await manager.streams.info('annal-annal')
      lost = nats.servers[Number(/^n(\d)$/.exec(cluster?.leader ?? '')?.[1])]
      await lost?.kill()
    },
    async recover() {
      lost?.start()
      await until(async () => {
        const info = await manager.streams.info('annal-annal').catch(() => undefined)
        return info?.cluster?.replicas?.every(({ current }) => current) === true
      })
    },
  }
}

test('failover times with the usual lease', { skip, timeout: 1_800_000 }, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3)
  t.equal(await createCollection(await leaderOf(nodes), things), 200)
  const writers = nodes.map((node) => new Writer([node], things, `${node.name}-`, 0))
  const newest = () => Math.max(...writers.map(({ acknowledgedAt }) => acknowledgedAt.at(-1) ?? 0))
  const losses: Readonly<Record<string, Loss>> = {
    SIGKILL: signals('SIGKILL'),
    SIGSTOP: signals('SIGSTOP'),
    SIGTERM: signals('SIGTERM'),
    'NATS leader killed': await natsLoss(nats),
  }
  for (const [name, loss] of Object.entries(losses)) {
    if (only !== undefined && !name.includes(only)) continue
    const gaps: number[] = []
    const started = performance.now()
    for (let round = 0; round < rounds && performance.now() - started < 1000 * secondsMax; round++) {
      const leader = await leaderOf(nodes)
      await caughtUp(leader, nodes)
      const before = newest()
      await until(() => newest() > before)
      const beganMs = performance.now()
      const struck = loss.strike(leader)
      // A write that NATS had already is acknowledged within a moment of its loss.
      const fromMs = loss.isOfNats ? await struck.then(() => performance.now()) : beganMs
      const others = writers.filter((_, i) => loss.isOfNats || nodes[i] !== leader)
      const next = () => others.flatMap(({ acknowledgedAt }) => acknowledgedAt.find((at) => at > fromMs) ?? [])
      await until(() => next().length > 0)
      gaps.push(Math.min(...next()) - beganMs)
      await struck
      await loss.recover(leader)
      await until(async () => {
        const roles = await Promise.all(nodes.map((node) => node.role()))
        return roles.filter((role) => role === 'follower').length === 2 && roles.includes('leader')
      })
    }
    report(t, `${name}: no acknowledgement for`, gaps)
  }
  await Promise.all(writers.map((writer) => writer.end()))
  await caughtUp(await leaderOf(nodes), nodes)
  const ids = writers.flatMap(({ acknowledged }) => acknowledged)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids })
  t.strictSame(missing, [], `${ids.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1)
})
