// Every moment of a history can be had again, exactly: collections into new names, and whole directories into new ones. What
// cannot be reached is refused, and then nothing was made.
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, EngineError, openEngine, restoreDataDirectory } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { backedUp, denseField, openedEngine, runRandomLife, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
const rounds = long ? 60 : 8
const targets = long ? 200 : 12
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }

/** What stood after which record, oldest first. */
type Timeline = { readonly lsn: number; readonly timeMs: number; readonly digest: string }[]

class StepClock {
  #now = 1_700_000_000_000
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** Often stands still, sometimes jumps back. */
  now(): number {
    const step = this.#random.below(10)
    this.#now += step < 4 ? 0 : step === 9 ? -5_000 : step * 100
    return this.#now
  }
}

interface History {
  readonly dataDir: string
  readonly timeline: Timeline
  readonly backupLsn: number
  readonly lsnCreated: number
}

/** A life over several starts, so that the log has several segments; some of them end in the archive. */
async function makeHistory(t: Test, random: Random): Promise<History> {
  const dataDir = await temporaryDirectory(t)
  const clock = new StepClock(random)
  const timeline: Timeline = []
  let lsnCreated = 0
  let backupLsn = 0
  const options = { dataDir, archive, clock, threads: 1 }
  for (let round = 0; round < rounds; round++) {
    const engine = await openEngine(options)
    const database = engine.database()
    if (round === 0) {
      await database.createCollection({ name: 'other', fields: [denseField()] })
      const fields = [denseField(), { name: 's', type: 'sparse' }] as const
      await database.createCollection({ name: 'a', fields })
      lsnCreated = engine.stats().lsnApplied
      note(engine, timeline)
    }
    const collection = database.collection('a')
    for (let step = 0; step < 8; step++) {
      await runRandomLife(collection, random, 1)
      note(engine, timeline)
      if (random.chance(0.3)) await runRandomLife(database.collection('other'), random, 1)
    }
    if (random.chance(0.4)) await engine.checkpoint()
    if (round === Math.floor(rounds / 2)) {
      await backedUp(database, 'a', 'middle')
      backupLsn = database.backups.info('middle').lsn
    }
    await engine.close()
  }
  return { dataDir, timeline, backupLsn, lsnCreated }
}

function note(engine: Engine, timeline: Timeline): void {
  const collection = engine.database().collection('a')
  const { lsn } = collection.describe()
  if (timeline.at(-1)?.lsn !== lsn) timeline.push({ lsn, timeMs: newestTime(engine), digest: collection.stateDigest() })
}

/** Time in the log never runs backwards, whatever the clock does. */
function newestTime(engine: Engine): number {
  return engine.stats().timeMs
}

function digestAt(timeline: Timeline, lsn: number): string | undefined {
  return timeline.findLast((one) => one.lsn <= lsn)?.digest
}

test(`any moment of a collection can be restored under a new name (ANNAL_SEED=${seed})`, {
  timeout: 600_000,
}, async (t) => {
  const random = seededRandom(seed)
  const { dataDir, timeline, backupLsn, lsnCreated } = await makeHistory(t, random)
  t.ok((await readdir(join(dataDir, 'archive', 'wal'))).length > 0, 'segments were archived')
  const engine = await openedEngine(t, { dataDir, archive })
  const database = engine.database()
  const last = timeline.at(-1)?.lsn as number
  const lsns = [lsnCreated, lsnCreated + 1, backupLsn - 1, backupLsn, backupLsn + 1, last]
  while (lsns.length < targets) lsns.push(lsnCreated + random.below(last - lsnCreated + 1))
  for (const lsn of lsns) {
    await database.backups.restore('middle', 'past', { lsn })
    t.equal(database.collection('past').stateDigest(), digestAt(timeline, lsn), `LSN ${lsn}`)
    await database.deleteCollection('past')
  }
  for (let i = 0; i < targets / 4; i++) {
    const { timeMs } = timeline[random.below(timeline.length)] as Timeline[number]
    const targetMs = timeMs + (random.chance(0.5) ? 0 : random.below(200))
    const expected = timeline.findLast((one) => one.timeMs <= targetMs)?.digest
    await database.backups.restore('middle', 'past', { timeMs: targetMs })
    t.equal(database.collection('past').stateDigest(), expected, `time ${targetMs}`)
    await database.deleteCollection('past')
  }
  // The collection itself need not be there any more.
  await database.deleteCollection('a')
  await database.backups.restore('middle', 'a', { lsn: last })
  t.equal(database.collection('a').stateDigest(), digestAt(timeline, last), 'a dropped collection')
  const collections = database.collections().length
  const impossible = [{ lsn: 1e9 }, { lsn: lsnCreated - 1 }, { timeMs: Date.now() + 1e9 }, { timeMs: 5 }]
  for (const moment of impossible) {
    const refused = await database.backups.restore('middle', 'past', moment).catch((error) => error)
    t.match(refused, { code: 'restore_unreachable' }, JSON.stringify(moment))
  }
  for (const moment of [{ lsn: -1 }, { lsn: 1.5 }, { lsn: 1, timeMs: 1 }]) {
    const refused = await database.backups.restore('middle', 'past', moment).catch((error) => error)
    t.match(refused, { code: 'invalid_argument', details: { field: 'moment' } }, JSON.stringify(moment))
  }
  const lsnNow = engine.stats().lsnApplied
  await database.deleteCollection('a')
  t.equal(database.collections().length, collections - 1, 'nothing was made')
  t.ok(engine.stats().lsnApplied > lsnNow)
})

test('a whole directory can be restored as of any moment, as another directory', { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed + 1)
  const { dataDir: from, timeline, lsnCreated } = await makeHistory(t, random)
  const place = await temporaryDirectory(t)
  const last = timeline.at(-1)?.lsn as number
  const lsns = [lsnCreated, last]
  while (lsns.length < targets / 2) lsns.push(lsnCreated + random.below(last - lsnCreated + 1))
  for (const [i, lsn] of lsns.entries()) {
    const to = join(place, `to-${i}`)
    t.same(await restoreDataDirectory({ from, to, lsn }), { lsn })
    const engine = await openEngine({ dataDir: to, threads: 1, archive })
    const collection = engine.database().collection('a')
    t.equal(collection.stateDigest(), digestAt(timeline, lsn), `LSN ${lsn}`)
    // Life goes on there, over a restart.
    await runRandomLife(collection, random, 3)
    const digest = collection.stateDigest()
    await engine.close()
    const again = await openEngine({ dataDir: to, threads: 1, archive })
    t.equal(again.database().collection('a').stateDigest(), digest)
    t.same(again.health().reasons, [])
    await again.close()
    if (i > 1) await rm(to, { recursive: true })
  }
  const { timeMs } = timeline[Math.floor(timeline.length / 2)] as Timeline[number]
  const jobs = new Set<string>()
  await restoreDataDirectory({ from, to: join(place, 'by-time'), timeMs, onProgress: ({ job }) => jobs.add(job) })
  t.ok(jobs.size > 0, `a restore reports its progress: ${[...jobs]}`)
  const engine = await openedEngine(t, { dataDir: join(place, 'by-time') })
  const expected = timeline.findLast((one) => one.timeMs <= timeMs)?.digest
  t.equal(engine.database().collection('a').stateDigest(), expected, 'by time')
  const newest = join(place, 'newest')
  await restoreDataDirectory({ from, to: newest })
  const whole = await openedEngine(t, { dataDir: newest })
  t.equal(whole.database().collection('a').stateDigest(), digestAt(timeline, last), 'everything there is')

  const refused = async (options: Parameters<typeof restoreDataDirectory>[0], code = 'restore_unreachable') => {
    const before = (await readdir(place)).length
    const error = await restoreDataDirectory(options).catch((thrown) => thrown)
    t.ok(error instanceof EngineError && error.code === code, `${JSON.stringify(options)}: ${error}`)
    t.equal((await readdir(place)).length, before, 'nothing was made')
  }
  const to = join(place, 'never')
  await refused({ from, to, lsn: 1e9 })
  await refused({ from, to, timeMs: Date.now() * 2 })
  await refused({ from, to, timeMs: 5 })
  await refused({ from, to: newest, lsn: last }, 'invalid_argument')
  await refused({ from: place, to, lsn: last }, 'invalid_argument')
  // A gap, damage, and a segment of another line of history, on the only way to the moment.
  const archived = join(from, 'archive', 'wal')
  const [first = '', second = ''] = (await readdir(archived)).sort()
  await rm(join(from, 'archive', 'checkpoints'), { recursive: true, force: true })
  const lsn = Number(second.slice(21, 41)) + 1
  await restoreDataDirectory({ from, to: join(place, 'whole'), lsn })
  for (const name of [first, second]) {
    const victim = join(archived, name)
    const kept = await readFile(victim)
    await rm(victim)
    await refused({ from, to, lsn })
    const damaged = Buffer.from(kept)
    damaged[100] = (damaged[100] as number) ^ 1
    await writeFile(victim, damaged)
    await refused({ from, to, lsn })
    await writeFile(victim, kept)
  }
  const foreign = join(newest, 'wal')
  const stranger = (await readdir(foreign)).filter((name) => name.endsWith('.wal'))[0] as string
  await copyFile(join(foreign, stranger), join(archived, second))
  await refused({ from, to, lsn })
})

test('the archive keeps to its limits, and reports how far back it reaches', async (t) => {
  const random = seededRandom(seed + 2)
  const dataDir = await temporaryDirectory(t)
  const clock = { nowMs: 1_700_000_000_000, now: () => clock.nowMs }
  const reaches: number[] = []
  const dayMs = 86_400_000
  for (let day = 0; day < 11; day++) {
    clock.nowMs += dayMs
    const limits = { maxBytes: 1e12, maxAgeMs: 5 * dayMs }
    const engine = await openEngine({ dataDir, archive: limits, clock, threads: 1 })
    if (day === 0) await engine.database().createCollection({ name: 'a', fields: [denseField()] })
    await runRandomLife(engine.database().collection('a'), random, 6)
    await engine.checkpoint()
    const { reach } = engine.stats()
    reaches.push(reach?.lsn ?? -1)
    if (day >= 7) t.ok((reach?.timeMs ?? 0) <= clock.nowMs - 5 * dayMs, 'it reaches at least as far back as it must')
    if (day >= 7) t.ok((reach?.timeMs ?? 0) >= clock.nowMs - 7 * dayMs, 'and not much farther')
    await engine.close()
  }
  t.equal(reaches[2], 0, 'first everything is kept')
  t.ok((reaches.at(-1) as number) > 0, 'later the oldest goes')
  const engine = await openedEngine(t, { dataDir, clock, archive: { maxBytes: 1, maxAgeMs: 5 * dayMs } })
  await runRandomLife(engine.database().collection('a'), random, 6)
  await engine.checkpoint()
  t.same(await readdir(join(dataDir, 'archive', 'wal')), [], 'no room, no archive')
  t.same(await readdir(join(dataDir, 'archive', 'checkpoints')), [])
  t.equal(engine.stats().reach?.bytes, 0)
})
