// NATS servers whose disks lose power: what they had not synced is gone. With `sync_interval: always`, nothing that a cluster acknowledged is, also
// if all servers lose power at once. Linux as root only.
import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { makeDisk, type PowerCutDisk } from '../power-cut-disk.ts'
import { playDiskRounds } from './chaos/disk-rounds.ts'
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
  t.teardown(async () => {
    for (const disk of disks) await disk.remove()
  })
  await playDiskRounds(t, {
    homes: disks.map(({ dir }) => path.join(dir, 'home')),
    ...{ leaseMs, rounds },
    // The settings of the servers are on the disks as well, and were never synced.
    async begun() {
      for (const { dir } of disks) await promisify(execFile)('sync', ['-f', dir])
    },
    async fail(lost, { clients, world }) {
      await Promise.all(lost.map((index) => disks[index]?.cut()))
      await world.whileDown(lost, async () => {
        if (lost.length === 1) await clients.more(15)
        else await sleep(leaseMs)
        for (const index of lost) await disks[index]?.boot()
      })
    },
    described: (count) => `${count} servers lost power`,
  })
})
