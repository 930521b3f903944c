// Whose a token is, without a server: a plain deployment, one token, and root with tokens of databases.
import type { Database, Engine } from '@annal/engine'
import { test } from 'tap'
import type { Attempts } from '../src/access/attempts.ts'
import { createGuard, type Guard, tokenHash, tokenId } from '../src/access/auth.ts'
import { EngineSlot, slotWith } from '../src/engine-slot.ts'
import { ServerError } from '../src/errors.ts'

const authToken = 'chosen-by-a-person'
const rootToken = 'chosen-by-the-owner'
const address = '10.0.0.1'
const generated = (name: string) => `${name}:${name[0]?.repeat(43)}`

/** Counts what it is called with. Both answers can be set. */
function fakeAttempts() {
  const calls: string[] = []
  const state = { mayFail: true, remembers: false, delayed: Promise.resolve() }
  const attempts: Attempts = {
    mayFail: () => state.mayFail,
    remembers: () => state.remembers,
    failed: (from) => void calls.push(`failed ${from}`),
    succeeded: (from) => void calls.push(`succeeded ${from}`),
    delay() {
      calls.push('delay')
      return state.delayed
    },
    quietMs: () => 0,
    onForgotten: () => undefined,
    stop: () => undefined,
  }
  return { attempts, calls, state }
}

/** A slot with the databases `acme` (active) and `idle` (not), with a token that may write and one that may not. */
function fakeSlot(): EngineSlot {
  const database = (name: string, active: boolean) => ({ name, describe: () => ({ active }) }) as unknown as Database
  const databases = new Map([
    ['acme', database('acme', true)],
    ['idle', database('idle', false)],
  ])
  const tokens = new Map([
    [tokenHash(generated('acme')), { database: { name: 'acme' }, token: { kind: 'rw' } }],
    [tokenHash(generated('read')), { database: { name: 'acme' }, token: { kind: 'r' } }],
    [tokenHash(generated('idle')), { database: { name: 'idle' }, token: { kind: 'rw' } }],
  ])
  const engine = {
    control: { findToken: (hash: string) => tokens.get(hash) },
    database(name: string) {
      const found = databases.get(name)
      if (found === undefined) throw new ServerError('database_not_found', `no database "${name}"`)
      return found
    },
  }
  return slotWith(engine as unknown as Engine)
}

/** The kind of principal, or the code of the refusal. */
function outcome(guard: Guard, header: string | undefined): string {
  try {
    const principal = guard.check(header, address)
    if (principal.kind !== 'member') return principal.kind
    return `${principal.database.name} ${principal.mayWrite ? 'writes' : 'reads'}`
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('without a token everybody is the owner', async (t) => {
  const { attempts, calls } = fakeAttempts()
  const guard = createGuard({ authToken: undefined, rootToken: undefined, slot: new EngineSlot(), attempts })
  for (const header of [undefined, '', 'null', 'Bearer x']) {
    t.equal(outcome(guard, header), 'owner')
    t.equal(await guard.mayKnowAll(header, address), true)
  }
  await guard.delay()
  t.strictSame(calls, [], 'no header is looked at')
})

test('with a token its holder is the owner, raw or as Bearer, and a wrong one is counted', async (t) => {
  const { attempts, calls } = fakeAttempts()
  const guard = createGuard({ authToken, rootToken: undefined, slot: new EngineSlot(), attempts })
  for (const header of [authToken, `Bearer ${authToken}`, `bearer   ${authToken}`]) {
    t.equal(outcome(guard, header), 'owner')
    t.equal(await guard.mayKnowAll(header, address), true)
  }
  t.strictSame(
    calls.splice(0),
    Array.from({ length: 6 }, () => `succeeded ${address}`),
  )
  for (const header of [undefined, '']) {
    t.equal(outcome(guard, header), 'authorization_required')
    t.equal(await guard.mayKnowAll(header, address), false)
  }
  t.strictSame(calls, [], 'no token is no guess')
  for (const header of [`${authToken}x`, authToken.slice(1), 'null', `x ${authToken}`, `root/acme:${authToken}`])
    t.equal(outcome(guard, header), 'invalid_token', header)
  t.strictSame(
    calls.splice(0),
    Array.from({ length: 5 }, () => `failed ${address}`),
  )
  t.equal(await guard.mayKnowAll('guess', address), false)
  t.strictSame(calls.splice(0), [`failed ${address}`, 'delay'])
  await guard.delay()
  t.strictSame(calls, ['delay'])
})

test('beyond the rate nothing is compared, except from an address that used the right token', async (t) => {
  const { attempts, calls, state } = fakeAttempts()
  const guard = createGuard({ authToken, rootToken: undefined, slot: new EngineSlot(), attempts })
  state.mayFail = false
  for (const header of [authToken, 'guess']) {
    t.equal(outcome(guard, header), 'too_many_attempts')
    t.equal(await guard.mayKnowAll(header, address), false)
  }
  t.strictSame(calls, [], 'refused at once')
  state.remembers = true
  t.equal(outcome(guard, authToken), 'owner')
  t.strictSame(calls.splice(0), [`succeeded ${address}`])
  t.equal(outcome(guard, 'guess'), 'too_many_attempts')
  t.strictSame(calls, [], 'a failure beyond the rate is not counted')
  state.mayFail = true
  t.equal(outcome(guard, 'guess'), 'invalid_token')
  t.strictSame(calls, [`failed ${address}`])
})

test('a wrong token is answered about the server when its delay is over', async (t) => {
  const { attempts, state } = fakeAttempts()
  const guard = createGuard({ authToken, rootToken: undefined, slot: new EngineSlot(), attempts })
  const delay = Promise.withResolvers<void>()
  state.delayed = delay.promise
  let isAnswered = false
  const answer = guard.mayKnowAll('guess', address).finally(() => {
    isAnswered = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isAnswered)
  t.equal(await guard.mayKnowAll(authToken, address), true, 'the right one is not delayed')
  delay.resolve()
  t.equal(await answer, false)
})

test('the root token is root, names a database, and members have tokens of their own', async (t) => {
  const { attempts, calls } = fakeAttempts()
  // The token of a plain deployment counts for nothing.
  const guard = createGuard({ authToken, rootToken, slot: fakeSlot(), attempts })
  const expected: readonly (readonly [string, string, boolean])[] = [
    [rootToken, 'root', true],
    [`Bearer ${rootToken}`, 'root', true],
    [`root/acme:${rootToken}`, 'acme writes', false],
    [`root/none:${rootToken}`, 'database_not_found', false],
    [`root/idle:${rootToken}`, 'database_inactive', false],
    [generated('acme'), 'acme writes', false],
    [generated('read'), 'acme reads', false],
    [generated('idle'), 'database_inactive', false],
    [generated('unknown'), 'invalid_token', false],
    [`root/acme:${generated('acme')}`, 'invalid_token', false],
    [`root/acme:guess`, 'invalid_token', false],
    [`root/acme${rootToken}`, 'invalid_token', false],
    [authToken, 'invalid_token', false],
  ]
  for (const [header, kind, mayKnowAll] of expected) {
    t.equal(outcome(guard, header), kind, header)
    t.equal(await guard.mayKnowAll(header, address), mayKnowAll, header)
  }
  calls.length = 0
  for (const header of [generated('acme'), generated('idle')]) outcome(guard, header)
  t.strictSame(calls, [], 'tokens that the server generated cannot be guessed and are not counted')
  outcome(guard, `root/none:${rootToken}`)
  t.strictSame(calls, [`succeeded ${address}`], 'the token was right')
  const inactive = t.throws(() => guard.check(generated('idle'), address)) as ServerError
  t.match(inactive, { details: { field: 'database', value: 'idle' } })
})

test('before the log is read, what may be a generated token is not judged, and everything else is', async (t) => {
  const { attempts, calls } = fakeAttempts()
  const slot = new EngineSlot()
  const guard = createGuard({ authToken: undefined, rootToken, slot, attempts })
  const expected: readonly (readonly [string, string])[] = [
    [generated('acme'), 'starting'],
    [rootToken, 'root'],
    [`root/acme:${rootToken}`, 'starting'],
    [`root/acme:guess`, 'invalid_token'],
    ['guess', 'invalid_token'],
    [`acme:${'a'.repeat(42)}`, 'invalid_token'],
    [`acme:${'a'.repeat(44)}`, 'invalid_token'],
  ]
  for (const [header, kind] of expected) t.equal(outcome(guard, header), kind, header)
  calls.length = 0
  t.equal(await guard.mayKnowAll(generated('acme'), address), false)
  t.equal(await guard.mayKnowAll(rootToken, address), true)
  t.strictSame(calls, [`succeeded ${address}`])
})

test('an error without a code is a bug, and not taken for a refusal', async (t) => {
  for (const thrown of [new Error('a bug'), { code: 'no error' }]) {
    const engine = {
      control: {
        findToken() {
          throw thrown
        },
      },
    }
    const { attempts } = fakeAttempts()
    const guard = createGuard({
      authToken: undefined,
      rootToken,
      slot: slotWith(engine as unknown as Engine),
      attempts,
    })
    const known = await guard.mayKnowAll(generated('acme'), address).catch((error: unknown) => error)
    t.equal(known, thrown)
  }
})

test('without given attempts, ten wrong tokens are compared', async (t) => {
  const guard = createGuard({ authToken, rootToken: undefined, slot: new EngineSlot() })
  for (let i = 0; i < 10; i++) t.equal(outcome(guard, 'guess'), 'invalid_token')
  t.equal(outcome(guard, 'guess'), 'too_many_attempts')
})

test('a token is known in logs by the first 12 digits of its hash', async (t) => {
  t.equal(tokenHash('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  t.strictSame(['abc', 'Bearer abc', '', undefined].map(tokenId), [
    'ba7816bf8f01',
    'ba7816bf8f01',
    undefined,
    undefined,
  ])
})
