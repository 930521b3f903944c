// History while the clock of the machine is wrong: nothing is removed because a clock jumped, and every moment of the log can be named.
import { type Engine, type EngineOptions, openEngine, restoreDataDirectory } from '@annal/engine'
import { type Test, test } from 'tap'
import { denseField, dimension, openedEngine, temporaryDirectory } from './rig.ts'

const hourMs = 3_600_000
const yearMs = 365 * 24 * hourMs
const startMs = Date.parse('2026-11-29T12:00:00Z')

/** The clock of a machine, and the monotonic one of its processes. */
class TwoClocks {
  nowMs = startMs
  steadyMs = 0

  now(): number {
    return this.nowMs
  }

  monotonic(): number {
    return this.steadyMs
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.steadyMs += ms
  }
}

/** A directory with one collection, to which `write` adds an object, with a checkpoint after each. Each life has a segment of its own. */
async function worldOf(t: Test) {
  const clock = new TwoClocks()
  const options: EngineOptions = {
    dataDir: await temporaryDirectory(t),
    threads: 1,
    clock,
    archive: { maxBytes: 1e12, maxAgeMs: 24 * hourMs },
  }
  let engine: Engine | undefined
  const close = async () => engine?.close()
  t.teardown(close)
  const open = async () => {
    await close()
    engine = await openEngine(options)
    return engine
  }
  let written = 0
  const write = async () => {
    const a = engine?.database().collection('a')
    const acknowledged = await a?.upsert([
      { id: `${++written}`, fields: { v: Array.from({ length: dimension }, (_, i) => written + i) } },
    ])
    await engine?.checkpoint()
    return acknowledged?.lsn ?? 0
  }
  await (await open()).database().createCollection({ name: 'a', fields: [denseField()] })
  return { clock, open, write, dataDir: options.dataDir, engine: () => engine as Engine }
}

/** The number of objects that a restore to the moment finds. */
/** The same after some hours with a life each; `first` is the first write. */
async function worldOfHours(t: Test) {
  const world = await worldOf(t)
  const first = await world.write()
  for (let i = 0; i < 4; i++) {
    world.clock.pass(hourMs)
    await world.open()
    await world.write()
  }
  return { ...world, first }
}

async function objectsAt(engine: Engine, moment: { readonly lsn: number } | { readonly timeMs: number }) {
  const database = engine.database()
  await database.backups.restorePast('a', 'past', moment)
  const { count } = database.collection('past').count()
  await database.deleteCollection('past')
  return count
}

test('a clock that jumps forward removes no history', async (t) => {
  const { clock, write, engine, first } = await worldOfHours(t)
  clock.nowMs += 10 * yearMs
  for (let i = 0; i < 3; i++) await write()
  t.equal(await objectsAt(engine(), { lsn: first }), 1, 'ten years ahead')
  clock.nowMs -= 10 * yearMs
  for (let i = 0; i < 3; i++) await write()
  t.equal(await objectsAt(engine(), { lsn: first }), 1, 'put right')
})

test('a machine that starts with a clock that is ahead removes no history before its clock is put right', async (t) => {
  const { clock, open, write, engine, first } = await worldOfHours(t)
  clock.nowMs += 10 * yearMs
  await open()
  for (let i = 0; i < 3; i++) await write()
  clock.pass(60_000)
  clock.nowMs -= 10 * yearMs
  await write()
  t.equal(await objectsAt(engine(), { lsn: first }), 1)
})

test('history expires by a clock that has been steady, also after the server was stopped for longer than it is kept', async (t) => {
  const { clock, open, write, engine } = await worldOf(t)
  const first = await write()
  for (let i = 0; i < 4; i++) {
    await open()
    await write()
  }
  clock.pass(30 * 24 * hourMs)
  await open()
  await write()
  t.equal(await objectsAt(engine(), { lsn: first }), 1, 'not at once')
  clock.pass(2 * hourMs)
  for (let i = 0; i < 6; i++) {
    await write()
    await open()
    clock.pass(5 * hourMs)
  }
  await t.rejects(objectsAt(engine(), { lsn: first }), { code: 'restore_unreachable' })
})

test('while the clock is behind the log, records have the time of the newest one before, and a restore to it has them', async (t) => {
  const { clock, open, write, dataDir, engine } = await worldOf(t)
  await write()
  clock.pass(1_000)
  await write()
  const { timeMs } = engine()
  for (const backMs of [hourMs, startMs]) {
    clock.nowMs -= backMs
    const lsn = await write()
    t.equal(engine().timeMs, timeMs, 'time does not run backward')
    const count = engine().database().collection('a').count().count
    for (const moment of [{ lsn }, { timeMs }])
      t.equal(await objectsAt(engine(), moment), count, JSON.stringify(moment))
    t.equal(await objectsAt(engine(), { timeMs: timeMs - 1 }), 1, 'the moment before it')
    const past = await engine()
      .database()
      .collection('a')
      .asOf({ time: new Date(timeMs) })
    t.equal((await past.count()).count, count, 'reads as of the newest time, which replies name')
    await t.rejects(objectsAt(engine(), { timeMs: timeMs + 1 }), { code: 'restore_unreachable' })
    await open()
  }
  const to = `${await temporaryDirectory(t)}/restored`
  await restoreDataDirectory({ from: dataDir, to, timeMs })
  const restored = await openedEngine(t, { dataDir: to })
  t.equal(restored.database().collection('a').count().count, 4)
})

test('the age of the newest backup counts from one that is not in the future', async (t) => {
  const { clock, write, engine } = await worldOf(t)
  const { backups } = engine().database()
  const newestAt = () => engine().stats().backups.newestAt
  const make = async () => {
    await write()
    await backups.create('a', `backup-${backups.list().length}`)
    await backups.settled()
  }
  clock.nowMs += 10 * yearMs
  await make()
  t.equal(newestAt(), clock.nowMs)
  clock.nowMs -= 10 * yearMs
  t.equal(newestAt(), clock.nowMs, 'without another one, it is new')
  await make()
  const made = clock.nowMs
  clock.pass(hourMs)
  t.equal(newestAt(), made)
})
