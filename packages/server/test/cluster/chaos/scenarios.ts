// What is done to nodes, NATS servers, and the links between them. The world is healed after each scenario.

import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@annal/wal/testing'
import type { Test } from 'tap'
import { eventually } from '../../eventually.ts'
import type { Clients } from './clients.ts'
import { streamName, type World } from './world.ts'

/** What a scenario works with. */
export interface Stage {
  readonly t: Test
  readonly world: World
  readonly clients: Clients
  readonly random: Random
  readonly leaseMs: number
}

/** Strikes, and resolves when the world may be healed. */
export type Scenario = (stage: Stage) => Promise<void>

/** Writes go on in spite of the fault. */
const goesOn = ({ clients }: Stage) => clients.more(15)

/** Nobody can write, or only some can: waits longer than a lease. */
const lasts = ({ leaseMs }: Stage, leases = 2) => sleep(leaseMs * leases)

const servers = [0, 1, 2]
const others = (index: number) => servers.filter((each) => each !== index)

/** A node other than the leader. */
const follower = async ({ world, random }: Stage) => ((await world.leader()) + 1 + random.below(2)) % 3

/** A NATS server other than the leader of the stream. */
const replica = async ({ world, random }: Stage) => ((await world.streamLeader()) + 1 + random.below(2)) % 3

export const scenarios: Readonly<Record<string, Scenario>> = {
  'the leader is killed': async (stage) => {
    await stage.world.kill(stage.world.node(await stage.world.leader()))
    await goesOn(stage)
  },
  'a follower is killed': async (stage) => {
    await stage.world.kill(stage.world.node(await follower(stage)))
    await goesOn(stage)
  },
  'the leader hangs': async (stage) => {
    await stage.world.stop(stage.world.node(await stage.world.leader()))
    await goesOn(stage)
  },
  'a follower hangs': async (stage) => {
    await stage.world.stop(stage.world.node(await follower(stage)))
    await goesOn(stage)
  },
  'two nodes are killed, one of them the leader': async (stage) => {
    const { world } = stage
    const leader = await world.leader()
    await Promise.all([leader, (leader + 1) % 3].map((index) => world.kill(world.node(index))))
    await goesOn(stage)
  },
  'all nodes are killed': async ({ world }) => {
    await Promise.all(world.nodes.map((node) => world.kill(node)))
  },
  'the leader is cut off from NATS': async (stage) => {
    const links = stage.world.ofNode(await stage.world.leader())
    for (const link of links) link.hold('there', 'back')
    await goesOn(stage)
  },
  'connections of the leader to NATS are reset': async (stage) => {
    for (const link of stage.world.ofNode(await stage.world.leader())) link.cut()
    await goesOn(stage)
  },
  'a follower is cut off from NATS': async (stage) => {
    for (const link of stage.world.ofNode(await follower(stage))) link.hold('there', 'back')
    await goesOn(stage)
    await lasts(stage)
  },
  'NATS hears the leader, and its replies are lost': async (stage) => {
    for (const link of stage.world.ofNode(await stage.world.leader())) link.hold('back')
    await goesOn(stage)
  },
  'the leader hears NATS, and its requests are lost': async (stage) => {
    for (const link of stage.world.ofNode(await stage.world.leader())) link.hold('there')
    await goesOn(stage)
  },
  'the leader is slow to reach NATS': async (stage) => {
    for (const link of stage.world.ofNode(await stage.world.leader())) link.delayMs = 60
    await goesOn(stage)
  },
  'a follower is slow to reach NATS': async (stage) => {
    for (const link of stage.world.ofNode(await follower(stage))) link.delayMs = 150
    await goesOn(stage)
  },
  'other nodes do not reach the leader': async (stage) => {
    const door = stage.world.doors[await stage.world.leader()]
    door?.hold('there', 'back')
    await goesOn(stage)
  },
  'the leader of the stream is killed': async (stage) => {
    await stage.world.kill(stage.world.server(await stage.world.streamLeader()))
    await goesOn(stage)
  },
  'another NATS server is killed': async (stage) => {
    await stage.world.kill(stage.world.server(await replica(stage)))
    await goesOn(stage)
  },
  'the leader of the stream hangs': async (stage) => {
    await stage.world.stop(stage.world.server(await stage.world.streamLeader()))
    await goesOn(stage)
  },
  'two NATS servers are killed': async (stage) => {
    const last = await replica(stage)
    await Promise.all(others(last).map((index) => stage.world.kill(stage.world.server(index))))
    await lasts(stage)
  },
  'all NATS servers are killed': async (stage) => {
    await Promise.all(stage.world.nats.servers.map((server) => stage.world.kill(server)))
    await lasts(stage, 1)
  },
  'the leader and the leader of the stream are killed': async (stage) => {
    const { world } = stage
    const [node, server] = await Promise.all([world.leader(), world.streamLeader()])
    await Promise.all([world.kill(world.node(node)), world.kill(world.server(server))])
    await goesOn(stage)
  },
  'the leader of the stream is cut off from the other NATS servers': async (stage) => {
    const index = await stage.world.streamLeader()
    for (const { link } of stage.world.between([index], others(index))) link.hold('there', 'back')
    await goesOn(stage)
  },
  'the leader of the stream does not hear the others': async (stage) => {
    const index = await stage.world.streamLeader()
    for (const { link, way } of stage.world.between(others(index), [index])) link.hold(way)
    await goesOn(stage)
  },
  'two NATS servers do not reach each other': async (stage) => {
    const [a = 0, b = 1] = others(stage.random.below(3))
    for (const { link } of stage.world.between([a], [b])) link.cut()
    await goesOn(stage)
  },
  'NATS servers do not reach each other': async (stage) => {
    for (const index of servers) for (const { link } of stage.world.between([index], others(index))) link.cut()
    await lasts(stage)
  },
  'the leader is alone with the leader of the stream': async (stage) => {
    const { world } = stage
    const [node, server] = await Promise.all([world.leader(), world.streamLeader()])
    for (const { link } of world.between([server], others(server))) link.hold('there', 'back')
    for (const [at, links] of world.natsLinks.entries())
      for (const [to, link] of links.entries()) if ((at === node) !== (to === server)) link.hold('there', 'back')
    for (const door of world.doors) door.cut()
    await goesOn(stage)
  },
  'a collection is rebuilt and vacuumed while the leader changes': async (stage) => {
    const { world } = stage
    const leader = world.node(await world.leader())
    const path = `${leader.url}/api/v2/collection/things`
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const rebuild = await fetch(`${path}/rebuild`, {
      ...json,
      body: JSON.stringify({ fields: [{ field: 'dense', M: 4 + 2 * stage.random.below(6) }] }),
    })
    const vacuum = fetch(`${path}/vacuum`, { method: 'POST' }).catch(() => undefined)
    stage.t.comment(`rebuild: ${rebuild.status}`)
    await world.kill(leader)
    await vacuum
    await goesOn(stage)
  },
  'bits of one NATS store are flipped': (stage) => damage(stage, isOfStream, flipBits),
  'bits of the other files of one NATS store are flipped': (stage) => damage(stage, isOfOthers, flipBits),
  'one NATS store is truncated': (stage) => damage(stage, isOfStream, cutShort),
  'another file of one NATS store is truncated': (stage) => damage(stage, isOfOthers, cutShort),
  'one NATS store is empty': async (stage) => {
    const index = await replica(stage)
    await stage.world.whileDown([index], () => stage.world.replaceStore(index, undefined))
    await goesOn(stage)
  },
  'one NATS store is an older copy': async (stage) => {
    const { t, world } = stage
    const index = stage.random.below(3)
    let copy: string | undefined
    await world.whileDown([index], async () => {
      copy = await world.copyStore(t, index)
    })
    await stage.clients.more(30)
    await world.whileDown([index], () => world.replaceStore(index, copy))
    await goesOn(stage)
  },
  'a NATS server is removed from the stream while it is cut off': async (stage) => {
    const { world, t } = stage
    const index = await replica(stage)
    for (const { link } of world.between([index], others(index))) link.hold('there', 'back')
    await goesOn(stage)
    const reply = await removePeer(stage, index)
    t.comment(`NATS replied ${JSON.stringify(reply)}`)
    await goesOn(stage)
  },
}

const isOfStream = (file: string) => file.includes(`streams/${streamName}/`)
/** Consensus of NATS, and the bucket of the cluster. */
const isOfOthers = (file: string) => !isOfStream(file)

/** Damages a file with messages of one NATS server that does not run. */
async function damage(
  stage: Stage,
  isChosen: (file: string) => boolean,
  hurt: (file: string, random: Random) => Promise<string>,
): Promise<void> {
  const { world, random, t } = stage
  const index = random.chance(0.5) ? await world.streamLeader() : await replica(stage)
  await stage.clients.more(10)
  await world.whileDown([index], async () => {
    const store = path.join(world.server(index).directory, 'jetstream')
    const files = (await readdir(store, { recursive: true })).filter((file) => file.endsWith('.blk') && isChosen(file))
    const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(store, file))).size))
    const written = files.filter((_, i) => (sizes[i] ?? 0) > 0)
    const file = written[random.below(written.length)]
    if (file === undefined) throw new Error(`n${index} has no messages`)
    t.comment(`n${index}: ${file}: ${await hurt(path.join(store, file), random)}`)
  })
  await goesOn(stage)
}

async function flipBits(file: string, random: Random): Promise<string> {
  const bytes = await readFile(file)
  const places = Array.from({ length: 3 }, () => random.below(bytes.length))
  for (const at of places) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
  await writeFile(file, bytes)
  return `bits flipped in bytes ${places.join(', ')} of ${bytes.length}`
}

async function cutShort(file: string, random: Random): Promise<string> {
  const { length } = await readFile(file)
  const kept = random.below(length)
  await truncate(file, kept)
  return `${length - kept} of ${length} bytes cut off`
}

/** Asks NATS to remove a server from the replicas of the stream. */
function removePeer({ world }: Stage, index: number): Promise<object> {
  return eventually(async () => {
    const connection = await world.nats.connect('removes')
    const body = JSON.stringify({ peer: `n${index}` })
    const reply = await connection
      .request(`$JS.API.STREAM.PEER.REMOVE.${streamName}`, body, { timeout: 5000 })
      .catch(() => undefined)
    await connection.close()
    return reply?.json<object>()
  })
}
