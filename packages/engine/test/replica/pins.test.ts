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

test('a pin on a version does not hold up who waits for that version, and several may wait for different ones', async (t) => {
  const pins = new Pins()
  const releases = [pins.pin(4), pins.pin(6), pins.pin(6)]
  await pins.until(4)
  const resumed: number[] = []
  const waiting = [5, 6, 7].map((version) => pins.until(version).then(() => resumed.push(version)))
  await setImmediate()
  t.strictSame(resumed, [])
  releases[0]?.()
  await setImmediate()
  t.strictSame(resumed, [5, 6])
  releases[1]?.()
  await setImmediate()
  t.strictSame(resumed, [5, 6], 'another search looks at version 6')
  releases[2]?.()
  await Promise.all(waiting)
  t.strictSame(resumed, [5, 6, 7])
})

test('versions that no search looks at are forgotten', async (t) => {
  // The map is private: it is caught when it is made. A number for each version ever searched would fill the memory.
  const made: Map<number, number>[] = []
  const Ordinary = globalThis.Map
  class Caught extends Ordinary<number, number> {
    constructor() {
      super()
      made.push(this)
    }
  }
  Object.assign(globalThis, { Map: Caught })
  const pins = new Pins()
  Object.assign(globalThis, { Map: Ordinary })
  const [counts] = made
  for (let version = 1; version <= 20; version++) for (let i = 0; i < 2; i++) pins.pin(version)()
  t.equal(counts?.size, 1, 'one after another')
  const releases = Array.from({ length: 20 }, (_, i) => pins.pin(100 + i))
  t.equal(counts?.size, 20)
  for (const release of releases) release()
  t.equal(counts?.size, 1, 'at the same time')
})
