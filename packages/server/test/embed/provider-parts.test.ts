// The bounds of a provider: calls of a minute, memory of the cache, and texts that wait.
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'tap'
import { readProviders } from '../../src/embed/provider-config.ts'
import { CallRate } from '../../src/embed/rate.ts'
import { cacheKey, VectorCache } from '../../src/embed/vector-cache.ts'
import { runningApp, temporaryDirectory } from '../running-app.ts'

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

test('every caller with a token may list the providers, and sees no address and no key', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'providers.json')
  const url = 'http://user-facing.example:11434/v1/secret-path'
  const given = { kind: 'openai', url, key_env: 'PLANTED_KEY', model: 'm', dimension: 3 }
  await writeFile(file, JSON.stringify({ second: { ...given, kind: 'voyage', dimension: 4 }, first: given }))
  const problems: string[] = []
  const providers = readProviders(file, { PLANTED_KEY: 'sk-planted' }, problems)
  t.strictSame(problems, [])
  const rootToken = 'a-root-token-of-many-letters'
  const running = await runningApp(t, { providers, rootToken })
  const root = { authorization: rootToken }
  const made = await running.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'acme' }, headers: root })
  const writer = { authorization: String(made.json().db_token) }
  const token = await running.send('POST', '/api/v2/tokens', { json: { name: 'x', token_type: 'r' }, headers: writer })
  const reader = { authorization: String(token.json().db_token) }
  for (const headers of [root, writer, reader]) {
    const reply = await running.send('GET', '/api/v2/providers', { headers })
    t.equal(reply.status, 200)
    t.strictSame(reply.json(), {
      providers: [
        { name: 'first', kind: 'openai', model: 'm', dimension: 3 },
        { name: 'second', kind: 'voyage', model: 'm', dimension: 4 },
      ],
    })
    t.notMatch(reply.text, /example|secret-path|PLANTED_KEY|sk-planted/)
  }
  t.equal((await running.send('GET', '/api/v2/providers')).status, 401)
  const none = await runningApp(t)
  t.strictSame((await none.send('GET', '/api/v2/providers')).json(), { providers: [] })
})
