// Scheduled backups: of what changed, proved, and no more of them than are kept.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'tap'
import { BackupSchedule } from '../src/backup-schedule.ts'
import { runningApp } from './running-app.ts'

const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, precision: 'float32' } }]

test('each round backs up what changed and keeps the newest few', async (t) => {
  const { engine, dataDir } = await runningApp(t)
  const database = engine.database()
  const { backups } = database
  const [a, b] = await Promise.all(['a', 'b'].map((name) => database.createCollection({ name, fields })))
  const notices: string[] = []
  const options = {
    everyMs: 3_600_000,
    keep: 2,
    check: true,
    onNotice: (sentence: string) => void notices.push(sentence),
  }
  const schedule = new BackupSchedule(engine, options)
  t.teardown(() => schedule.stop())
  await backups.create('a', 'by-hand')
  await schedule.run()
  const of = (collection: string) =>
    backups.list().filter((info) => info.collection === collection && info.name !== 'by-hand')
  t.equal(of('a').length, 1)
  t.equal(of('b').length, 1)
  await schedule.run()
  t.equal(of('a').length, 1, 'nothing changed, nothing made')
  for (let i = 0; i < 4; i++) {
    await a?.upsert([{ id: `${i}`, fields: { v: [i, 1] } }])
    await schedule.run()
  }
  t.equal(of('a').length, 2, 'the newest two')
  t.equal(of('a').at(-1)?.objects, 4)
  t.equal(of('b').length, 1)
  t.ok(backups.info('by-hand'), 'what somebody made is never removed')
  t.same(notices, [])
  t.same(schedule.faults, [])

  await b?.upsert([{ id: 'x', fields: { v: [1, 1] } }])
  const folder = path.join(dataDir, 'checkpoints')
  await engine.checkpoint()
  await b?.upsert([{ id: 'y', fields: { v: [1, 2] } }])
  // The disk spoils a snapshot file that the next backup begins with.
  const newest = (await readdir(folder)).sort().at(-1) as string
  const id = 2
  await writeFile(path.join(folder, newest, `collection-${id}-part-0.snap`), 'spoilt')
  await schedule.run()
  t.equal(schedule.faults.length, 1, 'a backup that cannot be restored is none, and is told')
  t.match(schedule.faults[0], /"default\/b"/)
  t.equal(of('b').length, 1)

  // The one that no round removes.
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
