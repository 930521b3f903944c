// TIP never says less than its last sync covered, whatever happens to later writes, and never more than it was given.
import { test } from 'tap'
import { chosenSeed, ManualClock, SimDisk, seededRandom } from '../src/testing/index.ts'
import { openTip, readTip } from '../src/tip.ts'
import { patient, sized } from './patience.ts'

test('a synced TIP value survives every crash', patient, async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const wrong: string[] = []
  // The last synced slot must be overwritten at the worst moment: some hundreds of histories show it, fewer may not.
  const count = Math.max(1000, sized(3000, 100_000))
  for (let n = 0; n < count; n++) {
    const random = seededRandom(seed + n)
    const disk = new SimDisk({ random })
    await disk.vfs().makeDirectory('/wal')
    await disk.vfs().syncDirectory('/')
    let noted = 0
    let synced = 0
    for (let life = 0; life < 3; life++) {
      disk.stopAt(1 + random.below(40))
      const live = async () => {
        const found = await readTip(disk.vfs(), '/wal')
        // Like a start of the log: it first makes the names it found durable.
        await disk.vfs().syncDirectory('/wal')
        const options = {
          vfs: disk.vfs(),
          dir: '/wal',
          clock: new ManualClock(),
          syncEveryMs: 100,
          found,
          onError: t.error,
        }
        const tip = await openTip(options, { durableLsn: noted, segmentId: 1 })
        for (;;) {
          noted++
          tip.note(noted, 1)
          // Long enough for the write to happen, so that several writes follow one sync.
          for (let turn = 0; turn < 8; turn++) await undefined
          if (random.chance(0.6)) continue
          const covered = noted
          await tip.sync()
          synced = covered
        }
      }
      await Promise.race([live(), stopped(disk)])
      disk.restart(random.chance(0.3) ? 'kill' : 'power')
      const { newest } = await readTip(disk.vfs(), '/wal')
      const says = newest?.durableLsn ?? 0
      if (says < synced || says > noted) wrong.push(`seed ${seed + n}: says ${says}, synced ${synced}, noted ${noted}`)
    }
  }
  t.same(wrong.slice(0, 5), [])
})

async function stopped(disk: SimDisk): Promise<void> {
  while (!disk.isStopped) await new Promise((resolve) => setImmediate(resolve))
}
