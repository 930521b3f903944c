// NATS servers whose disks are full: writes are acknowledged by a majority that has space, or refused. Nothing that was acknowledged is lost,
// and writing goes on when there is space again. Linux as root only.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { test } from 'tap'
import { playDiskRounds } from './chaos/disk-rounds.ts'
import { skipNats } from './nats-servers.ts'

const isLong = process.env.ANNAL_LONG === '1'
const rounds = Number(process.env.ANNAL_ROUNDS ?? 3)
const timeout = 24 * 3_600_000
const leaseMs = 1000

tap.setTimeout(timeout)

/** Mounts a small file system. Returns undefined where that is not possible. */
function mountSmall(): string | undefined {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-small-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', dir], { stdio: 'pipe' })
    return dir
  } catch {
    rmSync(dir, { recursive: true })
    return undefined
  }
}

function fill(dir: string): void {
  const block = Buffer.alloc(1 << 20)
  for (let size = block.length; size > 0; size >>= 2)
    try {
      for (;;) appendFileSync(path.join(dir, 'filler'), block.subarray(0, size))
    } catch {
      // Smaller blocks may still fit.
    }
}

const disks = skipNats || !isLong ? [] : [0, 1, 2].map(mountSmall).flatMap((dir) => dir ?? [])
const skip = skipNats || (isLong ? disks.length < 3 && 'nothing can be mounted here' : 'long runs only (ANNAL_LONG=1)')

test('NATS servers with full disks lose nothing that a cluster acknowledged', { skip, timeout }, async (t) => {
  t.teardown(() => {
    for (const dir of disks) execFileSync('umount', ['-l', dir])
    for (const dir of disks) rmSync(dir, { recursive: true })
  })
  await playDiskRounds(t, {
    homes: disks.map((dir) => path.join(dir, 'home')),
    ...{ leaseMs, rounds },
    async fail(full, { clients, world }) {
      for (const index of full) fill(disks[index] ?? '')
      if (full.length === 1) await clients.more(30)
      else await sleep(3 * leaseMs)
      for (const index of full) rmSync(path.join(disks[index] ?? '', 'filler'))
      // A NATS server that found no space stores nothing until it is started again.
      await world.whileDown(full, async () => undefined)
    },
    described: (count) => `the disks of ${count} servers were full`,
  })
})
