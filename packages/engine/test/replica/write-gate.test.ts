import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { WriteGate } from '../../src/replica/write-gate.ts'

test('a cut sees everything appended before it applied, and nothing appended while it is taken', async (t) => {
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

test('an action that throws lets the writers in again', async (t) => {
  const gate = new WriteGate()
  await t.rejects(gate.hold(async () => Promise.reject(new Error('no room'))))
  t.equal(await gate.write(async () => 'in'), 'in')
})

test('a failed apply is heard by its caller and does not stop the queue', async (t) => {
  const gate = new WriteGate()
  const failed = gate.queue(1, async () => Promise.reject(new Error('broken')))
  const next = gate.queue(1, async () => 'applied')
  await t.rejects(failed, /broken/)
  t.equal(await next, 'applied')
  t.strictSame(gate.pending, { events: 0, bytes: 0 })
})
