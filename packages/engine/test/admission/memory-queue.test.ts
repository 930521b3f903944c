// Writes that do not fit next to others: they wait, a short time, and are refused as exhausted only when nothing else runs. With readings of
// the test.
import { test } from 'tap'
import { MemoryGuard, memoryReserve } from '../../src/admission/memory-guard.ts'

const mebibyte = 2 ** 20
const limit = 1_024 * mebibyte
const usable = limit - memoryReserve(limit)
const exhausted = { code: 'memory_exhausted', details: { field: 'memory', limit } }
const overloaded = { code: 'overloaded', details: { field: 'memory', limit } }

const noop = (): void => undefined

/** `room` is what writes may take. Its clock moves only when the test says so. */
function guardWith(room: number, { waitMsMax = 60_000, freeingMs = 0, onFreeMore = noop } = {}) {
  const reading = { used: usable - room }
  const clock = { ms: 0 }
  const guard = new MemoryGuard({
    read: () => [{ limit, source: 'group', used: reading.used }],
    free: () => undefined,
    freeMore: onFreeMore,
    nowMs: () => clock.ms,
    waitMsMax,
    freeingMs,
  })
  return { guard, reading, clock }
}

const transient = (mebibytes: number) => ({ growth: 0.5, transient: mebibytes * mebibyte - 0.5 })
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('writes that fit only one after the other all run, in their order', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const ended: number[] = []
  let [running, most] = [0, 0]
  await Promise.all(
    Array.from({ length: 64 }, async (_, i) => {
      const work = guard.write()
      await work.take(transient(2))
      most = Math.max(most, ++running)
      await nextTurn()
      // Their input was read, and they need more than they announced.
      await work.take(transient(6))
      t.ok((guard.state?.pending ?? 0) <= 10 * mebibyte)
      await nextTurn()
      running -= 1
      ended.push(i)
      work.release()
    }),
  )
  t.same(
    ended,
    Array.from({ length: 64 }, (_, i) => i),
  )
  t.ok(most > 1, 'as many at one time as fit')
  t.match(guard.state, { pending: 0, refused: 0, waiting: 0 })
})

test('a write that does not fit next to nothing is exhausted at once', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  await t.rejects(guard.write().take(transient(11)), exhausted)
  const work = guard.write()
  await work.take(transient(6))
  await t.rejects(guard.write().take(transient(11)), exhausted, 'also while others run: waiting would not help')
  work.release()
  t.match(guard.state, { pending: 0, refused: 2, waiting: 0 })
  t.match(guard.notice(), /memory is scarce/)
  await guard.write().take(transient(6))
  t.equal(guard.notice(), undefined, 'a smaller write was accepted')
})

test('a write is overloaded if others run for too long', async (t) => {
  const { guard } = guardWith(10 * mebibyte, { waitMsMax: 20 })
  const work = guard.write()
  await work.take(transient(6))
  await t.rejects(guard.write().take(transient(6)), overloaded)
  work.release()
  await guard.write().take(transient(6))
  t.match(guard.state, { refused: 1, waiting: 0 })
})

test('a write begins with room for all that it will take, or next to nothing with its least need', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const [first, second, large] = [guard.write(), guard.write(), guard.write()]
  await first.take(transient(2), transient(6))
  t.equal(guard.state?.pending, 6 * mebibyte)
  t.ok(first.covers(transient(6)))
  const waiting = second.take(transient(2), transient(6))
  t.equal(guard.state?.waiting, 1, 'although its least need fits')
  first.release()
  await waiting
  second.release()
  await large.take(transient(9), transient(27))
  t.equal(guard.state?.pending, 9 * mebibyte)
  large.release()
})

test('a write that waits does not hold up smaller ones', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const [first, large, small] = [guard.write(), guard.write(), guard.write()]
  await first.take(transient(6))
  const waiting = large.take(transient(9))
  t.equal(guard.state?.waiting, 1)
  await small.take(transient(3))
  first.release()
  small.release()
  await waiting
  large.release()
})

test('writes whose input is in memory go before new ones', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const [first, second, late] = [guard.write(), guard.write(), guard.write()]
  await first.take(transient(5))
  await second.take(transient(5))
  const order: string[] = []
  const fresh = late.take(transient(1)).then(() => order.push('new'))
  const begun = second.take(transient(8)).then(() => order.push('begun'))
  await nextTurn()
  t.same(order, [], 'the room of the second is kept for it')
  first.release()
  await begun
  await fresh
  t.same(order, ['begun', 'new'])
  t.ok(second.covers(transient(8)))
  t.notOk(second.covers(transient(9)))
  second.takeNow(transient(2))
  t.throws(() => second.takeNow(transient(10)), overloaded, 'a write that others wait for is refused')
  second.release()
  late.release()
  t.equal(guard.state?.pending, 0)
})

test('of writes that all have their input in memory, some are refused, and the others run', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const works = Array.from({ length: 3 }, () => guard.write())
  for (const work of works) await work.take(transient(3))
  const outcomes = await Promise.allSettled(works.map((work) => work.take(transient(11))))
  t.match(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  t.match(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
    ['overloaded', 'overloaded', 'memory_exhausted'],
    'only the last one had nothing next to it',
  )
})

test('garbage is collected before a write is refused', async (t) => {
  let collections = 0
  const { guard, clock, reading } = guardWith(10 * mebibyte, {
    onFreeMore: () => {
      collections += 1
      reading.used = usable - 10 * mebibyte
    },
  })
  reading.used = usable
  const first = guard.write()
  await first.take(transient(6))
  t.equal(collections, 1)
  reading.used = usable - mebibyte
  clock.ms += 500
  first.release()
  const waiting = guard.write().take(transient(6))
  await nextTurn()
  t.match(guard.state, { waiting: 1, refused: 0 }, 'it was collected a moment ago, so it is not known yet')
  clock.ms += 500
  await waiting
  t.equal(collections, 2)
})

test('a write waits until other threads have collected their garbage', async (t) => {
  const { guard, clock, reading } = guardWith(0, { freeingMs: 200 })
  const waiting = guard.write().take(transient(6))
  await nextTurn()
  t.match(guard.state, { waiting: 1, refused: 0 })
  clock.ms += 100
  reading.used -= 10 * mebibyte
  await waiting
  t.match(guard.state, { waiting: 0, refused: 0 })
})

test('no write waits for work that takes long', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const end = guard.admit('the rebuild', { growth: 8 * mebibyte })
  await t.rejects(guard.write().take(transient(6)), overloaded)
  t.throws(() => guard.admit('the clone', { growth: 6 * mebibyte }), overloaded)
  t.throws(() => guard.admit('the clone', { growth: 20 * mebibyte }), exhausted)
  end()
})

test('a write that waited for others too long names the limit, even if it would fit', async (t) => {
  const { guard } = guardWith(10 * mebibyte, { waitMsMax: 20 })
  const [first, second] = [guard.write(), guard.write()]
  await first.take(transient(5))
  await second.take(transient(1))
  const begun = second.take(transient(6))
  await t.rejects(guard.write().take(transient(1)), overloaded, 'one whose input is in memory comes first')
  first.release()
  await begun
  second.release()
})

test('an engine that closes refuses what waits', async (t) => {
  const { guard } = guardWith(10 * mebibyte)
  const work = guard.write()
  await work.take(transient(6))
  const waiting = guard.write().take(transient(6))
  guard.close()
  await t.rejects(waiting, { code: 'closed' })
  await t.rejects(guard.write().take(transient(6)), { code: 'closed' })
  work.release()
})

test('reading the state changes nothing', async (t) => {
  let freed = 0
  const reading = { used: usable - 1 }
  const guard = new MemoryGuard({
    read: () => [{ limit, source: 'group', used: reading.used }],
    free: () => {
      freed += 1
    },
    nowMs: performance.now.bind(performance),
  })
  for (let i = 0; i < 3; i++) {
    t.equal(guard.notice(), undefined)
    t.match(guard.state, { used: usable - 1 })
  }
  t.equal(freed, 0)
  t.throws(() => guard.admit('a', { growth: mebibyte }), exhausted)
  t.match(guard.notice(), /memory is scarce/)
  t.equal(guard.notice(), guard.notice())
})
