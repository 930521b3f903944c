// One log, replayed in new processes with one thread and two, in pieces of different sizes, on an idle and a busy machine, from its
// beginning and from intermediate snapshots, always gives the digests of the original run. In these processes, clocks and random numbers
// throw if the fold uses them.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { makeLog } from './work.ts'

const long = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const records = long ? 20_000 : 4_000
const timeout = long ? 3_600_000 : 600_000

tap.setTimeout(timeout)

interface Replay {
  readonly threads: number
  readonly readBytesMax: number
  readonly busy: boolean
  readonly checkpoint: string | undefined
}

const run = promisify(execFile)
const trap = new URL('trap.ts', import.meta.url).href
const child = fileURLToPath(new URL('replay-once.ts', import.meta.url))

async function replayDigests(dir: string, { threads, readBytesMax, busy, checkpoint }: Replay) {
  const dataDir = join(dir, 'copy')
  await cp(join(dir, 'data'), dataDir, { recursive: true })
  await rm(join(dataDir, 'checkpoints'), { recursive: true })
  if (checkpoint !== undefined) {
    await mkdir(join(dataDir, 'checkpoints'))
    await cp(join(dir, checkpoint), join(dataDir, 'checkpoints', checkpoint), { recursive: true })
  }
  const args = [dataDir, threads, readBytesMax, busy ? 'busy' : 'idle'].map(String)
  const { stdout } = await run(process.execPath, ['--conditions=annal-source', `--import=${trap}`, child, ...args])
  await rm(dataDir, { recursive: true })
  return JSON.parse(stdout) as { digests: string; replayed: number }
}

test(`every replay of a log gives the same digest, seed ${seed}`, { timeout }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-determinism-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const random = seededRandom(seed)
  const made = await makeLog(dir, { random, records, checkpoints: 5 })
  const fromStart: Replay[] = [
    { threads: 1, readBytesMax: 1 << 30, busy: false, checkpoint: undefined },
    { threads: 2, readBytesMax: 1 << 30, busy: false, checkpoint: undefined },
    { threads: 2, readBytesMax: 4096, busy: true, checkpoint: undefined },
    { threads: 1, readBytesMax: 517, busy: true, checkpoint: undefined },
    { threads: 4, readBytesMax: 65_537, busy: false, checkpoint: undefined },
  ]
  const fromSnapshots = made.checkpoints.map((checkpoint, i) => ({
    threads: 1 + (i % 2),
    readBytesMax: 1000 + random.below(100_000),
    busy: i % 2 === 0,
    checkpoint,
  }))
  // In the short form, a third of them by the seed.
  const replays = [...fromStart, ...fromSnapshots].filter((_, i) => long || (i + seed) % 3 === 0)
  for (const replay of replays) {
    const found = await replayDigests(dir, replay)
    t.equal(found.digests, made.digests, `${JSON.stringify(replay)}, ${found.replayed} records`)
    t.ok(found.replayed > 0, 'there was something to replay')
  }
  t.comment(`${made.records} records, seed ${seed}`)
})

test('the trap detects a fold that reads a clock', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-trap-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const asking = join(dir, 'engine', 'src', 'replica', 'asking.mjs')
  await mkdir(join(dir, 'engine', 'src', 'replica'), { recursive: true })
  await writeFile(asking, 'export const n = Date.now()\n')
  await t.rejects(run(process.execPath, [`--import=${trap}`, asking]), /the fold called Date\.now/)
})
