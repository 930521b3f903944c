// Limits on guessing tokens: the rates hold for any addresses and tokens, wrong tokens do not lock out right ones from the same address,
// and the right address counts behind proxies.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { addressKey } from '../src/access/addresses.ts'
import { createAttempts } from '../src/access/attempts.ts'
import { createGuard, type Guard } from '../src/access/auth.ts'
import { EngineSlot, slotWith } from '../src/engine-slot.ts'
import * as limits from '../src/limits.ts'
import { type RunningApp, runningApp } from './running-app.ts'

const rootToken = 'chosen-by-a-person-0123456789'
const dayMs = 24 * 3_600_000

interface Guarded {
  readonly clock: { ms: number }
  readonly guard: Guard
  /** A token that the server created. */
  readonly made: string
  readonly running: RunningApp
}

async function guarded(t: Test): Promise<Guarded> {
  const running = await runningApp(t, { rootToken })
  const json = { db_name: 'acme', db_type: 'enterprise' }
  const answer = await running.send('POST', '/api/v2/admin/dbs', { json, headers: { authorization: rootToken } })
  const clock = { ms: 1_000_000 }
  const attempts = createAttempts({ now: () => clock.ms })
  const guard = createGuard({ authToken: undefined, rootToken, slot: slotWith(running.engine), attempts })
  return { clock, guard, made: String(answer.json().db_token), running }
}

/** `passes`, or the code of the refusal. */
function outcome(guard: Guard, token: string, address: string): string {
  try {
    guard.check(token, address)
    return 'passes'
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('addresses are counted by network, in any notation', (t) => {
  const same: Readonly<Record<string, readonly string[]>> = {
    '10.1.2.3': ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203', '0:0:0:0:0:FFFF:0A01:0203', '10.1.2.3:443'],
    '2001:db8:0:0::/64': ['2001:db8::1', '2001:DB8::ffff:ffff:ffff:ffff', '[2001:db8::2]:443', '2001:db8:0:0:1::'],
    '2001:db8:1:2::/64': ['2001:db8:1:2::', '2001:db8:1:2:3:4:5:6', '2001:0db8:0001:0002::9', '2001:db8:1:2::1.2.3.4'],
    '0:0:0:0::/64': ['::1', '::'],
    'fe80:0:0:0::/64': ['fe80::1%eth0', 'fe80::2'],
    unknown: ['unknown', '', 'x'.repeat(10_000), '_hidden', '1.2.3', '10.0.0.1, 10.0.0.2', '[::g]'],
  }
  for (const [key, spellings] of Object.entries(same))
    for (const spelling of spellings) t.equal(addressKey(spelling), key, spelling.slice(0, 50))
  t.equal(addressKey(undefined), 'unknown')
  t.end()
})

test('wrong tokens do not lock out tokens that the server created, or that were used from the address within a day', async (t) => {
  const { guard, clock, made } = await guarded(t)
  const [used, fresh] = ['10.0.0.1', '10.0.0.2']
  t.equal(outcome(guard, rootToken, used), 'passes')
  for (const address of [used, fresh])
    for (let i = 0; i < 10; i++) t.equal(outcome(guard, `guess-${i}`, address), 'invalid_token')
  for (const token of [made, `Bearer ${made}`])
    for (const address of [used, fresh]) t.equal(outcome(guard, token, address), 'passes')
  for (const token of [rootToken, `root/acme:${rootToken}`]) {
    t.equal(outcome(guard, token, used), 'passes', 'used from there before')
    t.equal(outcome(guard, token, fresh), 'too_many_attempts', 'never used from there')
    t.equal(outcome(guard, token, '10.0.0.3'), 'passes', 'from elsewhere')
  }
  for (const address of [used, fresh]) t.equal(outcome(guard, 'guess', address), 'too_many_attempts')
  clock.ms += 59_999
  t.equal(outcome(guard, rootToken, fresh), 'too_many_attempts')
  clock.ms += 1
  t.equal(outcome(guard, rootToken, fresh), 'passes', 'a minute after the failures')

  const exhaust = (address: string) => {
    for (let i = 0; i < 10; i++) outcome(guard, `guess-${i}`, address)
  }
  clock.ms += dayMs
  exhaust(fresh)
  t.equal(outcome(guard, rootToken, fresh), 'passes', 'a day after its last use')
  clock.ms += dayMs + 1
  exhaust(fresh)
  t.equal(outcome(guard, rootToken, fresh), 'too_many_attempts', 'more than a day after its last use')
})

test('the server accepts a hundred failures in total', async (t) => {
  const { guard, clock, made } = await guarded(t)
  t.equal(outcome(guard, rootToken, '10.9.9.9'), 'passes')
  const outcomes = new Map<string, number>()
  for (let i = 0; i < 5_000; i++) {
    const found = outcome(guard, `guess-${i}`, `10.1.${i >> 8}.${i & 255}`)
    outcomes.set(found, (outcomes.get(found) ?? 0) + 1)
  }
  t.strictSame(Object.fromEntries(outcomes), { invalid_token: 100, too_many_attempts: 4_900 })
  t.equal(outcome(guard, rootToken, '10.2.0.0'), 'too_many_attempts', 'the right token from a new address waits')
  t.equal(outcome(guard, rootToken, '10.9.9.9'), 'passes', 'from one that used it, it passes')
  t.equal(outcome(guard, made, '10.2.0.0'), 'passes', 'and one that the server made passes from everywhere')
  clock.ms += 60_000
  t.equal(outcome(guard, rootToken, '10.2.0.0'), 'passes')
})

test('no guesser gets more than ten attempts in a minute from one network, and a hundred in total', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const pick = (below: number) => random.below(below)
  const { guard, clock, made, running } = await guarded(t)
  const { length } = made
  const addresses: readonly (() => string)[] = [
    () => `10.0.0.${pick(20)}`,
    () => `::ffff:10.0.0.${pick(20)}`,
    () => `2001:db8:0:${pick(3)}:${pick(65_536).toString(16)}::${pick(65_536).toString(16)}`,
    () => `198.51.${pick(256)}.${pick(256)}`,
    () => 'garbage'.repeat(pick(3)),
  ]
  const tokens: readonly (() => string)[] = [
    () => `guess-${random.next()}`,
    () => `root/acme:${random.next()}`,
    () => `acme:${'A'.repeat(length - 5)}`,
    () => `Bearer ${rootToken}x`,
    () => rootToken.slice(0, pick(rootToken.length - 1) + 1),
    () => 'null',
  ]
  const others = new Set<string>()
  const tried: { readonly time: number; readonly key: string }[] = []
  for (let i = 0; i < 30_000; i++) {
    clock.ms += pick(3) === 0 ? pick(200) : 0
    const address = addresses[pick(addresses.length)]!()
    const found = outcome(guard, tokens[pick(tokens.length)]!(), address)
    if (found === 'invalid_token') tried.push({ time: clock.ms, key: addressKey(address) })
    else others.add(found)
    // Health accepts tokens as well and must not bypass the limits.
    if (i % 100 === 0) t.equal(await guard.mayKnowAll(made, address), false)
  }
  t.strictSame([...others], ['too_many_attempts'])
  const mostWithin = (times: readonly number[]): number => {
    let most = 0
    let first = 0
    for (const [last, time] of times.entries()) {
      while (times[first]! <= time - 60_000) first++
      most = Math.max(most, last - first + 1)
    }
    return most
  }
  t.equal(mostWithin(tried.map(({ time }) => time)), 100, 'the rate of the server is used up and not exceeded')
  const byKey = Map.groupBy(tried, ({ key }) => key)
  const worst = Math.max(...[...byKey.values()].map((list) => mostWithin(list.map(({ time }) => time))))
  t.equal(worst, 10, 'and so is that of a network')
  t.ok(running.engine.health().status === 'ok')
})

test('guesses through health count, also while the server starts', async (t) => {
  const { guard, running } = await guarded(t)
  const attempts = createAttempts({ now: () => 0, later: setImmediate })
  const slow = createGuard({ authToken: undefined, rootToken, slot: slotWith(running.engine), attempts })
  t.equal(await slow.mayKnowAll(rootToken, '10.0.0.9'), true)
  for (let i = 0; i < 10; i++) t.equal(await slow.mayKnowAll(`guess-${i}`, '10.0.0.1'), false)
  t.equal(await slow.mayKnowAll(rootToken, '10.0.0.1'), false, 'not compared any more')
  t.equal(outcome(slow, rootToken, '10.0.0.1'), 'too_many_attempts', 'nor elsewhere')
  t.equal(await slow.mayKnowAll(rootToken, '10.0.0.9'), true)
  t.equal(outcome(guard, 'guess', '10.0.0.1'), 'invalid_token')

  const starting = createGuard({ authToken: undefined, rootToken, slot: new EngineSlot(), attempts: createAttempts() })
  const made = `acme:${'A'.repeat(43)}`
  for (let i = 0; i < 10; i++) {
    t.equal(outcome(starting, made, '10.0.0.1'), 'starting', 'may be a token that the log will tell of')
    t.equal(outcome(starting, `guess-${i}`, '10.0.0.1'), 'invalid_token')
  }
  t.equal(outcome(starting, rootToken, '10.0.0.1'), 'too_many_attempts')
  t.equal(outcome(starting, rootToken, '10.0.0.2'), 'passes')
})

test('a limited number of addresses is kept, and the oldest are removed first', (t) => {
  const attempts = createAttempts({ now: () => 0 })
  const address = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`
  for (let i = 0; i <= limits.authAddressesMax; i++) attempts.succeeded(address(i))
  t.equal(attempts.remembers(address(0)), false)
  t.equal(attempts.remembers(address(1)), true)
  t.equal(attempts.remembers(address(limits.authAddressesMax)), true)
  t.end()
})

test('failures are answered after a second, a hundred at a time, and all of them when the server stops', async (t) => {
  const due: (() => void)[] = []
  const attempts = createAttempts({
    now: () => 0,
    later(then, ms) {
      t.equal(ms, 1_000)
      due.push(then)
    },
  })
  const running = await runningApp(t, { authToken: 'the-right-token-0123456789' }, { attempts })
  const guess = (i: number) =>
    running.app.inject({ url: '/api/v1/index/list', headers: { authorization: 'guess' }, remoteAddress: `10.0.0.${i}` })
  let answered = 0
  const counted = (answer: { statusCode: number }) => {
    answered++
    return answer.statusCode
  }
  const waiting = Array.from({ length: 3 }, (_, i) => guess(i).then(counted))
  while (due.length < 3) await new Promise((resolve) => setImmediate(resolve))
  const right = await running.app.inject({
    url: '/api/v1/index/list',
    headers: { authorization: 'the-right-token-0123456789' },
  })
  t.equal(right.statusCode, 200, 'others are not held up')
  t.equal(answered, 0, 'no failure is answered before its second is over')
  for (const then of due.splice(0)) then()
  t.strictSame(await Promise.all(waiting), [401, 401, 401])

  const many = Array.from({ length: limits.authDelayedMax }, () => attempts.delay())
  await attempts.delay()
  t.equal(due.length, limits.authDelayedMax, 'more than a hundred do not wait')
  attempts.stop()
  await Promise.all(many)
  t.pass('those that waited were answered when the server stopped')
})

test('behind trusted proxies, the nearest address that is not a proxy counts', async (t) => {
  const authToken = 'the-right-token-0123456789'
  const trustedProxies = ['10.0.0.0/24', 'fd00::1']
  const attempts = createAttempts({ now: () => 0, later: setImmediate })
  const running = await runningApp(t, { authToken, trustedProxies }, { attempts })
  const status = async (remoteAddress: string, forwarded: string | undefined, token: string) =>
    (
      await running.app.inject({
        url: '/api/v1/index/list',
        remoteAddress,
        headers: { authorization: token, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) },
      })
    ).statusCode
  const exhaust = async (remoteAddress: string, forwarded?: (i: number) => string) => {
    for (let i = 0; i < 10; i++) t.equal(await status(remoteAddress, forwarded?.(i), 'guess'), 401)
  }
  // The client's own value is to the left of what the proxy adds.
  await exhaust('10.0.0.7', (i) => `198.51.100.${i}, 203.0.113.5`)
  t.equal(await status('10.0.0.7', '203.0.113.5', authToken), 429, 'whatever is written before it')
  t.equal(await status('fd00::1', '192.0.2.1, 203.0.113.5, 10.0.0.9', authToken), 429, 'past two trusted ones')
  t.equal(await status('203.0.113.5', undefined, authToken), 429, 'the same without a proxy')
  t.equal(await status('10.0.0.7', '203.0.113.6', authToken), 200, 'another client of the proxy is not held up')
  t.equal(await status('10.0.0.7', undefined, authToken), 200)
  // The header of an untrusted client is ignored.
  await exhaust('192.0.2.99', (i) => `198.51.100.${i}`)
  t.equal(await status('192.0.2.99', '198.51.100.77', authToken), 429)
  t.equal(await status('10.0.0.7', '203.0.113.9, 192.0.2.99', authToken), 429, 'nor behind a proxy')

  const plain = await runningApp(t, { authToken }, { attempts: createAttempts({ now: () => 0, later: setImmediate }) })
  for (let i = 0; i < 10; i++) {
    const headers = { authorization: 'guess', 'x-forwarded-for': `198.51.100.${i}` }
    t.equal((await plain.app.inject({ url: '/api/v1/index/list', headers })).statusCode, 401)
  }
  const headers = { authorization: authToken, 'x-forwarded-for': '198.51.100.50' }
  t.equal((await plain.app.inject({ url: '/api/v1/index/list', headers })).statusCode, 429, 'without the setting none')
})
