// The age of the newest of a series, by a clock that jumps.
import { test } from 'tap'
import { NewestAge } from '../src/newest-age.ts'

const day = 86_400_000

test('an age is by the clock, or by the time that the process knows the newest if that is longer', async (t) => {
  let [nowMs, elapsedMs] = [1_000 * day, 5]
  const pass = (ms: number) => {
    nowMs += ms
    elapsedMs += ms
  }
  const age = new NewestAge({ now: () => nowMs, elapsed: () => elapsedMs })
  t.equal(age.ageMs(999 * day), day, 'made before the process began')
  t.equal(age.ageMs(undefined), 0)
  pass(day)
  t.equal(age.ageMs(undefined), day)
  age.renew()
  const made = nowMs
  pass(100)
  t.equal(age.ageMs(made), 100)
  for (const jump of [-3_600_000, -500 * day]) {
    nowMs += jump
    t.ok(age.ageMs(made) < day, 'not at once')
    pass(day)
    t.ok(age.ageMs(made) >= day, 'a day later, although the clock is still behind')
    age.renew()
  }
})
