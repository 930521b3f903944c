// Rounds in which the disks of one, of two, and of all three NATS servers fail, in turn, while clients work. Nothing that was acknowledged is
// lost, and the nodes have equal digests at the end.
import { chosenSeed } from '@annal/wal/testing'
import type { Test } from 'tap'
import { until } from '../../eventually.ts'
import { caughtUp, createCollection, digestsOf, leaderOf } from '../cluster-nodes.ts'
import { play } from './play.ts'
import type { Stage } from './scenarios.ts'
import { startWorld } from './world.ts'

/** What fails, and how often. */
export interface DiskRounds {
  /** Folders of the three NATS servers, each on a disk of its own. */
  readonly homes: readonly string[]
  readonly leaseMs: number
  /** Each has a round with one, with two, and with three failing disks. */
  readonly rounds: number
  /** Called when the NATS servers and the nodes run. */
  readonly begun?: () => Promise<void>
  /** Makes the disks with these indexes fail, and work again. */
  readonly fail: (failing: readonly number[], stage: Stage) => Promise<void>
  /** What happened to the disks of `count` servers. */
  readonly described: (count: number) => string
}

/** Plays the rounds in a cluster of three nodes. */
export async function playDiskRounds(t: Test, options: DiskRounds): Promise<void> {
  const { homes, leaseMs, rounds, begun, fail, described } = options
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const world = await startWorld(t, leaseMs, homes)
  await begun?.()
  await until(async () => [200, 409].includes(await createCollection(await leaderOf(world.nodes), 'things')))
  await world.serves()
  await caughtUp(await leaderOf(world.nodes), world.nodes)
  for (let number = 0; number < 3 * rounds; number++) {
    const count = 1 + (number % 3)
    const { faults, ...counts } = await play(t, world, {
      ...{ name: `${number}`, seed: seed + number, leaseMs },
      async scenario(stage) {
        const first = stage.random.below(3)
        const failing = Array.from({ length: count }, (_, i) => (first + i) % 3)
        await stage.clients.more(20)
        await fail(failing, stage)
      },
    })
    t.strictSame(faults, [], `${described(count)}: ${JSON.stringify(counts)}`)
  }
  const { digests } = await digestsOf(world.nodes, { collection: 'things', ids: [] })
  t.equal(new Set(digests).size, 1, digests.join(' | '))
}
