// NATS servers whose disks lose power: what they had not synced is gone. With `sync_interval: always`, nothing that a cluster acknowledged is, also
// if all servers lose power at once. Linux as root only.
import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { until } from '../eventually.ts'
import { makeDisk, type PowerCutDisk } from '../power-cut-disk.ts'
import { play } from './chaos/play.ts'
import { startWorld } from './chaos/world.ts'
import { caughtUp, createCollection, digestsOf, leaderOf } from './cluster-nodes.ts'
import { skipNats } from './nats-servers.ts'

const isLong = process.env.ANNAL_LONG === '1'
const rounds = Number(process.env.ANNAL_ROUNDS ?? 5)
const timeout = 24 * 3_600_000
const leaseMs = 1000

tap.setTimeout(timeout)

const made = skipNats || !isLong ? [] : await Promise.allSettled([0, 1, 2].map(newDisk))
const disks = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
const [failure] = made.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
const skip = skipNats || failure || (isLong ? false : 'long runs only (ANNAL_LONG=1)')
if (failure !== undefined) for (const disk of disks) await disk.remove()

async function newDisk(): Promise<PowerCutDisk> {
  return makeDisk(await mkdtemp(path.join(os.tmpdir(), 'annal-power-')))
}

test('NATS servers that lose power lose nothing that a cluster acknowledged', { skip, timeout }, async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  t.teardown(async () => {
    for (const disk of disks) await disk.remove()
  })
  const homes = disks.map(({ dir }) => path.join(dir, 'home'))
  const world = await startWorld(t, leaseMs, homes)
  // Their settings are there as well, and were never synced.
  for (const { dir } of disks) await promisify(execFile)('sync', ['-f', dir])
  await until(async () => [200, 409].includes(await createCollection(await leaderOf(world.nodes), 'things')))
  await world.serves()
  await caughtUp(await leaderOf(world.nodes), world.nodes)
  for (let number = 0; number < 3 * rounds; number++) {
    const count = 1 + (number % 3)
    const { faults, ...counts } = await play(t, world, {
      ...{ name: `${number}`, seed: seed + number, leaseMs },
      async scenario({ clients, random }) {
        const first = random.below(3)
        const lost = Array.from({ length: count }, (_, i) => (first + i) % 3)
        await clients.more(20)
        await Promise.all(lost.map((index) => disks[index]?.cut()))
        await world.whileDown(lost, async () => {
          if (count === 1) await clients.more(15)
          else await sleep(leaseMs)
          for (const index of lost) await disks[index]?.boot()
        })
      },
    })
    t.strictSame(faults, [], `${count} servers lost power: ${JSON.stringify(counts)}`)
  }
  const { digests } = await digestsOf(world.nodes, { collection: 'things', ids: [] })
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})
