// The time of a replay grows linearly with the log, and its memory does not grow with the log. Both logs write the same few objects
// repeatedly, so only their length differs.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openEngine } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(600_000)

const metaBytes = 32_000
const batch = 10
const ids = 200
/** Records of the shorter log; the other one is four times as long. */
const records = process.env.ANNAL_LONG === '1' ? 800 : 200
/** Every log is replayed until the figures are reached, at most this many times. */
const runsMax = 6

interface Cost {
  readonly cpuMs: number
  readonly peakBytes: number
  readonly replayed: number
  readonly logBytes: number
}

interface Costs {
  readonly empty: Cost
  readonly short: Cost
  readonly long: Cost
}

async function writeLog(dataDir: string, count: number): Promise<void> {
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 8, space_type: 'l2', M: 4, ef_con: 8 } }] as const
  const engine = await openEngine({ dataDir, threads: 1, keepLog: true })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const meta = new Uint8Array(metaBytes).fill(7)
  for (let n = 0; n < count; n++) {
    const objects = Array.from({ length: batch }, (_, i) => ({
      id: `${(n * batch + i) % ids}`,
      meta,
      fields: { v: Array.from({ length: 8 }, (__, index) => (n * 31 + i * 7 + index) % 11) },
    }))
    await collection.upsert(objects)
  }
  await engine.close()
  await rm(join(dataDir, 'checkpoints'), { recursive: true })
}

async function costOf(dataDir: string): Promise<Cost> {
  const once = fileURLToPath(new URL('recovery-once.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=annal-source', once, dataDir])
  return JSON.parse(stdout) as Cost
}

/** Other work on the machine only makes a run more expensive, so the cheapest of several counts. */
function cheapest(a: Cost, b: Cost): Cost {
  return { ...a, cpuMs: Math.min(a.cpuMs, b.cpuMs), peakBytes: Math.min(a.peakBytes, b.peakBytes) }
}

/** Cost per byte of the long log divided by that of the short log. The short log includes more of the warm-up. */
function growthOf({ empty, short, long }: Costs): number {
  const perByte = ({ cpuMs, logBytes }: Cost): number => (cpuMs - empty.cpuMs) / logBytes
  return perByte(long) / perByte(short)
}

/** Growth of memory divided by growth of the log, at most 1 if memory is bounded; 2 if the whole log is in memory. */
function memoryOf({ short, long }: Costs): number {
  return (long.peakBytes - short.peakBytes) / ((long.logBytes - short.logBytes) / 2)
}

test('a replay takes time in proportion to the log, and memory independent of its length', {
  timeout: 600_000,
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-recovery-cost-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const lengths = { empty: 1, short: records, long: 4 * records }
  for (const [name, count] of Object.entries(lengths)) await writeLog(join(dir, name), count)
  const replays = async (): Promise<Costs> => ({
    empty: await costOf(join(dir, 'empty')),
    short: await costOf(join(dir, 'short')),
    long: await costOf(join(dir, 'long')),
  })
  let costs = await replays()
  t.ok(costs.short.replayed > records && costs.long.replayed > 4 * records, 'everything was replayed')
  const isReached = (): boolean => growthOf(costs) < 1.3 && memoryOf(costs) < 1
  for (let run = 1; run < runsMax && !isReached(); run++) {
    const { empty, short, long } = await replays()
    costs = {
      empty: cheapest(costs.empty, empty),
      short: cheapest(costs.short, short),
      long: cheapest(costs.long, long),
    }
  }
  t.ok(growthOf(costs) < 1.3, `a byte of the long log costs ${growthOf(costs).toFixed(2)} of a byte of the short one`)
  t.ok(memoryOf(costs) < 1, `${memoryOf(costs).toFixed(2)} of half of what a log in memory would take`)
  t.comment(JSON.stringify(costs))
})
