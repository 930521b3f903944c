// A restore to a moment begins with the newest checkpoint before it. If files of that checkpoint are missing or damaged, it begins with an
// earlier one, as long as the log reaches back to it, and names the damage if there is none.
import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { chosen } from '../places/faults.ts'
import { backedUp, denseField, openedEngine, runRandomLife, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
/** Files of each checkpoint that are damaged, one at a time; the seed selects them. */
const filesMax = process.env.ANNAL_LONG === '1' ? 100 : 1
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }

interface Moment {
  readonly lsn: number
  readonly digest: string
}

/** Four checkpoints, the first ones in the archive, and states between them. */
async function makeHistory(dataDir: string, random: Random): Promise<Moment[]> {
  const moments: Moment[] = []
  for (let round = 0; round < 4; round++) {
    const engine = await openEngine({ dataDir, archive, threads: 1 })
    const database = engine.database()
    if (round === 0) {
      const fields = [denseField(), { name: 's', type: 'sparse' }] as const
      await database.createCollection({ name: 'a', fields })
    }
    const collection = database.collection('a')
    await runRandomLife(collection, random, 6)
    await engine.checkpoint()
    await runRandomLife(collection, random, 3)
    moments.push({ lsn: engine.stats().lsnApplied, digest: collection.stateDigest() })
    if (round === 1) await backedUp(database, 'a', 'b')
    await engine.close()
  }
  return moments
}

/** Files of checkpoints, live and archived, by the LSN of the checkpoint, newest first. */
async function filesOfCheckpoints(dataDir: string): Promise<{ lsn: number; files: string[] }[]> {
  const found: { lsn: number; files: string[] }[] = []
  for (const dir of ['checkpoints', join('archive', 'checkpoints')])
    for (const name of await readdir(join(dataDir, dir)).catch(() => [])) {
      const files = (await readdir(join(dataDir, dir, name))).filter((file) => file !== 'manifest.json')
      found.push({ lsn: Number(name.slice(0, 20)), files: files.map((file) => join(dataDir, dir, name, file)) })
    }
  return found.sort((a, b) => b.lsn - a.lsn)
}

type Damage = 'deleted' | 'cut' | 'flipped'

/** Under this name only: other checkpoints may share the file. */
async function damage(path: string, how: Damage, random: Random): Promise<void> {
  const bytes = await readFile(path)
  await rm(path)
  if (how === 'deleted') return
  if (how === 'cut') return writeFile(path, bytes.subarray(0, random.below(bytes.length)))
  const at = random.below(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
  await writeFile(path, bytes)
}

async function restored(engine: Engine, lsn: number): Promise<string> {
  const database = engine.database()
  try {
    await database.backups.restorePast('a', 't', { lsn })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `${code}: ${message}`
  }
  const digest = database.collection('t').stateDigest()
  await database.deleteCollection('t')
  return digest
}

test(`a restore to a moment passes over damaged checkpoints (ANNAL_SEED=${seed})`, { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed)
  const source = await temporaryDirectory(t)
  const moments = await makeHistory(source, random)
  for (const how of ['deleted', 'cut', 'flipped'] as const) {
    const dataDir = await temporaryDirectory(t)
    await cp(source, dataDir, { recursive: true })
    const engine = await openedEngine(t, { dataDir, archive })
    const checkpoints = await filesOfCheckpoints(dataDir)
    t.ok(checkpoints.length >= 3, `${checkpoints.length} checkpoints`)
    for (const { lsn, digest } of [...moments].reverse()) {
      const base = checkpoints.find((checkpoint) => checkpoint.lsn <= lsn)
      for (const file of chosen(base?.files ?? [], filesMax, random)) {
        if ((await stat(file)).size === 0) continue
        const before = await readFile(file)
        await damage(file, how, random)
        t.equal(await restored(engine, lsn), digest, `LSN ${lsn}, ${how} ${file.slice(dataDir.length)}`)
        await rm(file, { force: true })
        await writeFile(file, before)
      }
    }
  }
})

test('a backup of a collection whose checkpoint is damaged is made from a new one', { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed + 1)
  for (const how of ['deleted', 'cut', 'flipped'] as const) {
    const engine = await openedEngine(t, { archive })
    const database = engine.database()
    await database.createCollection({ name: 'a', fields: [denseField(), { name: 's', type: 'sparse' }] })
    const collection = database.collection('a')
    await runRandomLife(collection, random, 6)
    await engine.checkpoint()
    await runRandomLife(collection, random, 1)
    const digest = collection.stateDigest()
    const [newest] = await filesOfCheckpoints(engine.dataDir)
    for (const file of newest?.files ?? []) if (file.endsWith('.snap')) await damage(file, how, random)
    await backedUp(database, 'a', 'b')
    t.same(await database.backups.verify('b', { deep: true }), [], how)
    await database.backups.restore('b', 't')
    t.equal(database.collection('t').stateDigest(), digest, how)
  }
})

test('a restore to a moment names the damage if no earlier checkpoint can be used', { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed + 2)
  const dataDir = await temporaryDirectory(t)
  // Each start begins a segment, and without an archive the first ones are removed.
  for (let round = 0; round < 4; round++) {
    const engine = await openEngine({ dataDir, threads: 1 })
    const database = engine.database()
    if (round === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
    await runRandomLife(database.collection('a'), random, 4)
    await engine.close()
  }
  const engine = await openedEngine(t, { dataDir })
  const database = engine.database()
  const { lsnApplied } = engine.stats()
  const checkpoints = await filesOfCheckpoints(engine.dataDir)
  const damaged = checkpoints.flatMap(({ files }) => files).filter((file) => file.endsWith('part-0.snap'))
  for (const file of damaged) await damage(file, 'flipped', random)
  const outcome = await restored(engine, lsnApplied)
  t.match(outcome, /^restore_unreachable: .*part-0\.snap is damaged/, outcome)
  t.equal(database.collections().length, 1, 'nothing was made')
})
