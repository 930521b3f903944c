// A store that loses its newest messages while nodes run: a node that has read them does not lead, although the store takes its fence.
import { test } from 'tap'
import { openReplicatedLog } from '../../src/replicated/replicated-log.ts'
import { ManualClock, pump, SimFrameStore, seededRandom } from '../../src/testing/index.ts'
import { patient } from '../patience.ts'

test('a node that has read what the store lost cannot lead, however often it tries', patient, async (t) => {
  const sim = new SimFrameStore({ random: seededRandom(1), messageBytesMax: 1024 })
  const clock = new ManualClock()
  t.teardown(pump(sim, clock))
  const open = (id: number) =>
    openReplicatedLog({ store: sim.connect(), logId: 7n, writer: Buffer.alloc(16, id), clock })
  const first = await open(1)
  await first.lead(1)
  for (const text of ['a', 'b', 'c', 'd']) await first.append({ type: 16, version: 1, payload: Buffer.from(text) })
  const second = await open(2)
  t.equal(second.place.lsn, 4)
  sim.rollBack(3)
  const before = sim.range.last
  for (let epoch = 2; epoch < 8; epoch++)
    await t.rejects(second.lead(epoch), {
      code: 'log_damaged',
      message: /message 5 is gone, this node has read it/,
    })
  t.equal(sim.range.last, before + 1, 'it leaves one fence')
  t.match(second.state(), { condition: 'failed', reason: /older than this node/ })
  const third = await open(3)
  t.equal(third.place.lsn, 1, 'a node that has read nothing cannot know')
  for (const log of [first, second, third]) await log.close()
})
