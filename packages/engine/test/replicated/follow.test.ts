// Engines that share a log: followers apply each change while they serve, refuse writes, take over, and open from their
// checkpoints.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import type { Lsn } from '@annal/wal'
import { decodePosition } from '@annal/wal/replicated'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { startReader } from '../readers/reader-thread.ts'
import { openDirectory } from '../search/rig.ts'
import { digestsOf, type Node, openNode, simulate } from './nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const dimension = 8
const fields = [
  { name: 'dense', type: 'vector', params: { dimension, spaceType: 'cosine', precision: 'int8' } },
  { name: 'words', type: 'sparse', params: {} },
] as const

const seed = chosenSeed()
const random = seededRandom(seed)

function objects(from: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `o${from + i}`,
    meta: { n: from + i },
    filter: { third: (from + i) % 3 },
    fields: {
      dense: Array.from({ length: dimension }, () => random.next() - 0.5),
      words: { indices: [(from + i) % 50], values: [1] },
    },
  }))
}

async function caughtUp(leader: Node, ...followers: Node[]): Promise<void> {
  for (const { engine } of followers) await engine.whenApplied(leader.engine.lsnApplied, 60_000)
}

async function same(t: Test, leader: Node, ...followers: Node[]): Promise<void> {
  await caughtUp(leader, ...followers)
  for (const follower of followers) t.same(digestsOf(follower), digestsOf(leader))
}

test('a follower applies every kind of change while it serves', async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const world = simulate(t, seed)
  const [leader, follower] = [await openNode(t, world), await openNode(t, world)]
  await leader.lead(1)
  const changes: string[] = []
  follower.engine.control.onChange(async ({ kind, database }) => void changes.push(`${kind} ${database}`))

  const database = leader.engine.database()
  const collection = await database.createCollection({ name: 'things', fields })
  await collection.upsert(objects(0, 400))
  await caughtUp(leader, follower)
  const seen = follower.engine.database().collection('things')
  t.equal(seen.count().count, 400)
  t.equal((await seen.get('o7'))?.id, 'o7')

  await collection.delete(['o1', 'o2'])
  await collection.deleteWhere([{ third: { $eq: 0 } }])
  await collection.updateFilters([{ id: 'o4', filter: { third: 9 } }])
  await collection.updateFields({ dense: { recall: 0.9 } })
  await Promise.all([collection.upsert(objects(300, 200)), collection.upsert(objects(600, 50))])
  await collection.rebuild({ dense: { M: 8 } })
  await collection.upsert(objects(700, 20))
  const other = await database.createCollection({ name: 'other', fields })
  await other.upsert(objects(0, 10))
  await database.deleteCollection('other')
  const { control } = leader.engine
  await control.createDatabase({ name: 'music', token: { name: 'site', kind: 'r', hash: 'a'.repeat(64) } })
  await leader.engine.database('music').createCollection({ name: 'songs', fields })
  await control.setDatabaseActive('music', false)
  await control.deleteToken('music', 'site')
  await control.createDatabase({ name: 'gone' })
  await control.deleteDatabase('gone')
  await control.putSetting('theme', 'dark')
  await same(t, leader, follower)
  t.strictSame(changes, [
    'database-created music',
    'database-changed music',
    'token-dropped music',
    'database-created gone',
    'database-dropped gone',
  ])
  t.match(await seen.search({ fields: { dense: { query: new Float32Array(dimension).fill(1) } } }), {
    lsn: collection.describe().lsn,
  })
})

test('a follower that takes over answers the request keys of the node before', async (t) => {
  const world = simulate(t)
  const [first, second] = [await openNode(t, world), await openNode(t, world)]
  await first.lead(1)
  const database = first.engine.database()
  const collection = await database.createCollection({ name: 'things', fields }, { requestKey: 'create' })
  const given = objects(0, 3)
  const upserted = await collection.upsert(given, { requestKey: 'upsert' })
  const deleted = await collection.delete(['o1', 'absent'], { requestKey: 'delete' })
  const nothing = await collection.delete(['absent'], { requestKey: 'nothing' })
  await caughtUp(first, second)
  await second.lead(2)
  const { lsnApplied } = second.engine
  const own = second.engine.database().collection('things')
  const again = [
    [await own.upsert(given, { requestKey: 'upsert' }), upserted],
    [await own.delete(['o1', 'absent'], { requestKey: 'delete' }), deleted],
    [await own.delete(['absent'], { requestKey: 'nothing' }), nothing],
  ] as const
  for (const [repeated, original] of again) t.match(repeated, original)
  await t.rejects(own.upsert(objects(5, 1), { requestKey: 'upsert' }), { code: 'request_key_reused' })
  t.equal(second.engine.lsnApplied, lsnApplied)
})

test('a follower rejects writes before it looks at them, and reads it cannot answer yet', async (t) => {
  const world = simulate(t)
  const [leader, follower] = [await openNode(t, world), await openNode(t, world)]
  await leader.lead(1)
  const collection = await leader.engine.database().createCollection({ name: 'things', fields })
  await collection.upsert(objects(0, 3))
  await caughtUp(leader, follower)
  const database = follower.engine.database()
  const own = database.collection('things')
  const { lsnApplied, timeMs } = follower.engine
  const writes = {
    create: () => database.createCollection({ name: 'more', fields }),
    deleteCollection: () => database.deleteCollection('things'),
    upsert: () => own.upsert(objects(0, 1)),
    delete: () => own.delete(['not there']),
    deleteWhere: () => own.deleteWhere([{ third: { $eq: 77 } }]),
    updateFilters: () => own.updateFilters([{ id: 'not there', filter: {} }]),
    updateFields: () => own.updateFields({ dense: { recall: 0.9 } }),
    rebuild: () => own.rebuild(),
    vacuum: () => own.vacuum(),
    createDatabase: () => follower.engine.control.createDatabase({ name: 'music' }),
    putSetting: () => follower.engine.control.putSetting('theme', 'dark'),
    putToken: () => follower.engine.control.putToken('default', { name: 'a', kind: 'r', hash: 'b'.repeat(64) }),
  }
  for (const [name, write] of Object.entries<() => Promise<unknown>>(writes))
    await t.rejects(write(), { code: 'not_leader' }, name)
  t.equal(own.count().count, 3, 'the collection still serves')
  t.equal(follower.engine.timeMs, timeMs)
  t.equal(follower.engine.lsnApplied, lsnApplied)
  await t.rejects(own.waitFor(lsnApplied + 1, 1), { code: 'replica_behind' })
  await t.rejects(collection.waitFor(lsnApplied + 1, 1), { code: 'lsn_not_reached' })
  for (const node of [leader, follower]) {
    const unsupported = node.engine.database()
    await t.rejects(unsupported.backups.create('things'), { code: 'unsupported_in_cluster' })
    await t.rejects(unsupported.backups.clone('things', 'copy'), { code: 'unsupported_in_cluster' })
  }
})

test('leadership moves, and the deposed node follows without a restart', async (t) => {
  const world = simulate(t, seed)
  const nodes = [await openNode(t, world), await openNode(t, world), await openNode(t, world)] as const
  await nodes[0].lead(1)
  await nodes[0].engine.database().createCollection({ name: 'things', fields })
  for (let epoch = 2; epoch < 7; epoch++) {
    const [old, next] = [nodes[epoch % 3], nodes[(epoch + 1) % 3]] as [Node, Node]
    const leader = nodes.find(({ leads }) => leads) ?? old
    // Writes are on their way when the next node takes the log.
    const written = Array.from({ length: 6 }, (_, i) =>
      leader.engine
        .database()
        .collection('things')
        .upsert(objects(epoch * 100 + i * 10, 10)),
    )
    if (leader !== next) {
      const outcomes = Promise.allSettled(written)
      await next.lead(epoch)
      // Meets the fence, unless an earlier write has.
      await t.rejects(leader.engine.database().collection('things').upsert(objects(0, 1)), {
        code: /^(log_fenced|not_leader)$/,
      })
      await leader.stepDown()
      for (const outcome of await outcomes) {
        if (outcome.status === 'rejected')
          t.ok(['log_fenced', 'not_leader'].includes(outcome.reason.code), outcome.reason)
      }
    }
    await Promise.allSettled(written)
    await next.engine
      .database()
      .collection('things')
      .upsert(objects(epoch * 100 + 90, 10))
    await same(t, next, ...nodes.filter((node) => node !== next))
  }
})

test('a follower that rebuilds when it is deposed stops, and follows', async (t) => {
  const world = simulate(t)
  const [first, second] = [await openNode(t, world), await openNode(t, world)]
  await first.lead(1)
  const collection = await first.engine.database().createCollection({ name: 'things', fields })
  await collection.upsert(objects(0, 500))
  const rebuilding = collection.rebuild({ dense: { M: 24 } })
  rebuilding.catch(() => undefined)
  // In the turn in which the rebuild begins.
  const stepping = first.stepDown()
  await second.lead(2)
  await stepping
  await second.engine.database().collection('things').upsert(objects(500, 10))
  await t.rejects(rebuilding, { code: 'not_leader' })
  await same(t, second, first)
})

test('a node opens from its checkpoint and the position in it, and reads only what follows', async (t) => {
  const world = simulate(t)
  const leader = await openNode(t, world)
  const dataDir = await openDirectory(t)
  const first = await openNode(t, world, { dataDir })
  await leader.lead(1)
  const collection = await leader.engine.database().createCollection({ name: 'things', fields })
  for (let i = 0; i < 30; i++) await collection.upsert(objects(i * 5, 5))
  await caughtUp(leader, first)
  const { lsn } = await first.engine.checkpoint()
  const [checkpoint = ''] = (await readdir(join(dataDir, 'checkpoints'))).sort().reverse()
  const manifest = JSON.parse(await readFile(join(dataDir, 'checkpoints', checkpoint, 'manifest.json'), 'utf8'))
  const text = JSON.stringify(manifest)
  const [, position = ''] = /"logPlace":"([^"]+)"/.exec(text) ?? []
  t.ok(decodePosition(position).lsn <= lsn)
  await first.close()
  for (let i = 30; i < 40; i++) await collection.upsert(objects(i * 5, 5))
  const again = await openNode(t, world, { dataDir })
  t.ok((again.from?.seq ?? 0) > 1, `opened from message ${again.from?.seq}`)
  t.equal(again.engine.stats().lsnCheckpoint, lsn)
  await same(t, leader, again)
  await collection.upsert(objects(900, 5))
  await same(t, leader, again)
  // Nobody truncates the log for a checkpoint.
  t.equal(world.sim.range.first, 1)
})

test('a directory opens only with its own log, and a log that is older than the directory is refused', async (t) => {
  const world = simulate(t)
  const dataDir = await openDirectory(t)
  const node = await openNode(t, world, { dataDir })
  await node.lead(1)
  const collection = await node.engine.database().createCollection({ name: 'things', fields })
  for (let i = 0; i < 5; i++) await collection.upsert(objects(i, 1))
  await node.engine.checkpoint()
  node.leads = false
  await node.close()
  await t.rejects(openNode(t, world, { dataDir, uuid: '99999999-0000-4000-8000-000000000000' }), {
    code: 'identity_mismatch',
  })
  await t.rejects(openNode(t, simulate(t), { dataDir }), { code: 'log_damaged' })
  await t.rejects(openEngine({ dataDir, threads: 1 }), { code: 'log_damaged' }, 'a single engine finds no log')
  world.sim.rollBack(3)
  await t.rejects(openNode(t, world, { dataDir }), { code: 'log_damaged' })

  const single = await openDirectory(t)
  const alone = await openEngine({ dataDir: single, threads: 1 })
  await alone.close()
  await t.rejects(openNode(t, simulate(t), { dataDir: single }), { code: 'identity_mismatch' })
})

test('threads that search see what a follower applies', async (t) => {
  const world = simulate(t)
  const [leader, follower] = [await openNode(t, world), await openNode(t, world, { readers: 1 })]
  await leader.lead(1)
  const collection = await leader.engine.database().createCollection({ name: 'things', fields })
  await collection.upsert(objects(0, 50))
  await caughtUp(leader, follower)
  const reader = await startReader(t, follower.engine)
  for (let i = 1; i < 6; i++) {
    const added = objects(i * 50, 50)
    const { lsn } = await collection.upsert(added)
    const query = Float32Array.from(added[7]?.fields.dense ?? [])
    await follower.engine.whenApplied(lsn, 60_000)
    // The graph is smaller than ef, so the walk finds the object itself.
    const found = await reader.here('things', { field: 'dense', query, limit: 1, ef: 512, minLsn: lsn })
    t.equal(found?.hits[0]?.id, `o${i * 50 + 7}`)
  }
})

test('an engine that meets a record of a later version stops, and names its type and version', async (t) => {
  const world = simulate(t)
  const failures: Error[] = []
  const [leader, follower] = [
    await openNode(t, world),
    await openNode(t, world, { onFailed: (error) => void failures.push(error) }),
  ]
  await leader.lead(1)
  await leader.engine.database().createCollection({ name: 'things', fields })
  await caughtUp(leader, follower)
  const message = /record of type 99, version 1, which requires a newer version of Annal/
  const record = { lsn: (follower.engine.lsnApplied + 1) as Lsn, type: 99, version: 1, payload: Buffer.from('new') }
  await t.rejects(follower.engine.applyTailed([record]), { code: 'format_too_new', message })
  t.match(failures, [{ code: 'format_too_new', message }], 'the server ends with this sentence')
  t.equal(follower.engine.health().status, 'failed')
  t.throws(() => follower.engine.database(), { code: 'closed', message })
})
