// A real process kills itself at every named point (failpoints.ts), and sometimes again during recovery. Afterwards the directory opens
// with every acknowledged batch, and with all or nothing of the one that was running.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { failpoints } from './failpoints.ts'

const long = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const rounds = long ? 10 : 1
const doubleKills = long ? 100 : 4
const timeout = long ? 7_200_000 : 600_000
tap.setTimeout(timeout)

type Batch = readonly [life: number, batch: number]

/** The content that the directory must have: for each id, the last batch that wrote it. */
interface Known {
  stored: Map<string, string>
  begun: Batch | undefined
}

function idsOf([life, batch]: Batch): string[] {
  return Array.from({ length: 20 }, (_, i) => `${i % 2 === 0 ? life : 0}-${batch % 5}-${i}`)
}

function after(stored: ReadonlyMap<string, string>, batch: Batch): Map<string, string> {
  return new Map([...stored, ...idsOf(batch).map((id) => [id, batch.join()] as const)])
}

/** Runs one life. Returns whether it was killed. */
async function runLife(
  dataDir: string,
  plan: { point: string; passes: number; life: number },
  known: Known,
): Promise<boolean> {
  const main = fileURLToPath(new URL('failpoint-life.ts', import.meta.url))
  const args = ['--conditions=annal-source', main, dataDir, plan.point, String(plan.passes), String(plan.life)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const signal = await new Promise<NodeJS.Signals | null>((resolve, reject) => {
    child.on('close', (code, by) => (code ? reject(new Error(`a life ended with ${code}`)) : resolve(by)))
  })
  for (const line of said.split('\n').filter(Boolean)) {
    // Our child process prints these lines.
    const { begins, stored } = JSON.parse(line) as { begins?: Batch; stored?: Batch }
    if (begins) known.begun = begins
    if (stored) {
      known.stored = after(known.stored, stored)
      known.begun = undefined
    }
  }
  return signal === 'SIGKILL'
}

/** Opens the directory and updates `known` with its content. */
async function checkDirectory(dataDir: string, known: Known, pool: WorkerPool): Promise<string | undefined> {
  const engine = await openEngine({ dataDir }, { pool })
  try {
    const there = engine.database().collections().length > 0
    const found = new Map<string, string>()
    if (there) {
      const ids = [...new Set([...known.stored.keys(), ...(known.begun ? idsOf(known.begun) : [])])]
      const collection = engine.database().collection('c')
      for (const { id, meta } of await collection.getMany(ids)) found.set(id, `${meta?.life},${meta?.batch}`)
      if (collection.count().count !== found.size)
        return `${collection.count().count} objects, of which ${found.size} are known`
    }
    const allowed = [known.stored, ...(known.begun ? [after(known.stored, known.begun)] : [])]
    const isSame = (one: ReadonlyMap<string, string>) =>
      one.size === found.size && [...one].every(([id, batch]) => found.get(id) === batch)
    if (!allowed.some(isSame)) return `${found.size} objects are not the ${known.stored.size} that were acknowledged`
    if (engine.health().status !== 'ok') return `health is ${engine.health().status}: ${engine.health().reasons}`
    known.stored = found
    known.begun = undefined
    return undefined
  } finally {
    await engine.close()
  }
}

test(`killed at every named point, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  // Chosen in advance: several points run concurrently, and random numbers must not depend on their order.
  const waiting = Object.keys(failpoints).map((point) => ({
    point,
    passes: Array.from({ length: rounds }, (_, life) => (life === 0 ? 0 : random.below(2))),
  }))
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { faults, kills } = await killAtPoint(next.point, next.passes, pool)
      t.strictSame(faults, [], next.point)
      t.ok(kills > 0, `${kills} kills ${next.point}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, lane))
})

/** Runs one life after another in a directory. Each is killed at the point after a number of passes. */
async function killAtPoint(
  point: string,
  allPasses: readonly number[],
  pool: WorkerPool,
): Promise<{ readonly faults: readonly string[]; readonly kills: number }> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-failpoint-'))
  const known: Known = { stored: new Map(), begun: undefined }
  const faults: string[] = []
  let kills = 0
  for (const [before, passes] of allPasses.entries()) {
    if (await runLife(join(dir, 'data'), { point, passes, life: before + 1 }, known)) kills++
    faults.push(...[await checkDirectory(join(dir, 'data'), known, pool)].flatMap((fault) => fault ?? []))
  }
  await rm(dir, { recursive: true })
  return { faults, kills }
}

test(`killed again during recovery, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed + 1)
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const dir = await mkdtemp(join(tmpdir(), 'annal-failpoint-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const names = Object.keys(failpoints)
  const known: Known = { stored: new Map(), begun: undefined }
  let kills = 0
  for (let life = 1; life <= doubleKills; life++) {
    const point = names[random.below(names.length)] as string
    if (await runLife(join(dir, 'data'), { point, passes: 0, life: 2 * life }, known)) kills++
    // A start writes before it is ready; the records that it finds are at most one batch further.
    const begun = known.begun
    const again = { point: 'while a start makes a new tail', passes: 0, life: 2 * life + 1 }
    if (await runLife(join(dir, 'data'), again, known)) kills++
    known.begun ??= begun
    t.equal(await checkDirectory(join(dir, 'data'), known, pool), undefined, `${point}, then again`)
  }
  t.ok(kills >= doubleKills, `${kills} kills`)
})
