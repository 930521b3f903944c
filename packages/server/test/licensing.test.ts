// When a license is in force, by a clock that the test sets, over a log of settings in memory and a file in memory.
import type { Engine } from '@annal/engine'
import { test } from 'tap'
import { Licensing } from '../src/license/licensing.ts'
import { licenseClockLeewayMs, trialMs } from '../src/limits.ts'
import { dayMs, issued, vendor } from './licenses.ts'

const own = '0f0e0d0c-1111-4222-8333-444455556666'
const start = Date.UTC(2030, 0, 1)
const hourMs = 3_600_000

class World {
  nowMs = start
  /** Time of the newest record in the log. */
  logMs = 0
  elapsedMs = 0
  file: string | undefined
  readonly settings = new Map<string, string>()
  readonly trace: string[] = []
  /** While set, the log takes no writes. */
  failure: Error | undefined
  /** Awaited before a write of the log or of the file ends. */
  slow: Promise<void> = Promise.resolve()

  open(directory = own): Promise<Licensing> {
    return this.licensing(directory)
  }

  async licensing(directory: string): Promise<Licensing> {
    const control = {
      setting: (key: string) => this.settings.get(key),
      putSetting: async (key: string, value: string) => {
        this.trace.push(`put ${key} ${value}`)
        await this.slow
        if (this.failure) throw this.failure
        this.settings.set(key, value)
      },
    }
    const world = this
    const engine = {
      id: own,
      control,
      get timeMs() {
        return world.logMs
      },
    }
    const licensing = new Licensing({
      publicKey: vendor.publicKey,
      place: {
        read: async () => this.file,
        write: async (text) => {
          this.trace.push('write')
          await this.slow
          this.file = text
        },
      },
      engine: () => engine as unknown as Engine,
      now: () => this.nowMs,
      elapsed: () => this.elapsedMs,
    })
    await licensing.open(directory)
    return licensing
  }
}

/** Whether the status is active and an operation that requires a license is allowed, which must agree. */
function isActive(licensing: Licensing): boolean {
  const isStated = licensing.status()?.status === 'active'
  let isAllowed = true
  try {
    licensing.require()
  } catch (error) {
    if ((error as { code?: string }).code !== 'license_required') throw error
    isAllowed = false
  }
  if (isAllowed !== isStated) throw new Error(`the license is ${isStated ? '' : 'not '}active, but require() differs`)
  return isAllowed
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

const text = (id: string, startMs: number, endMs: number, directory = 'any') =>
  issued({ id, startMs, endMs, directory })

test('without a license nothing is active, and nothing is written down', async (t) => {
  const world = new World()
  const licensing = await world.open()
  t.equal(licensing.status(), undefined)
  t.notOk(isActive(licensing))
  t.equal(licensing.fault(), 'no license is active')
  await licensing.noteTime()
  t.strictSame(world.trace, [])
})

test('a file is in force from a day before its start until its end', async (t) => {
  const world = new World()
  world.file = text('lic-1', start, start + 10 * dayMs)
  const licensing = await world.open()
  for (const [nowMs, active] of [
    [start - licenseClockLeewayMs - 1, false],
    [start - licenseClockLeewayMs, true],
    [start + 10 * dayMs - 1, true],
    [start + 10 * dayMs, false],
  ] as const) {
    world.nowMs = nowMs
    t.equal(isActive(licensing), active, new Date(nowMs).toISOString())
    t.equal(licensing.fault(), active ? undefined : 'the license lic-1 ended on 2030-01-11')
    t.match(licensing.status(), { status: active ? 'active' : 'expired', license: { id: 'lic-1' } })
  }
})

test('a file for this directory or any is accepted, and the fault of another is reported', async (t) => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    [text('lic-1', start, start + dayMs), undefined],
    [`${text('lic-1', start, start + dayMs, own)}\n\n`, undefined],
    [
      text('lic-1', start, start + dayMs, '00000000-0000-4000-8000-000000000000'),
      'license.lic is for another data directory',
    ],
    ['nonsense', 'not a license: paste the whole license.lic, all three lines'],
  ]
  for (const [file, fault] of cases) {
    const world = new World()
    world.file = file
    const licensing = await world.open()
    t.equal(isActive(licensing), fault === undefined)
    t.equal(licensing.fault(), fault && `no license is active: ${fault}`)
  }
  const world = new World()
  Object.defineProperty(world, 'file', {
    get() {
      throw new Error('EACCES: /data/license')
    },
  })
  t.equal((await world.open()).fault(), 'no license is active: license.lic cannot be read')
})

test('a license is activated by its text: the log first, then the file, then it is in force', async (t) => {
  const world = new World()
  world.file = 'nonsense'
  const licensing = await world.open()
  const good = text('lic-1', start, start + 10 * dayMs, own)
  const writing = Promise.withResolvers<void>()
  world.slow = writing.promise
  const activated = licensing.activate(good.trimEnd(), { byRoot: false })
  await turn()
  t.strictSame(world.trace, ['put license-applied lic-1'])
  t.notOk(isActive(licensing))
  const second = Promise.withResolvers<void>()
  world.slow = second.promise
  writing.resolve()
  await turn()
  t.strictSame(world.trace, ['put license-applied lic-1', 'write'])
  t.notOk(isActive(licensing))
  second.resolve()
  t.match(await activated, { status: 'active', license: { id: 'lic-1', directory: own } })
  t.ok(isActive(licensing))
  t.equal(world.file, good, 'with the line end that the text did not have')
  world.nowMs = start + 20 * dayMs
  t.equal(licensing.fault(), 'the license lic-1 ended on 2030-01-11', 'the fault of the file before it is gone')
})

test('a license for another directory, one that ended, and one that has not begun are refused and change nothing', async (t) => {
  const world = new World()
  const licensing = await world.open()
  const refusals: readonly (readonly [string, { readonly code: string; readonly message?: string | RegExp }])[] = [
    [
      text('a', start, start + dayMs, '00000000-0000-4000-8000-000000000000'),
      { code: 'license_invalid', message: /for another data directory/ },
    ],
    [text('b', start - 9 * dayMs, start), { code: 'license_expired', message: 'the license ended on 2030-01-01' }],
    [
      text('c', start + licenseClockLeewayMs + 1, start + 9 * dayMs),
      { code: 'license_invalid', message: 'the license starts on 2030-01-02' },
    ],
    ['nonsense', { code: 'license_invalid' }],
  ]
  for (const byRoot of [false, true])
    for (const [license, error] of refusals) await t.rejects(licensing.activate(license, { byRoot }), error)
  t.strictSame(world.trace, [])
  t.notOk(isActive(licensing))
  for (const license of [
    text('d', start + licenseClockLeewayMs, start + 9 * dayMs),
    text('e', start - 9 * dayMs, start + 1),
  ]) {
    await licensing.activate(license, { byRoot: true })
    t.ok(isActive(licensing))
  }
})

test('only root replaces a license in force with one that ends earlier', async (t) => {
  const days = (id: string, count: number) => text(id, start, start + count * dayMs)
  const world = new World()
  const licensing = await world.open()
  await licensing.activate(days('ten', 10), { byRoot: false })
  await t.rejects(licensing.activate(days('nine', 9), { byRoot: false }), {
    code: 'license_invalid',
    message: 'the active license ends later; only the root token can replace it',
  })
  t.match(licensing.status(), { license: { id: 'ten' } })
  await licensing.activate(days('same', 10), { byRoot: false })
  t.match(licensing.status(), { license: { id: 'same' } })
  await licensing.activate(days('nine', 9), { byRoot: true })
  t.match(licensing.status(), { license: { id: 'nine' } })

  // A license that is not in force yet, or no longer, gives way to any.
  for (const nowMs of [start + 5 * dayMs, start]) {
    const other = new World()
    other.file = text('file', nowMs === start ? start + 2 * dayMs : start, start + (nowMs === start ? 50 : 5) * dayMs)
    other.nowMs = nowMs
    const one = await other.open()
    t.notOk(isActive(one))
    await one.activate(text('short', start, start + 6 * dayMs), { byRoot: false })
    t.match(one.status(), { status: 'active', license: { id: 'short' } })
  }
})

test('the trial is a record of the log, from the moment of its record, once', async (t) => {
  const world = new World()
  const licensing = await world.open()
  const writing = Promise.withResolvers<void>()
  world.slow = writing.promise
  const taken = licensing.takeTrial()
  await t.rejects(licensing.takeTrial(), { code: 'trial_taken' })
  t.notOk(isActive(licensing), 'not before it is durable')
  writing.resolve()
  const license = { id: 'trial-0f0e0d0c', plan: 'trial', startMs: start, endMs: start + trialMs, directory: own }
  t.strictSame(await taken, { status: 'active', license })
  t.strictSame(world.trace, [`put license-trial-taken ${start}`])
  t.strictSame(licensing.status(), { status: 'active', license })
  await t.rejects(licensing.takeTrial(), { code: 'trial_taken' })
  world.nowMs = start + trialMs
  t.notOk(isActive(licensing))
  t.equal(licensing.fault(), 'the license trial-0f0e0d0c ended on 2030-01-31')
})

test('a trial that the log refused can be taken later, and one that the log lost is a bug', async (t) => {
  const world = new World()
  const licensing = await world.open()
  world.failure = new Error('the log is full')
  await t.rejects(licensing.takeTrial(), { message: 'the log is full' })
  t.equal(licensing.status(), undefined)
  world.failure = undefined
  await licensing.takeTrial()
  t.ok(isActive(licensing))

  const losing = new World()
  const other = await losing.open()
  losing.settings.set = () => losing.settings
  await t.rejects(other.takeTrial(), { code: 'internal' })
})

test('of a trial and a file, the one in force counts, and of two that ended the later', async (t) => {
  const world = new World()
  const licensing = await world.open()
  await licensing.takeTrial()
  await licensing.activate(text('lic-1', start, start + 50 * dayMs), { byRoot: false })
  t.match(licensing.status(), { license: { id: 'lic-1' } })
  await licensing.activate(text('lic-2', start, start + 5 * dayMs), { byRoot: true })
  world.nowMs = start + 6 * dayMs
  t.match(licensing.status(), { status: 'active', license: { plan: 'trial' } })
  world.nowMs = start + 40 * dayMs
  t.match(licensing.status(), { status: 'expired', license: { plan: 'trial' } })
  world.nowMs = start
  await licensing.activate(text('lic-3', start, start + 35 * dayMs), { byRoot: true })
  world.nowMs = start + 40 * dayMs
  t.match(licensing.status(), { status: 'expired', license: { id: 'lic-3' } })
})

test('an expiry is written to the log once, with its time, and again when the log refused it', async (t) => {
  const world = new World()
  world.file = text('lic-1', start, start + dayMs)
  const licensing = await world.open()
  t.ok(isActive(licensing))
  t.strictSame(world.trace, [])
  world.nowMs = start + dayMs
  world.failure = new Error('the log is full')
  t.notOk(isActive(licensing))
  t.notOk(isActive(licensing))
  t.strictSame(world.trace.splice(0), ['put license-expired lic-1'], 'once while it is being written')
  await turn()
  world.failure = undefined
  t.notOk(isActive(licensing))
  await turn()
  t.strictSame(world.trace.splice(0), ['put license-expired lic-1', `put license-time-seen ${world.nowMs}`])
  t.notOk(isActive(licensing))
  await turn()
  t.strictSame(world.trace, [])
  const again = await world.open()
  t.notOk(isActive(again))
  await turn()
  t.strictSame(world.trace, [], 'the log has it')

  const other = text('lic-2', start, start + 2 * dayMs)
  await again.activate(other, { byRoot: true })
  world.nowMs = start + 2 * dayMs
  t.notOk(isActive(again))
  await turn()
  t.strictSame(world.trace.slice(-2), ['put license-expired lic-2', `put license-time-seen ${world.nowMs}`])
})

test('an end stays an end, whichever clock says otherwise: of the log, of a note in it, of the time since the start', async (t) => {
  const end = start + dayMs
  const moves: readonly ((world: World) => void)[] = [
    (world) => {
      world.logMs = end
    },
    (world) => {
      world.settings.set('license-time-seen', String(end))
    },
  ]
  for (const move of moves) {
    const world = new World()
    world.file = text('lic-1', start, end)
    t.ok(isActive(await world.open()))
    move(world)
    t.notOk(isActive(await world.open()))
  }
  const world = new World()
  world.file = text('lic-1', start, end)
  world.logMs = end - 10
  world.elapsedMs = 1_000
  const licensing = await world.open()
  t.ok(isActive(licensing))
  world.elapsedMs = 1_009
  t.ok(isActive(licensing))
  world.elapsedMs = 1_010
  t.notOk(isActive(licensing), 'ten milliseconds after the newest record')
  world.nowMs = start - 300 * dayMs
  t.notOk(isActive(licensing))
})

test('the time is noted when the log is an hour behind, and only with a license', async (t) => {
  const world = new World()
  world.file = text('lic-1', start, start + 10 * dayMs)
  world.logMs = start
  const licensing = await world.open()
  world.nowMs = start + hourMs - 1
  await licensing.noteTime()
  t.strictSame(world.trace, [])
  world.nowMs = start + hourMs
  const writing = Promise.withResolvers<void>()
  world.slow = writing.promise
  let isNoted = false
  const noting = licensing.noteTime().then(() => {
    isNoted = true
  })
  await turn()
  t.notOk(isNoted)
  writing.resolve()
  await noting
  t.strictSame(world.trace.splice(0), [`put license-time-seen ${start + hourMs}`])
  world.nowMs += hourMs - 1
  await licensing.noteTime()
  t.strictSame(world.trace, [], 'the note itself counts')
  world.nowMs += 1.5
  await licensing.noteTime()
  t.strictSame(world.trace, [`put license-time-seen ${start + 2 * hourMs}`], 'in whole milliseconds')
})

test('in an empty log there is no earlier time', async (t) => {
  const world = new World()
  world.nowMs = 0
  world.file = text('lic-1', 0, 2 * hourMs)
  const licensing = await world.open()
  world.nowMs = hourMs - 1
  t.ok(isActive(licensing))
  await licensing.noteTime()
  t.strictSame(world.trace, [], 'less than an hour after the beginning')
  world.nowMs = hourMs
  await licensing.noteTime()
  t.strictSame(world.trace, [`put license-time-seen ${hourMs}`])
})
