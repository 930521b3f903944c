// The process of concurrent.test.ts. It is separate because the test runner watches every promise of its own thread, which slows an engine down
// several times. Arguments: directory, world (one of `worlds`), seed, lives, calls of a life. Prints a line for each life with its calls by
// name or code. Exits with 1 and the reason if something is wrong.
import { strict as assert } from 'node:assert'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs } from '@annal/wal'
import { type Fault, faultVfs, type Random, seededRandom } from '@annal/wal/testing'
import { callAll, definition, digestsOf, names } from './concurrent-calls.ts'

type Counts = ReadonlyMap<string, number>

interface Life {
  readonly random: Random
  readonly threads: number
  readonly calls: number
}

/** Codes of calls that meet a lost worker or a failing disk, and of the calls after them. */
const refused = new Set([
  'worker_lost',
  'closed',
  'read_only',
  'disk_failed',
  'disk_full',
  'log_failed',
  'collection_quarantined',
  'backup_damaged',
  'snapshot_damaged',
])

/** No faults: a start finds the state that the engine had at its end. */
async function runWithoutFaults(options: EngineOptions, { random, threads, calls }: Life): Promise<Counts> {
  const pool = await openWorkerPool({ threads })
  const engine = await openEngine(options, { pool })
  const counts = await callAll({ engine, random }, calls)
  assert.equal(engine.health().status, 'ok', engine.health().reasons.join())
  assert.equal(engine.stats().checkpoints.failed, 0, 'checkpoints that failed')
  const digests = await digestsOf(engine)
  await engine.close()
  await pool.close()
  assert.deepEqual(await digestsAfterStart(options), digests, 'a start finds what was there at the end')
  return counts
}

/** Worker threads exit during their work. */
async function runLosingWorkers(options: EngineOptions, { random, threads, calls }: Life): Promise<Counts> {
  const pool = await openWorkerPool({ threads })
  const engine = await openEngine(options, { pool })
  let over = false
  const lose = async (): Promise<void> => {
    while (!over) {
      await sleep(random.below(150))
      if (!over) await pool.loseWorker(random.below(threads))
    }
  }
  const losing = lose()
  const counts = await callAll({ engine, random }, calls, { refused, going: () => isUp(engine) })
  over = true
  await losing
  await engine.close()
  await pool.close()
  return counts
}

/** From some disk call on, one of a number of calls fails. */
async function runWithFailingDisk(options: EngineOptions, { random, threads, calls }: Life): Promise<Counts> {
  const pool = await openWorkerPool({ threads })
  const rarity = 10 ** (1 + random.below(3))
  let refuses = false
  const vfs = faultVfs(nodeVfs(), (): Fault | undefined => {
    if (!refuses || random.below(rarity) > 0) return undefined
    return { errno: random.below(2) === 0 ? 'EIO' : 'ENOSPC' }
  })
  const engine = await openEngine(options, { pool, vfs })
  await callAll({ engine, random }, random.below(calls))
  refuses = true
  const counts = await callAll({ engine, random }, calls, { refused, going: () => isUp(engine) })
  refuses = random.below(2) === 0
  // Closing fails, too, because it cannot write.
  await engine.close().catch(() => undefined)
  await pool.close()
  return counts
}

const archive = { maxBytes: 4_000_000, maxAgeMs: 3_600_000 }
const worlds = {
  sound: { options: {}, live: runWithoutFaults },
  archive: { options: { archive }, live: runWithoutFaults },
  'lost-workers': { options: { keepLog: true }, live: runLosingWorkers },
  'refusing-disk': { options: { keepLog: true }, live: runWithFailingDisk },
}

const [, , dataDir = '', world = 'sound', seed, lives, calls] = process.argv
const { options, live } = worlds[world as keyof typeof worlds]
const random = seededRandom(Number(seed))
const begun = await openEngine({ dataDir, threads: 1, ...options })
for (const name of names) await begun.database().createCollection(definition(name, random))
await begun.close()
for (let life = 0; life < Number(lives); life++) {
  const counts = await live({ dataDir, ...options }, { random, threads: 1 + random.below(2), calls: Number(calls) })
  console.log(JSON.stringify({ life, ...Object.fromEntries(counts) }))
  if (!('keepLog' in options)) continue
  const started = await digestsAfterStart({ dataDir, ...options })
  await rm(`${dataDir}/checkpoints`, { recursive: true, force: true })
  const replayed = await digestsAfterStart({ dataDir, ...options })
  assert.deepEqual(replayed, started, `life ${life}: a replay of the whole log makes what the start found`)
}

async function digestsAfterStart(opened: EngineOptions): Promise<Record<string, string>> {
  const engine = await openEngine({ ...opened, threads: 1 })
  const digests = await digestsOf(engine)
  await engine.close()
  return digests
}

function isUp(engine: Engine): boolean {
  return engine.health().status !== 'failed'
}
