import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { Pins } from '../../src/replica/pins.ts'

test('until waits for every pin on an older version, and for no other', async (t) => {
  const pins = new Pins()
  const [one, two, later] = [pins.pin(3), pins.pin(3), pins.pin(8)]
  let done = false
  const waiting = pins.until(8).then(() => {
    done = true
  })
  one()
  one()
  await setImmediate()
  t.notOk(done, 'letting go twice counts once')
  two()
  await waiting
  t.ok(done)
  later()
  await pins.until(Number.POSITIVE_INFINITY)
})

test('a version without readers blocks nothing, whichever was pinned last', async (t) => {
  const pins = new Pins()
  for (const version of [1, 2, 1, 3, 2]) pins.pin(version)()
  await pins.until(Number.POSITIVE_INFINITY)
  const [old, newer] = [pins.pin(4), pins.pin(5)]
  newer()
  let done = false
  const waiting = pins.until(5).then(() => {
    done = true
  })
  await setImmediate()
  t.notOk(done)
  pins.pin(5)()
  old()
  await waiting
  await pins.until(Number.POSITIVE_INFINITY)
  t.ok(done)
})
