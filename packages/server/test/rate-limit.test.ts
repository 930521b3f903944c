// The request rate of one caller: constant, with a burst of one second, and without effect on other callers.
import { test } from 'tap'
import { createRateLimit } from '../src/access/rate-limit.ts'
import { runningApp } from './running-app.ts'

test('a bucket holds a second of requests and fills steadily', (t) => {
  let now = 0
  const rates = createRateLimit(10, () => now)
  const taken = (count: number, caller = 'a'): number => {
    let passed = 0
    for (let i = 0; i < count; i++) {
      try {
        rates.take(caller)
        passed += 1
      } catch (error) {
        t.match(error, { code: 'rate_limited', details: { limit: 10 } })
      }
    }
    return passed
  }
  t.equal(taken(15), 10, 'a burst')
  t.equal(taken(15, 'b'), 10, 'others have buckets of their own')
  now += 300
  t.equal(taken(9), 3, 'three after three tenths of a second')
  now += 60_000
  t.equal(taken(15), 10, 'never more than a second of them')
  t.doesNotThrow(() => {
    for (let i = 0; i < 1_000; i++) createRateLimit(undefined).take('a')
  })
  t.end()
})

test('of more callers than are remembered, those that were idle for longest start again with a full bucket', (t) => {
  let now = 0
  const rates = createRateLimit(1, () => now)
  rates.take('idle')
  now += 10
  rates.take('busy')
  for (let i = 0; i < 9_999; i++) rates.take(`other-${i}`)
  t.throws(() => rates.take('busy'), { code: 'rate_limited' }, 'still remembered')
  t.doesNotThrow(() => rates.take('idle'), 'forgotten')
  t.end()
})

test('callers above the limit get Retry-After, and health is not counted', async (t) => {
  const running = await runningApp(t, { rateLimit: 5 })
  const answers = []
  for (let i = 0; i < 30; i++) answers.push(await running.send('GET', '/api/v1/users/endee/type'))
  const refused = answers.filter(({ status }) => status === 429)
  t.ok(refused.length > 0)
  t.match([refused[0]!.json().code, refused[0]!.headers.get('retry-after')], ['rate_limited', '1'])
  for (let i = 0; i < 30; i++) t.equal((await running.send('GET', '/api/v1/health')).status, 200)
})
