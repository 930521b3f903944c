// Cursors of consumers: what they acknowledge is in the log, in checkpoints, and in the catalog after a start.
import { setImmediate } from 'node:timers/promises'
import type { Change, Database } from '@annal/engine'
import { test } from 'tap'
import { cursorsOfDatabaseMax } from '../../src/limits.ts'
import { denseField, openedEngine, temporaryDirectory } from '../backup/rig.ts'

async function first(database: Database, cursor: string): Promise<Change | undefined> {
  for await (const change of database.changes({ cursor })) return change
  return undefined
}

test('a consumer continues after what it acknowledged', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const engine = await openedEngine(t, { dataDir })
  const database = engine.database()
  for (const name of ['a', 'b', 'c']) await database.createCollection({ name, fields: [denseField()] })
  const lsns: number[] = []
  for await (const { lsn } of database.changes({ from: 1 })) if (lsns.push(lsn) === 3) break
  const [one = 0, two = 0, three = 0] = lsns
  t.throws(() => database.changes({ cursor: 'x' }), { code: 'feed_cursor_not_found', details: { field: 'cursor' } })
  t.match(await database.cursors.acknowledge('x', one), { lsn: one, durable: true }, 'the first is written at once')
  t.match(await first(database, 'x'), { lsn: two, collection: 'b' })
  t.match(await database.cursors.acknowledge('x', two), { lsn: two, durable: false })
  t.match(await database.cursors.acknowledge('x', one), { lsn: two }, 'a late acknowledgement changes nothing')
  t.match(database.cursors.list(), [{ name: 'x', lsn: two }])
  t.match(await first(database, 'x'), { lsn: three, collection: 'c' })
  await engine.close()
  const again = await openedEngine(t, { dataDir })
  t.match(again.database().cursors.list(), [{ name: 'x', lsn: two }], 'the newest place is written on close')
  t.match(await first(again.database(), 'x'), { lsn: three, collection: 'c' })
  const digest = again.control.digest()
  await again.checkpoint()
  await again.close()
  const loaded = await openedEngine(t, { dataDir })
  t.equal(loaded.control.digest(), digest, 'a checkpoint has cursors')
  await loaded.database().cursors.delete('x')
  t.strictSame(loaded.database().cursors.list(), [])
  await t.rejects(loaded.database().cursors.delete('x'), { code: 'feed_cursor_not_found' })
})

test('a place does not go back while its record is written', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const engine = await openedEngine(t, { dataDir })
  await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  await engine.database().cursors.acknowledge('x', 0)
  await engine.close()
  const again = await openedEngine(t, { dataDir })
  const { lsnApplied } = again
  const { cursors } = again.database()
  // Nothing was written since the start, so the record is written at once.
  await cursors.acknowledge('x', lsnApplied)
  const places = new Set<number | undefined>()
  while (again.lsnApplied === lsnApplied) {
    places.add(cursors.list()[0]?.lsn)
    await setImmediate()
  }
  places.add(cursors.list()[0]?.lsn)
  t.strictSame([...places], [lsnApplied])
})

test('places are written at most once a second', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  await database.createCollection({ name: 'a', fields: [denseField()] })
  await database.cursors.acknowledge('x', 0)
  const before = engine.stats().log.appends
  const end = performance.now() + 300
  while (performance.now() < end) await database.cursors.acknowledge('x', engine.lsnDurable)
  t.ok(engine.stats().log.appends - before <= 1 + (performance.now() - end + 300) / 1_000)
})

test('cursors have limits, and belong to a database', async (t) => {
  const engine = await openedEngine(t)
  const { cursors } = engine.database()
  await t.rejects(cursors.acknowledge('x', 1e9), { code: 'limit_exceeded', details: { field: 'lsn', value: 1e9 } })
  await t.rejects(cursors.acknowledge('x', -1), { code: 'limit_exceeded', details: { field: 'lsn' } })
  await t.rejects(cursors.acknowledge('x', 0.5), { code: 'invalid_argument', details: { field: 'lsn' } })
  await t.rejects(cursors.acknowledge('/', 0), { code: 'invalid_argument', details: { field: 'name' } })
  await Promise.all(Array.from({ length: cursorsOfDatabaseMax }, (_, i) => cursors.acknowledge(`c${i}`, 0)))
  await t.rejects(cursors.acknowledge('more', 0), { code: 'limit_exceeded', details: { limit: cursorsOfDatabaseMax } })
  await engine.control.createDatabase({ name: 'other' })
  const other = engine.database('other')
  t.strictSame(other.cursors.list(), [])
  await other.cursors.acknowledge('c0', 0)
  await engine.control.deleteDatabase('other')
  await engine.control.createDatabase({ name: 'other' })
  t.strictSame(engine.database('other').cursors.list(), [])
})
