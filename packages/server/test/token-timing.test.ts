// The work for a token does not depend on how much of it is right: one digest is computed, and only digests of one length are compared and
// looked up.
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
  /** Wrong in the last character; wrong from the first; of an existing database; of an absent database. */
  readonly wrong: Readonly<Record<string, string>>
  /** The operations on tokens, in order. */
  readonly steps: string[]
}

/** Guesses from so many addresses that none is delayed. */
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

/** Adds every hash and comparison to `steps`. */
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

test('every wrong token takes the same steps, on digests of one length', async (t) => {
  const { guard, wrong, steps } = await guarded(t)
  watchDigests(t, steps)
  Object.entries(wrong).forEach(([what, token], i) => {
    steps.splice(0)
    t.throws(() => guard.check(token, address(i)), { code: 'invalid_token', message: 'Invalid token' }, what)
    t.same(steps, ['hashes with sha256', 'looks up 64 digits', 'compares 32 and 32 bytes'], what)
  })
})

test('a token that is not compared takes the same steps and gets the same reply, right or wrong', async (t) => {
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

test('the time of a wrong token reveals nothing about it', {
  skip: ANNAL_LONG !== '1' && 'ANNAL_LONG=1',
}, async (t) => {
  const { guard, wrong } = await guarded(t)
  const kinds = Object.entries(wrong)
  const times = new Map(kinds.map(([what]) => [what, [] as number[]]))
  // Alternately, each from its own address, so that other work on the machine affects all of them.
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

/** Without the slowest tenth, in which garbage collection dominates. */
function fastest(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(1_000, Math.floor(times.length * 0.9))
}

/** Welch's t: the distance of two means, in standard errors. */
function welch(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [a, b].map((values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
    return { mean, error: variance / values.length }
  })
  return (x!.mean - y!.mean) / Math.sqrt(x!.error + y!.error)
}
