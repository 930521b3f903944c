// Scheduled backups while the clock is wrong: the newest one stays the newest, and the next one is made.
import { type Database, openEngine } from '@annal/engine'
import { type Test, test } from 'tap'
import type { Bucket } from '../src/backups/bucket.ts'
import { Carrier } from '../src/backups/carrier.ts'
import { backUpWhatChanged, scheduledBackups } from '../src/backups/scheduled-backup.ts'
import { BackupSchedule } from '../src/backups/scheduler.ts'
import { Schedules } from '../src/backups/schedules.ts'
import { temporaryDirectory } from './running-app.ts'

const hour = 3_600_000
const year = 365 * 24 * hour
const start = Date.parse('2026-11-29T12:00:00Z')
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, precision: 'float32' } }] as const

/** An engine whose clock a test sets. */
async function withClock(t: Test) {
  const clock = { nowMs: start }
  const dataDir = await temporaryDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1, clock: { now: () => clock.nowMs } })
  t.teardown(() => engine.close())
  const database = engine.database()
  const a = await database.createCollection({ name: 'a', fields })
  let written = 0
  const write = () => a.upsert([{ id: `${++written}`, fields: { v: [written, 1] } }])
  return { engine, database, clock, write }
}

const objectsIn = (database: Database) => scheduledBackups(database, 'a').map(({ objects }) => objects)

test('the newest backup is kept when the clock was set back', async (t) => {
  for (const backMs of [hour, 10 * year]) {
    const { database, clock, write } = await withClock(t)
    for (let i = 0; i < 6; i++) {
      await write()
      await backUpWhatChanged(database, 'a', { keep: 2, check: false })
      clock.nowMs += i === 2 ? -backMs : 60_000
    }
    t.same(objectsIn(database), [5, 6], `the newest two, back by ${backMs} ms`)
    const names = scheduledBackups(database, 'a').map(({ name }) => name)
    t.same(names, [...names].sort(), 'names are in the order of the log')
  }
})

test('a backup that is later than the clock delays the next one by no more than the interval', async (t) => {
  const { engine, database, clock, write } = await withClock(t)
  const schedules = new Schedules(() => engine.control)
  await schedules.put(database.describe(), { collection: 'a', everyHours: 2, keep: 5, check: false })
  let elapsedMs = 0
  const schedule = new BackupSchedule(engine, {
    schedules,
    elapsedMs: () => elapsedMs,
    onNotice: (sentence) => t.fail(sentence),
  })
  t.teardown(() => schedule.stop())
  const pass = (ms: number) => {
    clock.nowMs += ms
    elapsedMs += ms
  }
  clock.nowMs += 10 * year
  await write()
  await schedule.runDue(clock.nowMs)
  t.same(objectsIn(database), [1])
  clock.nowMs = start
  await write()
  await schedule.runDue(clock.nowMs)
  t.same(objectsIn(database), [1], 'not yet')
  pass(2 * hour)
  await schedule.runDue(clock.nowMs)
  t.same(objectsIn(database), [1, 2], 'after the interval')
  await write()
  pass(hour)
  await schedule.runDue(clock.nowMs)
  t.same(objectsIn(database), [1, 2])
  pass(hour)
  await schedule.runDue(clock.nowMs)
  t.same(objectsIn(database), [1, 2, 3])
})

test('the bucket gets the newest backup and keeps it, whatever the clock was', async (t) => {
  const { database, clock, write } = await withClock(t)
  const stored = new Set(['auto-a-20361129T120000000', 'auto-a-20361129T130000000'])
  const folder = {
    list: async () => Array.from(stored, (name) => ({ name })),
    put: async (name: string) => void stored.add(name),
    delete: async (name: string) => void stored.delete(name),
  }
  // The methods that a carrier uses.
  const bucket = { within: () => folder, close: () => undefined } as unknown as Bucket
  const carrier = new Carrier({ bucket, keep: 2, check: false })
  for (let i = 0; i < 3; i++) {
    await write()
    await backUpWhatChanged(database, 'a', { keep: 3, check: false })
    clock.nowMs -= 60_000
    t.same(await carrier.carry(database), [])
    const newest = scheduledBackups(database, 'a').at(-1)
    t.equal(newest?.objects, i + 1)
    t.ok(stored.has(newest?.name ?? ''), `it has backup ${i + 1}`)
    t.equal(stored.size, 2)
  }
})

test('the round of the server runs once in its interval, however long that is, and soon after a start if it was missed', async (t) => {
  const { engine, database, clock, write } = await withClock(t)
  const everyMs = 30 * 24 * hour
  let elapsedMs = 0
  const started = () => {
    const schedule = new BackupSchedule(engine, {
      everything: { everyMs, keep: 5, check: false },
      schedules: new Schedules(() => engine.control),
      elapsedMs: () => elapsedMs,
      onNotice: (sentence) => t.fail(sentence),
    })
    t.teardown(() => schedule.stop())
    return async (passedMs: number) => {
      clock.nowMs += passedMs
      elapsedMs += passedMs
      await schedule.runIfDue(clock.nowMs)
      return objectsIn(database)
    }
  }
  const warnings: string[] = []
  const warned = ({ name }: Error) => warnings.push(name)
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const pass = started()
  await write()
  t.same(await pass(60_000), [1], 'a collection without a backup')
  await write()
  t.same(await pass(everyMs - 1), [1], 'not yet')
  t.same(await pass(1), [1, 2])
  await write()
  for (let start = 0; start < 3; start++) t.same(await started()(everyMs / 4), [1, 2], 'a start does not delay it')
  t.same(await started()(everyMs / 4), [1, 2, 3])
  t.same(await started()(everyMs / 2), [1, 2, 3], 'unchanged')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(warnings, [], 'no timer is too long')
})
