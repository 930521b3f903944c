// A store that loses its newest messages while nodes run: a node that has read them does not lead, although the store takes its fence.
import { type Test, test } from 'tap'
import type { WalError } from '../../src/errors.ts'
import { openReplicatedLog, type ReplicatedLog } from '../../src/replicated/replicated-log.ts'
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
  t.equal(second.position.lsn, 4)
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
  t.equal(third.position.lsn, 1, 'a node that has read nothing cannot know')
  for (const log of [first, second, third]) await log.close()
})

/** Nodes on one store. */
function world(t: Test) {
  const sim = new SimFrameStore({ random: seededRandom(2), messageBytesMax: 1024 })
  const clock = new ManualClock()
  t.teardown(pump(sim, clock))
  const open = async (id: number, onFenced?: (error: WalError) => void) => {
    const writer = Buffer.alloc(16, id)
    const log = await openReplicatedLog({
      store: sim.connect(),
      logId: 7n,
      writer,
      clock,
      ...(onFenced && { onFenced }),
    })
    t.teardown(() => log.close())
    return log
  }
  const append = (log: ReplicatedLog, text: string) => log.append({ type: 16, version: 1, payload: Buffer.from(text) })
  const steady = () => new Promise<void>((resolve) => void clock.after(2_000, resolve))
  return { sim, open, append, steady }
}

test(
  'a node does not lead if a fence of another one has the number of a message that it has read',
  patient,
  async (t) => {
    const { sim, open, append } = world(t)
    const first = await open(1)
    await first.lead(1)
    for (const text of ['a', 'b', 'c']) await append(first, text)
    const ahead = await open(2)
    sim.rollBack(1)
    const behind = await open(3)
    await behind.lead(2)
    t.equal(sim.range.last, 4, 'its fence has the number of the lost message')
    await t.rejects(ahead.lead(3), { code: 'log_damaged', message: /message 4 is not the one that this node has read/ })
    t.match(ahead.state(), { condition: 'failed' })
    t.equal((await append(behind, 'd')).lsn, 3, 'the other one goes on')
  },
)

for (const kind of ['append', 'confirm'] as const)
  test(
    `a leader that was stopped does not ${kind} behind a fence in the position of a message that it wrote`,
    patient,
    async (t) => {
      const { sim, open, append, steady } = world(t)
      const ends: string[] = []
      const first = await open(1, ({ code }) => ends.push(code))
      await first.lead(1)
      for (const text of ['a', 'b', 'c']) await append(first, text)
      await steady()
      sim.rollBack(1)
      const second = await open(2)
      await second.lead(2)
      t.equal(sim.range.last, 4)
      // The store takes it, because its newest message has the expected number.
      await t.rejects(async () => void (kind === 'append' ? await append(first, 'd') : await first.confirm()), {
        code: 'log_damaged',
      })
      t.same(ends, ['log_damaged'], 'its owner learns it')
      t.match(first.state(), { condition: 'failed' })
      t.equal(first.leads, undefined)
      t.equal((await append(second, 'e')).lsn, 3)
    },
  )

test('a leader that finds a damaged message behind its own says that it leads no more', patient, async (t) => {
  const { sim, open, append } = world(t)
  const ends: string[] = []
  const log = await open(1, ({ code }) => ends.push(code))
  await log.lead(1)
  await append(log, 'a')
  await sim.connect().append(Buffer.from('not a frame'), undefined)
  await t.rejects(append(log, 'b'), { code: 'log_damaged' })
  t.same(ends, ['log_damaged'])
  t.match(log.state(), { condition: 'failed' })
})
