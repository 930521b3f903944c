import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
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
  release.resolve()
  await Promise.all([...holds, ...writers])
  t.equal(appended, 3)
})

test('a writer that waited 30 s is rejected', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const gate = new WriteGate()
  const release = Promise.withResolvers<void>()
  const held = gate.hold(() => release.promise)
  const refused = t.rejects(
    gate.write(async () => 'in'),
    { code: 'overloaded', details: { limit: 30_000 } },
  )
  mock.timers.tick(30_000)
  await refused
  release.resolve()
  await held
})
