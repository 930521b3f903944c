import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { WriteGate } from '../../src/replica/write-gate.ts'

test('a cut sees everything appended before it as applied, and nothing that is appended while it is taken', async (t) => {
  const gate = new WriteGate()
  const trace: string[] = []
  const write = (name: string) =>
    gate.write(() => {
      trace.push(`append ${name}`)
      return gate.queue(1, async () => {
        await setImmediate()
        trace.push(`apply ${name}`)
      })
    })
  const before = [write('a'), write('b')]
  const cut = gate.hold(async () => {
    trace.push('cut')
    await setImmediate()
    trace.push('cut done')
  })
  const after = write('c')
  await Promise.all([...before, cut, after])
  t.strictSame(trace, ['append a', 'append b', 'apply a', 'apply b', 'cut', 'cut done', 'append c', 'apply c'])
})

test('after an action that throws, writers continue', async (t) => {
  const gate = new WriteGate()
  await t.rejects(gate.hold(async () => Promise.reject(new Error('no room'))))
  t.equal(await gate.write(async () => 'in'), 'in')
})

test('a failed apply rejects its caller and does not stop the queue', async (t) => {
  const gate = new WriteGate()
  const failed = gate.queue(1, async () => Promise.reject(new Error('broken')))
  const next = gate.queue(1, async () => 'applied')
  await t.rejects(failed, /broken/)
  t.equal(await next, 'applied')
  t.strictSame(gate.pending, { events: 0, bytes: 0 })
})

test('a full queue of events, or of their bytes, makes writers wait until one is applied', async (t) => {
  const mebibyte = 1024 * 1024
  for (const { events, bytes } of [
    { events: 512, bytes: 1 },
    { events: 1, bytes: 256 * mebibyte },
  ]) {
    const gate = new WriteGate()
    const applied = Promise.withResolvers<void>()
    // With one event or one byte less there is still space.
    const queued = Array.from({ length: events - 1 }, () => gate.queue(bytes, () => applied.promise))
    if (events === 1) queued.push(gate.queue(bytes - 1, () => applied.promise))
    let appended = 0
    const write = () => gate.write(async () => void appended++)
    await write()
    t.equal(appended, 1, `${events} events of ${bytes} bytes: there is room below the limit`)
    queued.push(gate.queue(1, () => applied.promise))
    const waiting = write()
    await setImmediate()
    t.equal(appended, 1, 'and none at it')
    applied.resolve()
    await Promise.all([...queued, waiting])
    t.equal(appended, 2, 'the writer goes on when events are applied')
    t.strictSame(gate.pending, { events: 0, bytes: 0 })
  }
})

test('writers wait while the gate is held, and continue afterwards', async (t) => {
  const gate = new WriteGate()
  const release = Promise.withResolvers<void>()
  const holds = [gate.hold(() => release.promise), gate.hold(() => release.promise)]
  let appended = 0
  const writers = Array.from({ length: 3 }, () => gate.write(async () => void appended++))
  await setImmediate()
  t.equal(appended, 0)
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const waiting = timers()
  release.resolve()
  await Promise.all([...holds, ...writers])
  t.equal(appended, 3)
  t.equal(timers(), waiting - 3, 'and none of them leaves a timer behind')
})

test('a cut waits for what was appended during the one before it, and the next after one that failed is not harmed', async (t) => {
  const gate = new WriteGate()
  const trace: string[] = []
  const release = Promise.withResolvers<void>()
  const first = gate.hold(async () => {
    trace.push('first')
    await release.promise
    // What holds the gate may append, as a rebuild does.
    void gate.queue(7, async () => {
      await setImmediate()
      trace.push('applied')
    })
    throw new Error('no room')
  })
  const second = gate.hold(async () => {
    trace.push('second')
    return 'cut'
  })
  await setImmediate()
  t.strictSame(trace, ['first'])
  release.resolve()
  await t.rejects(first, { message: 'no room' })
  t.equal(await second, 'cut')
  t.strictSame(trace, ['first', 'applied', 'second'])
  t.equal(await gate.write(async () => 'in'), 'in')
})

test('an action between two applies runs after those before it, and takes no room in the queue', async (t) => {
  const gate = new WriteGate()
  const trace: string[] = []
  const applied = gate.queue(5, async () => {
    await setImmediate()
    trace.push('apply')
  })
  const between = gate.between(() => {
    trace.push('between')
    return 'seen'
  })
  t.strictSame(gate.pending, { events: 2, bytes: 5 })
  t.equal(await between, 'seen')
  await applied
  t.strictSame(trace, ['apply', 'between'])
  t.strictSame(gate.pending, { events: 0, bytes: 0 })
})

/** A clock that a test advances, with the timers of the process. */
function manualTime(t: Test): {
  readonly nowMs: () => number
  pass(ms: number): Promise<void>
  stop(ms: number): Promise<void>
} {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  const stop = async (ms: number): Promise<void> => {
    now += ms
    mock.timers.tick(ms)
    await setImmediate()
  }
  return {
    nowMs: () => now,
    stop,
    async pass(ms) {
      for (let passed = 0; passed < ms; passed += 500) await stop(Math.min(500, ms - passed))
    },
  }
}

test('a writer that waited 30 s is refused, and not a millisecond before', async (t) => {
  const time = manualTime(t)
  const gate = new WriteGate(time.nowMs)
  const release = Promise.withResolvers<void>()
  const held = gate.hold(() => release.promise)
  let isRefused = false
  const refused = t.rejects(
    gate
      .write(async () => 'in')
      .finally(() => {
        isRefused = true
      }),
    { code: 'overloaded', message: / 30 s/, details: { limit: 30_000 } },
  )
  await time.pass(29_999)
  // An event that is applied wakes the writer.
  await gate.between(() => undefined)
  await setImmediate()
  t.notOk(isRefused)
  await time.pass(1)
  await refused
  release.resolve()
  await held
})

test('the time in which the process was stopped does not count, nor does a change of the date', async (t) => {
  const time = manualTime(t)
  const gate = new WriteGate(time.nowMs)
  const release = Promise.withResolvers<void>()
  const held = gate.hold(() => release.promise)
  const written = gate.write(async () => 'in')
  await time.pass(20_000)
  await time.stop(3_600_000)
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 })
  await gate.between(() => undefined)
  await setImmediate()
  release.resolve()
  await held
  t.equal(await written, 'in')
})
