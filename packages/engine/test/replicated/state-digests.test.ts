// Digests that engines on one log keep: of the same states in every engine, whatever they do meanwhile; and another one where a record was
// applied with other content.
import type { LogRecord } from '@annal/wal'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { digestRequestKey } from '../../src/replicated.ts'
import { type Node, openNode, simulate } from './nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const dimension = 8
const fields = [
  { name: 'dense', type: 'vector', params: { dimension, spaceType: 'cosine', precision: 'int8' } },
  { name: 'words', type: 'sparse', params: {} },
] as const
const random = seededRandom(75)

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

const digestEvery = 8
const key = ({ part, lsn }: { readonly part: number; readonly lsn: number }) => `${part}/${lsn}`

/** Digests by part and LSN. A node that has two of the same state fails the test. */
function keptBy(t: Test, { engine }: Node): Map<string, string> {
  const kept = new Map(engine.stateDigests.map((each) => [key(each), each.digest]))
  t.equal(kept.size, engine.stateDigests.length)
  return kept
}

async function quiet(...nodes: Node[]): Promise<void> {
  // The first call only sees what is quiet.
  for (const { engine } of [...nodes, ...nodes]) await engine.digestQuiet()
}

async function caughtUp(leader: Node, ...followers: Node[]): Promise<void> {
  for (const { engine } of followers) await engine.whenApplied(leader.engine.lsnApplied, 60_000)
}

test('engines on one log keep equal digests of the same states', async (t) => {
  const world = simulate(t, 75)
  const [leader, follower] = [
    await openNode(t, world, {}, { digestEvery }),
    await openNode(t, world, {}, { digestEvery }),
  ]
  await leader.lead(1)
  const database = leader.engine.database()
  const collection = await database.createCollection({ name: 'things', fields })
  const other = await database.createCollection({ name: 'other', fields })
  // Many writes wait at once, with memory reserved for them.
  const write = async (from: number) => {
    await Promise.all(Array.from({ length: 60 }, (_, i) => collection.upsert(objects(from + i, 2))))
    await other.upsert(objects(from, 1))
    const update = (i: number) => collection.updateFilters([{ id: `o${from + (i % 50)}`, filter: { third: i } }])
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => (i % 30 ? update(i) : collection.upsert(objects(from + 60, 1)))),
    )
  }
  await write(0)
  await caughtUp(leader, follower)
  await quiet(leader, follower)
  const searching = Array.from({ length: 20 }, () =>
    collection.search({ fields: { dense: { query: new Float32Array(dimension).fill(1) } } }),
  )
  await write(40)
  await Promise.all(searching)
  await leader.engine.checkpoint()
  await collection.delete(['o1', 'o2', 'o40'])
  await collection.rebuild({ dense: { M: 8 } })
  await write(80)
  await collection.vacuum()
  await write(120)
  await database.deleteCollection('other')
  await leader.stepDown()
  await follower.lead(2)
  const own = follower.engine.database().collection('things')
  await Promise.all(Array.from({ length: 60 }, (_, i) => own.upsert(objects(300 + i, 1))))
  await caughtUp(follower, leader)
  await quiet(leader, follower)

  const [first, second] = [keptBy(t, leader), keptBy(t, follower)]
  const common = [...first.keys()].filter((each) => second.has(each))
  t.comment(`${first.size} and ${second.size} digests, ${common.length} of the same states`)
  t.ok(common.filter((each) => !each.startsWith('0/')).length >= 8)
  t.strictSame(
    common.filter((each) => first.get(each) !== second.get(each)),
    [],
  )
  const newest = { part: 1, lsn: own.describe().lsn }
  t.ok(common.includes(key(newest)), 'the newest state was compared')

  const third = await openNode(t, world, {}, { digestEvery })
  await caughtUp(follower, third)
  await quiet(third)
  const read = keptBy(t, third)
  t.strictSame(
    [...read].filter(([each, digest]) => second.has(each) && second.get(each) !== digest),
    [],
    'an engine that read the log from its beginning has the same',
  )
  t.ok(read.has(key(newest)))
})

test('an engine that applied other content has other digests from then on', async (t) => {
  const world = simulate(t, 76)
  const [leader, follower] = [
    await openNode(t, world, {}, { digestEvery }),
    await openNode(t, world, {}, { digestEvery }),
  ]
  await leader.lead(1)
  const collection = await leader.engine.database().createCollection({ name: 'things', fields })
  let changed = 0
  const { engine } = follower
  const apply = engine.applyTailed.bind(engine)
  engine.applyTailed = (records) => apply(records.map((record) => (record.lsn === 30 ? change(record) : record)))
  const change = (record: LogRecord): LogRecord => {
    changed++
    const payload = Buffer.from(record.payload)
    const at = payload.indexOf('marked')
    payload.write('merked', at)
    return { ...record, payload }
  }
  const [one] = objects(0, 1)
  if (one === undefined) throw new Error('there is one')
  while (leader.engine.lsnApplied < 80) await collection.upsert([{ ...one, meta: { text: 'marked' } }])
  await caughtUp(leader, follower)
  await quiet(leader, follower)
  t.equal(changed, 1)
  const [first, second] = [keptBy(t, leader), keptBy(t, follower)]
  const lsns = [...first].filter(([each]) => each.startsWith('1/') && second.has(each))
  const differ = lsns.filter(([each, digest]) => second.get(each) !== digest).map(([each]) => Number(each.slice(2)))
  t.ok(differ.length > 0 && lsns.length > differ.length, 'digests before are equal')
  t.equal(Math.min(...differ) >= 30, true)
})

test('a record requests digests of a collection that is written to without a break', async (t) => {
  const world = simulate(t, 76)
  const [leader, follower] = [
    await openNode(t, world, {}, { digestEvery: 2 ** 20 }),
    await openNode(t, world, {}, { digestEvery: 2 ** 20 }),
  ]
  await leader.lead(1)
  const collection = await leader.engine.database().createCollection({ name: 'things', fields })
  let written = 0
  let isEnded = false
  const writers = Array.from({ length: 4 }, async () => {
    while (!isEnded) await collection.upsert(objects(written++, 1))
  })
  const common = () => {
    const others = keptBy(t, follower)
    return leader.engine.stateDigests.filter((each) => each.part !== 0 && others.has(key(each)))
  }
  t.strictSame(common(), [], 'nothing is hashed without a request')
  const [, { lsn = 0, name } = {}] = leader.engine.stateLsns
  t.equal(name, 'things')
  await leader.engine.control.putSetting(digestRequestKey, '1')
  const until = written + 40
  while (written < until) await collection.upsert(objects(written++, 1))
  await caughtUp(leader, follower)
  isEnded = true
  await Promise.all(writers)
  await caughtUp(leader, follower)
  const [found] = common()
  t.ok(found !== undefined && found.lsn >= lsn)
  t.equal(keptBy(t, follower).get(key(found ?? { part: 0, lsn: 0 })), found?.digest)
})
