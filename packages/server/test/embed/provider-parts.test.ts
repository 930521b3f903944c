// The bounds of a provider: calls of a minute, memory of the cache, and texts that wait.
import { test } from 'tap'
import { CallRate } from '../../src/embed/rate.ts'
import { cacheKey, VectorCache } from '../../src/embed/vector-cache.ts'

test('no minute has more calls than its limit, and none is lost', (t) => {
  for (const limit of [1, 7, 10, 60, 600]) {
    const rate = new CallRate(limit)
    const calls: number[] = []
    // Ten minutes of a caller that always wants to call.
    for (let now = 0; now < 600_000; ) {
      const wait = rate.take(now)
      if (wait === 0) calls.push(now)
      else now += Math.max(wait, 0.001)
    }
    let most = 0
    for (let [first, last] = [0, 0]; last < calls.length; last++) {
      while ((calls[last] as number) - (calls[first] as number) >= 59_999.9) first++
      most = Math.max(most, last - first + 1)
    }
    t.ok(most <= limit, `at most ${limit} in a minute: ${most}`)
    t.ok(calls.length >= limit * 8.5, `${calls.length} calls in ten minutes`)
  }
  const free = new CallRate(0)
  t.equal(
    Array.from({ length: 1_000 }, () => free.take(5)).find((wait) => wait > 0),
    undefined,
  )
  free.pause(20)
  t.equal(free.take(5), 15)
  t.equal(free.take(20), 0)
  t.end()
})

test('the cache forgets what was used least recently, within its memory', (t) => {
  const vector = () => new Float32Array(100)
  const cache = new VectorCache(3 * (400 + 250))
  for (const key of ['a', 'b', 'c']) cache.put(key, vector())
  cache.get('a')
  cache.put('d', vector())
  t.strictSame(
    ['a', 'b', 'c', 'd'].map((key) => cache.get(key) !== undefined),
    [true, false, true, true],
  )
  t.equal(cache.bytes, 3 * 650)
  cache.put('large', new Float32Array(10_000))
  t.equal(cache.get('large'), undefined)
  cache.put('a', vector())
  t.equal(cache.bytes, 3 * 650)
  const none = new VectorCache(0)
  none.put('a', vector())
  t.equal(none.get('a'), undefined)
  t.end()
})

test('the key of a text has the provider, the model, and the purpose', (t) => {
  const one = { name: 'p', model: 'm' }
  const keys = [
    cacheKey(one, 'store', 'text'),
    cacheKey(one, 'query', 'text'),
    cacheKey({ ...one, name: 'q' }, 'store', 'text'),
    cacheKey({ ...one, model: 'n' }, 'store', 'text'),
    cacheKey({ name: 'pm', model: '' }, 'store', 'text'),
    cacheKey(one, 'store', 'text '),
  ]
  t.equal(new Set(keys).size, keys.length)
  t.end()
})
