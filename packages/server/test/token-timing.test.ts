// What is done about a token does not depend on how much of it is right: one digest is made of it, and only digests of one length
// are compared and looked up.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { type Test, test } from 'tap'
import { createAttempts } from '../src/access/attempts.ts'
import { createGuard, type Guard } from '../src/access/auth.ts'
import { slotWith } from '../src/engine-slot.ts'
import { runningApp, unlimitedAttempts } from './running-app.ts'

const rootToken = 'the-root-token-0123456789-abcdefghijklmnop'

interface Guarded {
  readonly guard: Guard
  /** Right but for the last character; wrong from the first; of a database that is there; of one that is not. */
  readonly wrong: Readonly<Record<string, string>>
  /** What was done for tokens, in its order. */
  readonly steps: string[]
}

/** Guesses from so many addresses that none is held up. */
const address = (i: number) => `10.0.${i >> 8}.${i & 255}`

async function guarded(t: Test, attempts = unlimitedAttempts()): Promise<Guarded> {
  const { engine, send } = await runningApp(t, { rootToken })
  const made = await send('POST', '/api/v2/admin/dbs', {
    json: { db_name: 'acme', db_type: 'enterprise' },
    headers: { authorization: rootToken },
  })
  const token = String(made.json().db_token)
  const steps: string[] = []
  const { findToken } = engine.control
  engine.control.findToken = (hash) => {
    steps.push(`looks up ${hash.length} digits`)
    return findToken.call(engine.control, hash)
  }
  const secret = token.slice(token.indexOf(':') + 1)
  const random = 'A'.repeat(secret.length)
  return {
    guard: createGuard({ authToken: undefined, rootToken, slot: slotWith(engine), attempts }),
    wrong: {
      'root token, wrong at the end': `${rootToken.slice(0, -1)}#`,
      'nothing right': random,
      'token of a database, wrong at the end': `${token.slice(0, -1)}#`,
      'of a database that is there': `acme:${random}`,
      'of one that is not': `none:${random}`,
    },
    steps,
  }
}

/** Adds what is hashed and compared to `steps`. */
function watchDigests(t: Test, steps: string[]): void {
  const { createHash, timingSafeEqual } = crypto
  crypto.createHash = (algorithm, options) => {
    steps.push(`hashes with ${algorithm}`)
    return createHash(algorithm, options)
  }
  crypto.timingSafeEqual = (a, b) => {
    steps.push(`compares ${a.byteLength} and ${b.byteLength} bytes`)
    return timingSafeEqual(a, b)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(crypto, { createHash, timingSafeEqual })
    syncBuiltinESMExports()
  })
}

test('every wrong token costs the same steps, on digests of one length', async (t) => {
  const { guard, wrong, steps } = await guarded(t)
  watchDigests(t, steps)
  Object.entries(wrong).forEach(([what, token], i) => {
    steps.splice(0)
    t.throws(() => guard.check(token, address(i)), { code: 'invalid_token', message: 'Invalid token' }, what)
    t.same(steps, ['hashes with sha256', 'looks up 64 digits', 'compares 32 and 32 bytes'], what)
  })
})

test('a token that is not compared costs the same steps and gets the same answer, right or wrong', async (t) => {
  const { guard, wrong, steps } = await guarded(t, createAttempts({ now: () => 0 }))
  for (let i = 0; i < 10; i++) t.throws(() => guard.check(`guess-${i}`, '10.0.0.1'), { code: 'invalid_token' })
  watchDigests(t, steps)
  const answers = Object.entries({ ...wrong, right: rootToken }).map(([what, token]) => {
    steps.splice(0)
    t.throws(() => guard.check(token, '10.0.0.1'), { code: 'too_many_attempts', message: /wait a minute$/ }, what)
    return steps.join()
  })
  t.strictSame(new Set(answers), new Set(['hashes with sha256,looks up 64 digits']))
})

const { ANNAL_LONG } = process.env

test('the time a wrong token takes says nothing about it', {
  skip: ANNAL_LONG !== '1' && 'ANNAL_LONG=1',
}, async (t) => {
  const { guard, wrong } = await guarded(t)
  const kinds = Object.entries(wrong)
  const times = new Map(kinds.map(([what]) => [what, [] as number[]]))
  // In turns, each from an address of its own, so that whatever the machine does meanwhile meets all of them.
  for (let i = 0; i < kinds.length * 20_000; i++) {
    const [what, token] = kinds[i % kinds.length]!
    const begun = performance.now()
    try {
      guard.check(token, address(i))
    } catch {
      times.get(what)?.push(performance.now() - begun)
    }
  }
  const pairs = kinds.flatMap(([a], i) => kinds.slice(i + 1).map(([b]) => [a, b] as const))
  for (const [a, b] of pairs) {
    const score = welch(fastest(times.get(a)!), fastest(times.get(b)!))
    t.comment(`${a} / ${b}: t = ${score.toFixed(2)}`)
    t.ok(Math.abs(score) < 4.5, `${a} and ${b} take the same time`)
  }
})

/** Without the slowest tenth, in which a collection of garbage counts for more than everything else. */
function fastest(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(1_000, Math.floor(times.length * 0.9))
}

/** Welch's t: how far two means lie apart, in standard errors. */
function welch(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [a, b].map((values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
    return { mean, error: variance / values.length }
  })
  return (x!.mean - y!.mean) / Math.sqrt(x!.error + y!.error)
}
