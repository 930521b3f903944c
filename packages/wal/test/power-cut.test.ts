// Real power cuts: a real process on a real file system that loses everything unsynced, repeatedly on one directory.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { openFileLog } from '../src/index.ts'
import { chosenSeed, seededRandom } from '../src/testing/index.ts'
import { patient, sized } from './patience.ts'
import { appenderScript } from './real-process.ts'

const cutScript = fileURLToPath(new URL('./native/power-cut.py', import.meta.url))
const quiet = { stdio: 'pipe' } as const

/**
 * Runs the appender until `enough` records are acknowledged, cuts the power, and returns the LSN and name of each of
 * them. Acknowledgments after the order to cut do not count: a sync in progress while ext4 shuts down may return
 * without an error (a bare loop of write and fdatasync shows the same), whereas a real machine would not report
 * anything any more.
 */
async function appendUntilCut(mounted: string, dir: string, enough: number): Promise<Map<number, string>> {
  const cutter = spawn('python3', [cutScript, mounted], { stdio: ['pipe', 'inherit', 'inherit'] })
  const cut = once(cutter, 'close')
  const args = ['--conditions=annal-source', appenderScript, dir, '1000000', '4']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'close')
  const acked = new Map<number, string>()
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, name = '', lsn] = line.split(' ')
    if (word !== 'ack' || acked.size >= enough) continue
    acked.set(Number(lsn), name)
    if (acked.size === enough) cutter.stdin.end('now\n')
  }
  await ended
  await cut
  return acked
}

test('records acknowledged before a power cut are there afterwards', patient, async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const place = mkdtempSync(join(tmpdir(), 'annal-power-'))
  const [image, mounted] = [join(place, 'image'), join(place, 'mounted')]
  const mount = () => execFileSync('mount', ['-o', 'loop', image, mounted], quiet)
  const unmount = () => execFileSync('umount', [mounted], quiet)
  try {
    mkdirSync(mounted)
    execFileSync('truncate', ['-s', '64M', image], quiet)
    execFileSync('mkfs.ext4', ['-q', '-F', image], quiet)
    mount()
    execFileSync('python3', [cutScript, mounted], { stdio: 'pipe', input: 'now\n' })
    unmount()
    mount()
  } catch (error) {
    rmSync(place, { recursive: true, force: true })
    t.pass('real power cuts', { skip: `a loop mount that can be shut down is not available here: ${String(error)}` })
    return
  }
  t.teardown(() => {
    unmount()
    rmSync(place, { recursive: true, force: true })
  })
  const dir = join(mounted, 'wal')
  let total = 0
  for (let round = 0; round < sized(20, 300); round++) {
    const acked = await appendUntilCut(mounted, dir, 1 + random.below(400))
    unmount()
    mount()
    const log = await openFileLog({ dir, freeBytesHard: 0 })
    const { lsnFirst, lsnLast } = log.state()
    const found = new Map<number, string>()
    for await (const { lsn, payload } of log.read(lsnFirst))
      found.set(lsn, Buffer.from(payload).toString().slice(0, 10))
    const lost = [...acked].filter(([lsn, name]) => found.get(lsn) !== name)
    t.same(lost, [], `cut ${round}: all ${acked.size} acknowledged are there`)
    total += acked.size
    await log.truncateBefore(lsnLast)
    await log.close()
  }
  t.ok(total > 0, `${total} records acknowledged in all`)
})
