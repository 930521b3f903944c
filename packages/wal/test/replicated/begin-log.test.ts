// A log that begins behind records that are elsewhere: it is read like one that was trimmed, a call that was interrupted is finished by
// another one, and a store that has anything else is left alone.
import { test } from 'tap'
import { beginLog } from '../../src/replicated/begin-log.ts'
import type { FrameStore } from '../../src/replicated/frame-store.ts'
import { openReplicatedLog } from '../../src/replicated/replicated-log.ts'
import { ManualClock, pump, SimFrameStore, seededRandom } from '../../src/testing/index.ts'
import { patient } from '../patience.ts'

const logId = 7n
const writer = Buffer.alloc(16, 1)
const payload = (text: string) => ({ type: 16, version: 1, payload: Buffer.from(text) })
/** In several messages. */
const record = payload('x'.repeat(3000))

test('a log begins behind a record, whatever interrupts it', patient, async (t) => {
  for (let stops = 0; stops < 8; stops++) {
    const sim = new SimFrameStore({ random: seededRandom(1), messageBytesMax: 1024 })
    const clock = new ManualClock()
    t.teardown(pump(sim, clock))
    const store = sim.connect()
    let left = stops
    const stop = () => Promise.reject(new Error('stopped'))
    const stopping: FrameStore = {
      messageBytesMax: store.messageBytesMax,
      append: (bytes, expected) => (left-- === 0 ? stop() : store.append(bytes, expected)),
      trim: (seq) => (left-- === 0 ? stop() : store.trim(seq)),
      at: (seq) => store.at(seq),
      range: () => store.range(),
      read: (from, to) => store.read(from, to),
      watch: (from, signal) => store.watch(from, signal),
      close: () => store.close(),
    }
    const begin = (into: FrameStore) => beginLog({ store: into, logId, lsn: 70, record })
    const first = await begin(stopping).then(
      () => 'done',
      () => 'stopped',
    )
    t.equal(first, stops < 6 ? 'stopped' : 'done', `stopped at step ${stops}`)
    await begin(store)
    await begin(store)
    const log = await openReplicatedLog({ store: sim.connect(), logId, writer, clock })
    t.match(log.state(), { lsnFirst: 70, lsnLast: 70 })
    await log.lead(2)
    t.match(await log.append(payload('next')), { lsn: 71 })
    const read: number[] = []
    for await (const { lsn } of log.read(71 as Parameters<typeof log.read>[0])) read.push(lsn)
    t.strictSame(read, [71])
    await t.rejects(begin(store), { code: 'identity_mismatch' }, 'it is in use')
    await log.close()
  }
})

test('a store with another log is left alone', patient, async (t) => {
  const sim = new SimFrameStore({ random: seededRandom(1), messageBytesMax: 1024 })
  const clock = new ManualClock()
  t.teardown(pump(sim, clock))
  const log = await openReplicatedLog({ store: sim.connect(), logId, writer, clock })
  await log.lead(1)
  await log.append(payload('a'))
  const before = sim.range
  await t.rejects(beginLog({ store: sim.connect(), logId, lsn: 1, record: payload('a') }), {
    code: 'identity_mismatch',
    message: /not empty/,
  })
  t.strictSame(sim.range, before)
  await log.close()
})
