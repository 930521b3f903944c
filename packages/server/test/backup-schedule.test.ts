// Scheduled backups: of changed collections, verified, and limited in number.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'tap'
import { Bucket } from '../src/backups/bucket.ts'
import { Carrier } from '../src/backups/carrier.ts'
import { BackupSchedule } from '../src/backups/scheduler.ts'
import { Schedules } from '../src/backups/schedules.ts'
import { runningApp } from './running-app.ts'
import { s3Bucket, s3Server } from './s3-server.ts'

const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, precision: 'float32' } }] as const

test('of the nodes of a cluster, the one that leads makes a backup that is due, once', async (t) => {
  const { engine } = await runningApp(t)
  const database = engine.database()
  const { backups } = database
  const a = await database.createCollection({ name: 'a', fields })
  await database.createCollection({ name: 'own', fields })
  const schedules = new Schedules(() => engine.control)
  await schedules.put(database.describe(), { collection: 'own', everyHours: 3, keep: 2, check: false })
  const nodes = [0, 1].map(() => ({ isLeader: false, isAway: false, refreshes: 0 }))
  const rounds = nodes.map((node) => {
    const schedule = new BackupSchedule(engine, {
      everything: { everyMs: 3_600_000, keep: 2, check: false },
      schedules,
      node: {
        leads: () => node.isLeader,
        async refresh() {
          node.refreshes++
          if (node.isAway) throw new Error('the store is away')
        },
      },
      onNotice: (sentence: string) => t.fail(sentence),
    })
    t.teardown(() => schedule.stop())
    return schedule
  })
  const runAll = async (now?: number) => {
    for (const round of rounds) await round.runDue(now)
  }
  const made = () =>
    backups
      .list()
      .map(({ collection }) => collection)
      .sort()
  const [first, second] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  await runAll()
  t.same(made(), [], 'no node leads')
  first.isLeader = true
  first.isAway = true
  await runAll()
  t.same(made(), [], 'it does not know which backups there are')
  first.isAway = false
  await runAll()
  await runAll()
  t.same(made(), ['a', 'own'])
  t.equal(second.refreshes, 0)

  t.comment('the other one leads')
  first.isLeader = false
  second.isLeader = true
  await a.upsert([{ id: 'x', fields: { v: [1, 1] } }])
  await runAll()
  t.same(made(), ['a', 'own'], 'not yet')
  await runAll(Date.now() + 2 * 3_600_000)
  t.same(made(), ['a', 'a', 'own'], 'what is due and has changed')
  await runAll()
  t.equal(made().length, 3)
  t.same(
    rounds.map(({ faults }) => faults),
    [[], []],
  )
})

test('each round backs up changed collections and keeps the newest few', async (t) => {
  const { engine, dataDir } = await runningApp(t)
  const database = engine.database()
  const { backups } = database
  const [a, b] = await Promise.all(['a', 'b'].map((name) => database.createCollection({ name, fields })))
  const notices: string[] = []
  const options = {
    everything: { everyMs: 3_600_000, keep: 2, check: true },
    schedules: new Schedules(() => engine.control),
    onNotice: (sentence: string) => void notices.push(sentence),
  }
  const schedule = new BackupSchedule(engine, options)
  t.teardown(() => schedule.stop())
  await backups.create('a', 'by-hand')
  await schedule.run()
  const backupsOf = (collection: string) =>
    backups.list().filter((info) => info.collection === collection && info.name !== 'by-hand')
  t.equal(backupsOf('a').length, 1)
  t.equal(backupsOf('b').length, 1)
  await schedule.run()
  t.equal(backupsOf('a').length, 1, 'nothing changed, nothing made')
  for (let i = 0; i < 4; i++) {
    await a?.upsert([{ id: `${i}`, fields: { v: [i, 1] } }])
    await schedule.run()
  }
  t.equal(backupsOf('a').length, 2, 'the newest two')
  t.equal(backupsOf('a').at(-1)?.objects, 4)
  t.equal(backupsOf('b').length, 1)
  t.ok(backups.info('by-hand'), 'what somebody made is never removed')
  t.same(notices, [])
  t.same(schedule.faults, [])

  await b?.upsert([{ id: 'x', fields: { v: [1, 1] } }])
  const folder = path.join(dataDir, 'checkpoints')
  await engine.checkpoint()
  await b?.upsert([{ id: 'y', fields: { v: [1, 2] } }])
  // Damages the snapshot file that the next backup starts with.
  const newest = (await readdir(folder)).sort().at(-1) as string
  const id = 2
  await writeFile(path.join(folder, newest, `collection-${id}-part-0.snap`), 'spoilt')
  await schedule.run()
  t.same(schedule.faults, [], 'a backup takes a new checkpoint if one is damaged')

  // The backup that no round removes.
  const faulty = path.join(dataDir, 'backups')
  for (const folder of await readdir(faulty)) {
    const manifest = await readFile(path.join(faulty, folder, 'manifest.json'), 'utf8')
    if (manifest.includes('by-hand')) await rm(path.join(faulty, folder, 'tail.snap'))
  }
  await a?.upsert([{ id: 'z', fields: { v: [1, 1] } }])
  await schedule.run()
  t.ok(
    schedule.faults.some((fault) => fault.includes('tail.snap cannot be read')),
    'a backup that was spoilt later is found',
  )
})

test('a collection is backed up by its own schedule until this is deleted', async (t) => {
  const { engine, send } = await runningApp(t, { backupEveryHours: 5 })
  const database = engine.database()
  for (const name of ['a', 'b']) await database.createCollection({ name, fields })
  const schedules = new Schedules(() => engine.control)
  const everything = { everyMs: 3_600_000, keep: 2, check: false }
  const schedule = new BackupSchedule(engine, { everything, schedules, onNotice: (sentence) => t.fail(sentence) })
  t.teardown(() => schedule.stop())
  const put = async (name: string, json: object) =>
    (await send('PUT', `/api/v2/collection/${name}/schedule`, { json })).json()
  const listed = async () => (await send('GET', '/api/v2/schedules')).json()
  t.match(await listed(), { schedules: [], server: { every_hours: 5 } })
  t.match(await put('a', { every_hours: 24 }), {
    collection: 'a',
    every_hours: 24,
    keep: 7,
    check: true,
    next_at: null,
  })
  t.match(await put('a', { every_hours: 2, keep: 1 }), { every_hours: 2, keep: 1 }, 'in the place of the one before')
  t.match(await put('none', { every_hours: 2 }), { code: 'collection_not_found' })
  t.match(await put('b', { every_hours: 0 }), { code: 'limit_exceeded', field: 'every_hours' })
  t.equal(((await listed()).schedules as unknown[]).length, 1)

  const names = (owner: string) =>
    database.backups
      .list()
      .filter(({ collection }) => collection === owner)
      .map(({ name }) => name)
  await schedule.run()
  t.same([names('a').length, names('b').length], [0, 1], 'who has a schedule of its own is left to it')
  await schedule.runDue()
  t.equal(names('a').length, 1)
  const [made] = names('a')
  await database.collection('a').upsert([{ id: 'x', fields: { v: [1, 1] } }])
  await schedule.runDue()
  t.same(names('a'), [made], 'not due yet')
  await schedule.runDue(Date.now() + 2 * 3_600_000)
  t.equal(names('a').length, 1, 'the newest one is kept')
  t.notSame(names('a'), [made])
  const [nextSchedule] = (await listed()).schedules as { last_at: string; next_at: string }[]
  t.equal(Date.parse(nextSchedule?.next_at ?? '') - Date.parse(nextSchedule?.last_at ?? ''), 2 * 3_600_000)

  t.match((await send('DELETE', '/api/v2/collection/a/schedule')).json(), { deleted: true })
  t.same((await send('DELETE', '/api/v2/collection/a/schedule')).json(), { deleted: false })
  t.match((await send('DELETE', '/api/v2/collection/none/schedule')).json(), { code: 'collection_not_found' })
  await database.collection('a').upsert([{ id: 'y', fields: { v: [1, 1] } }])
  await schedule.runDue(Date.now() + 9 * 3_600_000)
  t.equal(names('a').length, 1, 'what it made stays')
})

test('schedules belong to one database, not to a later one with its name, and their number is limited', async (t) => {
  const { engine } = await runningApp(t)
  const schedules = new Schedules(() => engine.control)
  const { control } = engine
  const first = await control.createDatabase({ name: 'x' })
  const plain = { everyHours: 1, keep: 1, check: true }
  await Promise.all(['a', 'b', 'c'].map((collection) => schedules.put(first, { collection, ...plain })))
  t.same(
    schedules.of(first).map(({ collection }) => collection),
    ['a', 'b', 'c'],
    'none of those that are put at once is lost',
  )
  t.same(schedules.of({ name: 'default' }), [])
  await control.deleteDatabase('x')
  t.same(schedules.all(), [])
  const second = await control.createDatabase({ name: 'x' })
  t.same(schedules.of(second), [])

  let fitted = 0
  const long = (i: number) => `${i}`.padStart(64, 'c')
  await t.rejects(
    async () => {
      for (;;) {
        await schedules.put(second, { collection: long(fitted), ...plain })
        fitted++
      }
    },
    { code: 'limit_exceeded' },
  )
  t.ok(fitted > 200, `${fitted} fit`)
  t.equal(schedules.of(second).length, fitted, 'what did not fit took nothing away')
  await schedules.put(second, { collection: long(0), everyHours: 8_760, keep: 10_000, check: false })
  t.equal(schedules.of(second).length, fitted)
  t.match(
    schedules.of(second).find(({ collection }) => collection === long(0)),
    { everyHours: 8_760 },
  )
})

test('scheduled backups are uploaded to a bucket once each, limited in number there, and can be downloaded again', async (t) => {
  await s3Server(t)
  const { engine } = await runningApp(t)
  const database = engine.database()
  const a = await database.createCollection({ name: 'a', fields })
  await database.createCollection({ name: 'a-b', fields })
  const bucket = new Bucket({ bucket: s3Bucket, prefix: 'annal/' })
  const notices: string[] = []
  const schedule = new BackupSchedule(engine, {
    everything: { everyMs: 3_600_000, keep: 1, check: true },
    schedules: new Schedules(() => engine.control),
    carrier: new Carrier({ bucket, keep: 2, check: true }),
    onNotice: (sentence) => void notices.push(sentence),
  })
  t.teardown(() => schedule.stop())
  const folder = new Bucket({ bucket: s3Bucket, prefix: 'annal/default/' })
  t.teardown(() => folder.close())
  await folder.put('by-hand', Readable.from([Buffer.from('x')]), { bytesAbout: 1 })
  const there = async (collection: string) =>
    (await folder.list()).filter(({ name }) => name.startsWith(`auto-${collection}-2`))
  await schedule.run()
  const [first] = await there('a')
  await schedule.run()
  t.same(await there('a'), [first], 'what is there is not carried again')
  for (let i = 0; i < 3; i++) {
    await a.upsert([{ id: `${i}`, fields: { v: [i, 1] } }])
    await schedule.run()
  }
  t.same(notices, [])
  const kept = await there('a')
  t.equal(kept.length, 2)
  t.equal((await there('a-b')).length, 1)
  t.ok((await folder.list()).some(({ name }) => name === 'by-hand'))
  await database.backups.upload('came-back', await folder.get(kept.at(-1)?.name ?? ''))
  await database.backups.restore('came-back', 'again')
  t.equal(database.collection('again').stateDigest(), a.stateDigest())
  await t.rejects(database.backups.upload('made-up', await folder.get('by-hand')), { code: 'backup_damaged' })

  const away = new Bucket({ bucket: 'nobody-made-it', prefix: '' })
  const other = new BackupSchedule(engine, {
    everything: { everyMs: 3_600_000, keep: 1, check: false },
    schedules: new Schedules(() => engine.control),
    carrier: new Carrier({ bucket: away, keep: 2, check: false }),
    onNotice: () => undefined,
  })
  await other.run()
  t.match(other.faults, [/listing the backups .* failed.*nobody-made-it/])
  await other.stop()
})
