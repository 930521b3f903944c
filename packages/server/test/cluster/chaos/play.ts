// Plays one scenario: clients work, the fault strikes, the world heals, and everything that clients saw is compared with the log and with what
// every node has.
import { randomBytes } from 'node:crypto'
import type { Lsn } from '@annal/wal'
import { openReplicatedLog } from '@annal/wal/replicated'
import { seededRandom } from '@annal/wal/testing'
import type { Test } from 'tap'
import { clusterIdentity, logIdOf } from '../../../src/cluster/cluster-identity.ts'
import { openControlBucket } from '../../../src/cluster/control-bucket.ts'
import { openJetStreamStore } from '../../../src/cluster/jetstream-store.ts'
import { eventually, until } from '../../eventually.ts'
import { caughtUp } from '../cluster-nodes.ts'
import { Clients, call } from './clients.ts'
import { faultsIn, History, type Placed } from './history.ts'
import type { Scenario } from './scenarios.ts'
import { streamName, type World } from './world.ts'

/** What is played. */
export interface Play {
  /** Unique within a run. */
  readonly name: string
  readonly scenario: Scenario
  readonly seed: number
  readonly leaseMs: number
}

/** What a play had, and what was wrong. */
export interface Outcome {
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly unknown: number
  readonly readsAfterWrite: number
  readonly strongReads: number
  readonly plainReads: number
}

/** Plays a scenario in a world that serves. Afterwards it serves again. */
export async function play(t: Test, world: World, { name, scenario, seed, leaseMs }: Play): Promise<Outcome> {
  const random = seededRandom(seed)
  const history = new History()
  const isWhole = world.isWhole.bind(world)
  const clients = new Clients({ nodes: world.nodes, random: seededRandom(seed + 1), history, name, isWhole })
  await clients.more(10)
  await scenario({ t, world, clients, random, leaseMs })
  await world.heal()
  await world.serves()
  await clients.more(10)
  await clients.end()
  const leader = world.node(await world.leader())
  await caughtUp(leader, world.nodes)
  await digestsAreEqual(world)
  const faults = [...faultsIn(history, await valuesInLog(t, world)), ...(await missingObjects(world, history))]
  return {
    faults,
    acknowledged: history.acknowledged.length,
    unknown: history.writes.filter(({ lsn, isPossible }) => isPossible && lsn === undefined).length,
    readsAfterWrite: history.readsAfterWrite.length,
    strongReads: history.strongReads.length,
    plainReads: history.plainReads,
  }
}

/** Waits until every node has compared its newest state with the others. A node that differs leaves service, which ends the wait. */
async function digestsAreEqual(world: World): Promise<void> {
  for (const node of world.nodes)
    await until(async () => {
      const [compared, applied] = await Promise.all(
        ['annal_cluster_digest_lsn', 'annal_lsn_applied'].map((metric) => node.metric(metric)),
      )
      if (compared !== applied && (await node.role()) === 'out-of-service') await world.serves()
      return compared === applied
    })
}

/** Reads the log as a new node would, from its beginning, and returns where each value is. */
async function valuesInLog(t: Test, world: World): Promise<Placed> {
  const connection = await world.nats.connect('reads the log')
  const bucket = await openControlBucket(connection, { name: streamName, replicas: 3, requestMs: 2000 })
  const store = await openJetStreamStore({ name: streamName, replicas: 3, messageBytesMax: 1000, connection })
  const logId = logIdOf(await clusterIdentity(bucket, { store, own: undefined }))
  const log = await openReplicatedLog({ store, logId, writer: randomBytes(16) })
  const placed = new Map<string, number[]>()
  for await (const { lsn, payload } of log.read(log.state().lsnFirst as Lsn))
    for (const value of new Set(
      Buffer.from(payload)
        .toString('latin1')
        .match(/~[\w.-]+~/g),
    ))
      placed.set(value, [...(placed.get(value) ?? []), lsn])
  await log.close()
  await connection.close()
  t.comment(`the log has ${placed.size} values`)
  return placed
}

/** Every node has each object that was acknowledged and written once, and registers are the same on all. */
async function missingObjects(world: World, history: History): Promise<string[]> {
  const once = history.acknowledged.filter(({ key, value }) => key === value).map(({ key }) => key)
  const registers = [...new Set(history.writes.map(({ key }) => key))].filter((key) => !key.startsWith('~'))
  const faults: string[] = []
  const seen = new Map<string, string>()
  for (const node of world.nodes) {
    // A node on a loaded machine may need longer than a client waits.
    const found = await eventually(
      async () => (await call(node, 'objects/query', { ids: [...once, ...registers] }))?.body.objects,
    )
    const there = new Map(found.map(({ id, meta }) => [id, meta.value]))
    faults.push(...once.filter((id) => there.get(id) !== id).map((id) => `${id} is not on ${node.name}`))
    const values = registers.map((id) => `${id}=${there.get(id)}`).join(' ')
    const first = seen.values().next().value ?? values
    seen.set(node.name, values)
    if (values !== first) faults.push(`registers differ: ${JSON.stringify([...seen])}`)
  }
  return faults
}
