// What a replay costs grows with the log as the log grows, and not faster; the memory it takes does not grow with the log.
// Both logs write the same few objects again and again, so that only the length differs.
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
/** Records of the shorter log; the other is four times as long. */
const records = process.env.ANNAL_LONG === '1' ? 800 : 200

interface Cost {
  readonly cpuMs: number
  readonly peakBytes: number
  readonly replayed: number
  readonly logBytes: number
}

async function writeLog(dataDir: string, count: number): Promise<void> {
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 8, space_type: 'l2', M: 4, ef_con: 8 } }]
  const engine = await openEngine({ dataDir, threads: 1, keepLog: true })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const meta = new Uint8Array(metaBytes).fill(7)
  for (let n = 0; n < count; n++) {
    const objects = Array.from({ length: batch }, (_, i) => ({
      id: `${(n * batch + i) % ids}`,
      meta,
      fields: { v: Array.from({ length: 8 }, (__, at) => (n * 31 + i * 7 + at) % 11) },
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

test('a replay takes time in proportion to the log, and memory whatever its length', {
  timeout: 600_000,
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-recovery-cost-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const costs: Cost[] = []
  for (const [name, count] of [
    ['empty', 1],
    ['short', records],
    ['long', 4 * records],
  ] as const) {
    await writeLog(join(dir, name), count)
    costs.push(await costOf(join(dir, name)))
  }
  const [empty, short, long] = costs as [Cost, Cost, Cost]
  t.ok(short.replayed > records && long.replayed > 4 * records, 'everything was replayed')
  const perByte = ({ cpuMs, logBytes }: Cost): number => (cpuMs - empty.cpuMs) / logBytes
  const ratio = perByte(long) / perByte(short)
  // The shorter run carries more of what every process pays while it warms up, so only growth is a fault.
  t.ok(ratio < 1.3, `a byte of the long log costs ${ratio.toFixed(2)} of a byte of the short one`)
  const grown = long.peakBytes - short.peakBytes
  const longer = long.logBytes - short.logBytes
  // Decoded events wait up to a bound that the short log does not fill; memory for the whole log would be twice this limit.
  t.ok(grown < longer / 2, `${grown >> 20} MiB more memory for ${longer >> 20} MiB more of log`)
  t.comment(JSON.stringify(costs))
})
