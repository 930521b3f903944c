// The shared suites: three disks, and the log on each of them under each policy.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { nodeVfs, openFileLog, type Vfs } from '../src/index.ts'
import { faultVfs, logSuite, SimDisk, seededRandom, vfsSuite } from '../src/testing/index.ts'

const disks: Readonly<Record<string, () => Vfs>> = {
  'the real disk': nodeVfs,
  'the simulated disk': () => new SimDisk({ random: seededRandom(1) }).vfs(),
  'the real disk behind the fault wrapper, with writes cut short': () =>
    faultVfs(nodeVfs(), ({ call, bytes }) => (call === 'write' && bytes > 3 ? { short: 1 + (bytes >> 1) } : undefined)),
}

async function placed(t: { teardown(fn: () => void): void }, makeVfs: () => Vfs): Promise<{ vfs: Vfs; dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'annal-suite-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const vfs = makeVfs()
  await vfs.makeDirectory(dir)
  return { vfs, dir }
}

for (const [disk, makeVfs] of Object.entries(disks)) {
  for (const { name, run } of vfsSuite) {
    test(`${disk}: ${name}`, async (t) => {
      const { vfs, dir } = await placed(t, makeVfs)
      await run(vfs, dir)
    })
  }
  for (const fsync of ['always', 'interval', 'none'] as const) {
    for (const { name, run } of logSuite) {
      test(`the log on ${disk} with fsync=${fsync}: ${name}`, async (t) => {
        const { vfs, dir } = await placed(t, makeVfs)
        await run(() => openFileLog({ dir: join(dir, 'wal'), vfs, fsync, segmentBytesMax: 2048, freeBytesHard: 0 }))
      })
    }
  }
}
