import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { WaitLimit } from '../src/wait-limit.ts'

function manualTime(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  return {
    nowMs: () => now,
    /** Nothing runs meanwhile. */
    async advance(ms: number): Promise<void> {
      now += ms
      mock.timers.tick(ms)
      await setImmediate()
    },
  }
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  await setImmediate()
  return settled
}

test('a wait ends with its change, and the rest of the limit is left', async (t) => {
  const { nowMs, advance } = manualTime(t)
  const limit = new WaitLimit(2_500, nowMs)
  const change = Promise.withResolvers<void>()
  const waited = limit.wait(change.promise)
  await advance(900)
  t.notOk(await isSettled(waited))
  change.resolve()
  await waited
  t.notOk(limit.isOver)
  const second = limit.wait(new Promise(() => undefined))
  await advance(1_000)
  await advance(599)
  t.notOk(await isSettled(second))
  await advance(1)
  await second
  t.ok(limit.isOver)
})

test('of a stop of the process, one second counts', async (t) => {
  const { nowMs, advance } = manualTime(t)
  const limit = new WaitLimit(3_000, nowMs)
  const waited = limit.wait(new Promise(() => undefined))
  await advance(3_600_000)
  t.notOk(await isSettled(waited))
  await advance(1_000)
  t.notOk(await isSettled(waited))
  await advance(1_000)
  await waited
  t.ok(limit.isOver)
})

test('a change that fails ends the wait too, and no timer is left behind', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const limit = new WaitLimit(20_000)
  const { promise, reject } = Promise.withResolvers<void>()
  const waited = limit.wait(promise)
  t.equal(timers(), before + 1)
  reject(new Error('the write failed'))
  await waited
  t.equal(timers(), before)
  t.notOk(limit.isOver)
})
