// Objects that expire on several nodes: every node hides them by its own clock, and only the one that leads deletes them.
import type { Test } from 'tap'
import { hourMs, TestClock, until } from '../expiry/rig.ts'
import { denseField } from '../search/rig.ts'
import { digestsOf, type Node, openNode, type World } from './nodes.ts'

interface TimedNode {
  readonly node: Node
  readonly clock: TestClock
}

async function openTimed(t: Test, world: World): Promise<TimedNode> {
  const clock = new TestClock()
  return { node: await openNode(t, world, { clock }, { expiryEveryMs: 5 }), clock }
}

/** Runs three nodes through two leaders. */
export async function onlyTheLeaderDeletes(t: Test, world: World): Promise<void> {
  const timed = [await openTimed(t, world), await openTimed(t, world), await openTimed(t, world)] as const
  const [first, second, third] = timed
  const everywhere = async (lsn: number) => {
    for (const { node } of timed) await node.engine.whenApplied(lsn, 60_000)
  }
  const thingsOf = ({ node }: TimedNode) => node.engine.database().collection('things')
  const idsAt = async (one: TimedNode) => (await thingsOf(one).scroll({})).objects.map(({ id }) => id)
  const deletedBy = ({ node }: TimedNode) => node.engine.stats().expiry.deleted
  const appendsOf = ({ node }: TimedNode) => node.log.state().appends
  const object = (id: string, hours: number) => ({ id, fields: { dense: [1, 0, 0, 0] }, ttlSeconds: hours * 3_600 })

  await first.node.lead(1)
  await first.node.engine.database().createCollection({ name: 'things', fields: [denseField(4)] })
  const { lsn } = await thingsOf(first).upsert([object('a', 1), object('b', 3), object('c', 9)])
  await everywhere(lsn)

  // The clocks of the followers are ahead of that of the leader, and run steadily.
  for (const { clock } of [second, third]) clock.pass(2 * hourMs)
  for (const one of [second, third]) {
    await until(() => one.node.engine.stats().expiry.isDeleting)
    t.strictSame(await idsAt(one), ['b', 'c'], 'a follower hides by its clock')
  }
  t.strictSame(await idsAt(first), ['a', 'b', 'c'])
  // Many times as long as the nodes wait between two looks.
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.equal(first.node.engine.lsnApplied, lsn, 'followers append nothing')
  t.strictSame([appendsOf(second), appendsOf(third)], [0, 0])

  first.clock.pass(2 * hourMs)
  await until(() => deletedBy(first) === 1)
  await everywhere(first.node.engine.lsnApplied)
  t.strictSame([second, third].map(deletedBy), [0, 0], 'only the leader deletes')
  t.equal(first.node.engine.lsnApplied, lsn + 1, 'by one record')
  for (const one of timed) t.strictSame(await idsAt(one), ['b', 'c'])

  // The old leader has the same clock as the new one, and deletes no more.
  await first.node.stepDown()
  await second.node.lead(2)
  const before = second.node.engine.lsnApplied
  for (const { clock } of timed) clock.pass(2 * hourMs)
  await until(() => deletedBy(second) === 1)
  await everywhere(second.node.engine.lsnApplied)
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.strictSame(timed.map(deletedBy), [1, 1, 0])
  t.equal(second.node.engine.lsnApplied, before + 1)
  t.equal(appendsOf(third), 0)
  for (const one of timed) t.strictSame(await idsAt(one), ['c'])

  const kinds = async ({ node }: TimedNode) => {
    const found: string[] = []
    for await (const { changes, lsn: end } of node.engine.database().changes({ from: 1 }).batches()) {
      found.push(...changes.map(({ kind }) => kind))
      if (end >= second.node.engine.lsnApplied) return found
    }
    return found
  }
  const expected = ['collection-created', 'objects-upserted', 'objects-expired', 'objects-expired']
  for (const one of timed) t.strictSame(await kinds(one), expected)
  for (const { node } of timed) t.strictSame(digestsOf(node), digestsOf(second.node))
}
