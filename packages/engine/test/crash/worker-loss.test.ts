// Worker threads exit during their work, under load, repeatedly. No search returns a partial result: it is complete or rejected with a
// code. If a write was running, the engine stops, because the progress of the write is unknown. The next start has everything that was
// acknowledged, and a replay of the whole log agrees.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'

const seed = chosenSeed()
const losses = process.env.ANNAL_LONG === '1' ? 100 : 10
const dimension = 16
const hits = 20
const batch = 50
const timeout = losses * 30_000 + 60_000

tap.setTimeout(timeout)

/** The writer's knowledge: the version of each id, and its version if the running batch was stored. */
interface Known {
  acknowledged: ReadonlyMap<string, number>
  pending: ReadonlyMap<string, number> | undefined
}

const fields = [
  { name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'int8', M: 8, ef_con: 64 } },
] as const

test(`${losses} lost workers cause no partial results and no loss, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  const dir = await mkdtemp(join(tmpdir(), 'annal-worker-loss-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  const known: Known = { acknowledged: new Map(), pending: undefined }
  const counts = { searches: 0, refused: 0, writes: 0, stored: 0, stopped: 0 }
  const faults: string[] = []
  for (let loss = 0; loss < losses && faults.length === 0; loss++) {
    const pool = await openWorkerPool({ threads: 2 })
    const engine = await openEngine({ dataDir, keepLog: true }, { pool })
    if (loss === 0) await engine.database().createCollection({ name: 'c', fields })
    const collection = engine.database().collection('c')
    faults.push(...(await settle(collection, known)))
    let over = false
    const going = (): boolean => !over && engine.health().status === 'ok'
    const load = [
      write(collection, known, random, { going, counts }),
      ...[1, 2].map(() => search(collection, random, { going, counts, faults })),
    ]
    const { searches, stored } = counts
    while (going() && (counts.searches === searches || counts.stored === stored)) await turn()
    await sleep(random.below(100))
    await pool.loseWorker(random.below(2))
    await sleep(30)
    over = true
    await Promise.all(load)
    if (engine.health().status === 'failed') counts.stopped++
    await engine.close()
    await pool.close()
  }
  const loaded = await openEngine({ dataDir, threads: 1, keepLog: true })
  faults.push(...(await settle(loaded.database().collection('c'), known)))
  const digest = digestOf(loaded)
  await loaded.close()
  await rm(join(dataDir, 'checkpoints'), { recursive: true })
  const replayed = await openEngine({ dataDir, threads: 2, keepLog: true })
  t.equal(digestOf(replayed), digest, 'a replay gives the same state')
  await replayed.close()
  t.strictSame(faults, [], `seed ${seed}`)
  t.ok(counts.searches >= losses && counts.stored >= losses, JSON.stringify(counts))
  t.comment(JSON.stringify({ seed, losses, ...counts }))
})

interface Counts {
  searches: number
  refused: number
  writes: number
  stored: number
  stopped: number
}

async function write(
  collection: Collection,
  known: Known,
  random: Random,
  { going, counts }: { going: () => boolean; counts: Counts },
): Promise<void> {
  while (going()) {
    const version = ++counts.writes
    const after = new Map(known.acknowledged)
    const objects = Array.from({ length: batch }, (_, i) => {
      const id = `${random.below(20) * batch + i}`
      after.set(id, version)
      return { id, meta: { version }, fields: { v: Array.from({ length: dimension }, () => random.next()) } }
    })
    known.pending = after
    try {
      await collection.upsert(objects)
    } catch {
      // Stored or not; the next start shows which.
      return
    }
    known.acknowledged = after
    known.pending = undefined
    counts.stored++
  }
}

/** Ids are never deleted, so a result with fewer hits than objects would be partial. */
async function search(
  collection: Collection,
  random: Random,
  { going, counts, faults }: { going: () => boolean; counts: Counts; faults: string[] },
): Promise<void> {
  while (going()) {
    // An empty result returns without waiting, which would block the event loop.
    await turn()
    const expected = Math.min(hits, collection.describe().objects)
    const query = Array.from({ length: dimension }, () => random.next())
    try {
      const { results } = await collection.search({ fields: { v: { query, limit: hits } } })
      if ((results.v ?? []).length < expected) faults.push(`${results.v?.length} hits where ${expected} are there`)
      counts.searches++
    } catch (error) {
      // Errors of the engine have codes; any other error is a fault.
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      if (code !== 'worker_lost' && code !== 'closed') faults.push(`a search ended with ${code}`)
      counts.refused++
      await sleep(1)
    }
  }
}

async function settle(collection: Collection, known: Known): Promise<string[]> {
  const ids = Array.from({ length: 20 * batch }, (_, i) => `${i}`)
  const found = new Map((await collection.getMany(ids)).map(({ id, meta }) => [id, Number(meta?.version)]))
  const allowed = [known.acknowledged, ...(known.pending ? [known.pending] : [])]
  const same = allowed.some((state) => state.size === found.size && [...state].every(([id, v]) => found.get(id) === v))
  known.acknowledged = found
  known.pending = undefined
  return same ? [] : [`${found.size} objects are not those that were acknowledged`]
}

function digestOf(engine: Engine): string {
  return engine.database().collection('c').stateDigest()
}
