// Three nodes, three NATS servers, and clients, while one fault after the other strikes: nothing acknowledged is lost or there twice, nodes have
// equal digests, a read with `min_lsn` sees its write, and strong reads are linearizable. ANNAL_LONG=1 plays every scenario ANNAL_ROUNDS
// times, and ANNAL_ONLY chooses those whose name has a text.
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { until } from '../eventually.ts'
import { play } from './chaos/play.ts'
import { scenarios } from './chaos/scenarios.ts'
import { startWorld } from './chaos/world.ts'
import { caughtUp, createCollection, digestsOf, leaderOf } from './cluster-nodes.ts'
import { skipNats } from './nats-servers.ts'

const isLong = process.env.ANNAL_LONG === '1'
const rounds = Number(process.env.ANNAL_ROUNDS ?? (isLong ? 5 : 1))
const only = process.env.ANNAL_ONLY
const timeout = isLong ? 24 * 3_600_000 : 300_000
/** Those that strike several parts, in one short run. */
const short = [
  'the leader and the leader of the stream are killed',
  'the leader is cut off from NATS',
  'all NATS servers are killed',
  'bits of one NATS store are flipped',
]
const leaseMs = 1000

tap.setTimeout(timeout)

test('faults of nodes, NATS servers, and links lose nothing and show nothing old', {
  skip: skipNats,
  timeout,
}, async (t) => {
  const seed = chosenSeed(isLong ? undefined : 20261123)
  t.comment(`ANNAL_SEED=${seed}`)
  const chosen = Object.entries(scenarios).filter(([name]) =>
    only === undefined ? isLong || short.includes(name) : name.includes(only),
  )
  const world = await startWorld(t, leaseMs)
  // A machine that is busy may answer too late, and the collection is there.
  await until(async () => [200, 409].includes(await createCollection(await leaderOf(world.nodes), 'things')))
  await world.serves()
  await caughtUp(await leaderOf(world.nodes), world.nodes)
  let number = 0
  for (let round = 0; round < rounds; round++)
    for (const [name, scenario] of chosen) {
      number++
      t.comment(`${name}, round ${round}`)
      const { faults, ...counts } = await play(t, world, { name: `${number}`, scenario, seed: seed + number, leaseMs })
      t.strictSame(faults, [], `${name}, round ${round}: ${JSON.stringify(counts)}`)
    }
  const { digests } = await digestsOf(world.nodes, { collection: 'things', ids: [] })
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})
