// Licenses: which are accepted, how long they last, and what they unlock without a restart.
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { createLicenseKeys, readLicense } from '../src/index.ts'
import { dayMs, issued, layLicense, license, testLicensing, vendor } from './licenses.ts'
import { runningApp, send, temporaryDirectory } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'
const authorization = rootToken
const heading = 'ANNAL LICENSE 1'

test('an issued license is read back unchanged', (t) => {
  const wanted = license({ id: 'LIC-2026-07', plan: 'pro', directory: '0f0e0d0c-1111-4222-8333-444455556666' })
  t.strictSame(readLicense(issued(wanted), vendor.publicKey), wanted)
  t.strictSame(readLicense(issued(wanted).replaceAll('\n', '\r\n'), vendor.publicKey), wanted, 'as Windows saves it')
  t.end()
})

/** Signed with the key of the vendor, but not in the form of the program that issues licenses. */
function signText(payload: string, first = heading): string {
  const signature = sign(null, Buffer.from(`${first}\n${payload}`), createPrivateKey(vendor.privateKey))
  return `${first}\n${Buffer.from(payload).toString('base64url')}\n${signature.toString('base64url')}\n`
}

function payloadOf(text: string): string {
  return Buffer.from(text.split('\n')[1] ?? '', 'base64url').toString('utf8')
}

function flipped(text: string, index: number): string {
  const code = text.charCodeAt(index)
  return `${text.slice(0, index)}${String.fromCharCode(code ^ 1)}${text.slice(index + 1)}`
}

function forgeries(directory: string): [string, string][] {
  const good = issued({ directory })
  const [, encoded = '', signature = ''] = good.split('\n')
  const payload = payloadOf(good)
  const other = createLicenseKeys()
  const later = payload.replace(/"end":"\d{4}/, '"end":"2999')
  const withPayload = (text: string) => `${heading}\n${Buffer.from(text).toString('base64url')}\n${signature}\n`
  const lastOf = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')
  return [
    ['empty', ''],
    ['blank', ' \n'],
    ['heading alone', `${heading}\n`],
    ['without a signature', `${heading}\n${encoded}\n`],
    ['empty signature', `${heading}\n${encoded}\n\n`],
    ['zero signature', `${heading}\n${encoded}\n${'A'.repeat(86)}\n`],
    ['one bit of the heading', flipped(good, 3)],
    ['one bit of the payload', flipped(good, heading.length + 10)],
    ['one bit of the signature', flipped(good, good.length - 40)],
    ['spare bits of the signature', `${heading}\n${encoded}\n${lastOf(signature)}\n`],
    ['another end under the same signature', withPayload(later)],
    ['another directory under the same signature', withPayload(payload.replace(directory, 'any'))],
    ['another plan under the same signature', withPayload(payload.replace('enterprise', 'unlimited'))],
    ['another key', issued({ directory }, other.privateKey)],
    ['the signature of another license', `${heading}\n${encoded}\n${issued({ id: 'x' }).split('\n')[2]}\n`],
    ['algorithm none', signText(payload.replace('{', '{"alg":"none",'))],
    ['algorithm none, unsigned', `${heading}\n${Buffer.from('{"alg":"none"}').toString('base64url')}\n${signature}\n`],
    ['a JSON web token', `${Buffer.from('{"alg":"none"}').toString('base64url')}.${encoded}.`],
    ['its own public key', signText(payload.replace('{', `{"key":"${other.publicKey}",`))],
    ['a hash for a signature', `${heading}\n${encoded}\n${createHash('sha512').update(payload).digest('base64url')}\n`],
    ['reordered keys', signText(JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(payload)).reverse())))],
    ['a key twice', signText(payload.replace('{', '{"plan":"enterprise",'))],
    ['a missing key', signText(payload.replace(/,"directory":"[^"]*"/, ''))],
    ['an unknown key', signText(payload.replace(/}$/, ',"seats":5}'))],
    ['spaces in the payload', signText(payload.replaceAll(',', ', '))],
    ['spaces between the lines', good.replaceAll('\n', ' \n')],
    ['a space before it', ` ${good}`],
    ['another line after it', `${good}more\n`],
    ['a zero byte after it', `${good.trimEnd()}\0`],
    ['a heading of another version', signText(payload, 'ANNAL LICENSE 2')],
    ['a heading in small letters', signText(payload, heading.toLowerCase())],
    ['another product', signText(payload.replace('"annal"', '"other"'))],
    ['an end that is no date', signText(payload.replace(/"end":"[^"]*"/, '"end":"never"'))],
    ['an end that is a number', signText(payload.replace(/"end":"[^"]*"/, '"end":9e15'))],
    ['an end before the start', signText(payload.replace(/"end":"\d{4}/, '"end":"1999'))],
    ['ended', issued({ directory, startMs: Date.now() - 60 * dayMs, endMs: Date.now() - dayMs })],
    ['not begun', issued({ directory, startMs: Date.now() + 30 * dayMs })],
    ['another directory', issued({ directory: '00000000-0000-4000-8000-000000000000' })],
    ['an array for an object', signText('[]')],
    ['null for an object', signText('null')],
    ['no JSON', signText('license')],
    ['no text', signText(payload).replace(encoded, Buffer.from([0xff, 0xfe, 0x00]).toString('base64url'))],
    ['huge', `${heading}\n${'A'.repeat(20_000)}\n${signature}\n`],
    ['binary', Buffer.from(Array.from({ length: 300 }, (_, i) => i & 255)).toString('latin1')],
    ['itself twice', good + good],
  ]
}

test('none of more than forty forgeries is accepted, by HTTP or as a file, and the true license is, without a restart', {
  timeout: 120_000,
}, async (t) => {
  const running = await runningApp(t, { rootToken }, { licensed: false })
  const { url, engine, dataDir } = running
  const validate = (body: string) =>
    send(url, 'POST', '/api/v2/license/validate', { body: Buffer.from(body, 'latin1'), type: 'text/plain' })
  const create = () => send(url, 'POST', '/api/v2/admin/dbs', { headers: { authorization }, json: { db_name: 'a' } })
  const all = forgeries(engine.id)
  t.ok(all.length >= 40)
  for (const [name, text] of all) {
    const answer = await validate(text.trim() === text.trimEnd() ? text : `x${text}`)
    t.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status} ${answer.text}`)
    await layLicense(dataDir, Buffer.from(text, 'latin1').toString('latin1'))
    const fromFile = await testLicensing(dataDir, engine)
    t.throws(() => fromFile.require(), { code: 'license_required' }, `${name}, as a file`)
  }
  t.match((await create()).json(), { code: 'license_required' })
  const good = issued({ directory: engine.id })
  const accepted = await validate(good)
  t.match([accepted.status, accepted.json()], [200, { message: /active until/, license: { license_id: 'lic-1' } }])
  t.equal((await create()).status, 201, 'at once')
  t.equal(await readFile(path.join(dataDir, 'license', 'license.lic'), 'utf8'), good)
  t.equal((await stat(path.join(dataDir, 'license', 'license.lic'))).mode & 0o777, 0o600)
  t.match((await send(url, 'GET', '/api/v2/info', { headers: { authorization } })).json(), {
    machine_id: engine.id,
    license: {
      license_id: 'lic-1',
      plan_type: 'enterprise',
      status: 'active',
      start_date: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
      end_date: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
    },
  })
})

test('a thousand damaged licenses are refused without any effect', (t) => {
  const random = seededRandom(17)
  const good = Buffer.from(issued())
  for (let i = 0; i < 1_000; i++) {
    const bytes = Buffer.from(good)
    for (let n = 1 + random.below(8); n > 0; n--) bytes[random.below(bytes.length)] = random.below(256)
    const cut = bytes.subarray(0, random.chance(0.3) ? random.below(bytes.length) : bytes.length)
    const text = cut.toString('latin1')
    if (text.trimEnd() === good.toString().trimEnd()) continue
    try {
      readLicense(text, vendor.publicKey)
      t.fail(`accepted: ${JSON.stringify(text)}`)
    } catch (error) {
      if ((error as { code?: string }).code !== 'license_invalid') throw error
    }
  }
  t.pass('none was accepted')
  t.end()
})

test('a license file that is a link is not followed, and an endless one is not waited for', async (t) => {
  const dir = await temporaryDirectory(t)
  const outside = path.join(dir, 'outside.lic')
  await writeFile(outside, issued())
  const engine = await openEngine({ dataDir: path.join(dir, 'data'), threads: 1 })
  t.teardown(() => engine.close())
  const traps: [string, (file: string) => Promise<unknown>][] = [
    ['a link', (file) => symlink(outside, file)],
    ['a directory', (file) => mkdir(file)],
    ['a large file', (file) => writeFile(file, issued() + '\n'.repeat(20_000))],
  ]
  for (const [what, lay] of traps) {
    const dataDir = path.join(dir, what)
    await mkdir(path.join(dataDir, 'license'), { recursive: true })
    await lay(path.join(dataDir, 'license', 'license.lic'))
    const licensing = await testLicensing(dataDir, engine)
    t.throws(() => licensing.require(), { code: 'license_required' }, what)
    t.match(licensing.fault(), /cannot be read/, what)
  }
  const linked = path.join(dir, 'linked')
  await mkdir(linked)
  await layLicense(path.join(dir, 'elsewhere'))
  await symlink(path.join(dir, 'elsewhere', 'license'), path.join(linked, 'license'))
  const licensing = await testLicensing(linked, engine)
  t.throws(() => licensing.require(), { code: 'license_required' }, 'a link to a directory')
  await t.rejects(licensing.activate(issued(), { byRoot: true }), /not a directory/)
})

test('the trial lasts a month, is available once for each data directory, and survives a restart', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const day = Date.UTC(2030, 0, 1)
  let now = day
  const clock = { now: () => now }
  const first = await openEngine({ dataDir, threads: 1, clock })
  const licensing = await testLicensing(dataDir, first, clock.now)
  t.equal(licensing.status(), undefined)
  t.equal(licensing.fault(), 'no license is active')
  t.throws(() => licensing.require(), { code: 'license_required' })
  const [taken, refused] = await Promise.allSettled([licensing.takeTrial(), licensing.takeTrial()])
  t.match(taken, { value: { status: 'active', license: { plan: 'trial', startMs: day } } })
  t.match(refused, { reason: { code: 'trial_taken' } }, 'of two who ask at once one gets it')
  licensing.require()
  await t.rejects(licensing.takeTrial(), { code: 'trial_taken' })
  await first.close()

  const second = await openEngine({ dataDir, threads: 1, clock })
  t.teardown(() => second.close())
  const again = await testLicensing(dataDir, second, clock.now)
  now = day + 30 * dayMs - 1
  again.require()
  now = day + 30 * dayMs
  t.throws(() => again.require(), { code: 'license_required' })
  t.match(again.status(), { status: 'expired', license: { plan: 'trial' } })
  await t.rejects(again.takeTrial(), { code: 'trial_taken' })
})

test('an expired license stays expired when the clock is set back a year, also after a restart', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const day = Date.UTC(2030, 0, 1)
  let now = day
  const clock = { now: () => now }
  const first = await openEngine({ dataDir, threads: 1, clock })
  const licensing = await testLicensing(dataDir, first, clock.now)
  await licensing.activate(issued({ startMs: day, endMs: day + 100 * dayMs }), { byRoot: true })
  licensing.require()
  now = day + 101 * dayMs
  t.throws(() => licensing.require(), { code: 'license_required' })
  await t.rejects(licensing.activate(issued({ startMs: day, endMs: day + 100 * dayMs }), { byRoot: true }), {
    code: 'license_expired',
  })
  // Nothing was written meanwhile except the expiry itself.
  await first.checkpoint()
  now -= 365 * dayMs
  t.throws(() => licensing.require(), { code: 'license_required' })
  await first.close()
  const second = await openEngine({ dataDir, threads: 1, clock })
  t.teardown(() => second.close())
  const again = await testLicensing(dataDir, second, clock.now)
  t.throws(() => again.require(), { code: 'license_required' })
  t.match(again.fault(), /lic-1 ended on 2030-04-11/)
  await t.rejects(again.activate(issued({ startMs: day, endMs: day + 100 * dayMs }), { byRoot: true }), {
    code: 'license_expired',
  })
  await again.activate(issued({ id: 'lic-2', startMs: day, endMs: day + 200 * dayMs }), { byRoot: false })
  again.require()
})

test('a clock set back while the server was stopped extends nothing, even without writes', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const day = Date.UTC(2030, 0, 1)
  let now = day
  let elapsed = 0
  const clock = { now: () => now }
  const first = await openEngine({ dataDir, threads: 1, clock })
  const licensing = await testLicensing(dataDir, first, clock.now, () => elapsed)
  await licensing.activate(issued({ startMs: day, endMs: day + 100 * dayMs }), { byRoot: true })
  await licensing.noteTime()
  const noted = first.stats().lsnApplied
  t.ok(noted > 0, 'the log knows what time it is')
  now = day + 99 * dayMs
  await licensing.noteTime()
  // At least one more: the log may write a marker in between.
  t.ok(first.stats().lsnApplied > noted)
  await first.close()

  now = day + dayMs
  const second = await openEngine({ dataDir, threads: 1, clock })
  const again = await testLicensing(dataDir, second, clock.now, () => elapsed)
  again.require()
  elapsed += dayMs / 2
  again.require()
  elapsed += dayMs
  t.throws(() => again.require(), { code: 'license_required' }, 'the hundredth day ends whatever the clock says')
  await again.noteTime()
  await second.close()
  const third = await openEngine({ dataDir, threads: 1, clock })
  t.teardown(() => third.close())
  elapsed = 0
  const later = await testLicensing(dataDir, third, clock.now, () => elapsed)
  t.throws(() => later.require(), { code: 'license_required' }, 'and stays ended')
})

test('without the root token a license is extended and never shortened', async (t) => {
  const running = await runningApp(t, { rootToken })
  const validate = (days: number, headers = {}) =>
    running.send('POST', '/api/v2/license/validate', {
      body: issued({ id: `days-${days}`, endMs: Date.now() + days * dayMs }),
      type: 'text/plain',
      headers,
    })
  t.equal((await validate(60)).status, 200)
  t.match((await validate(50)).json(), { code: 'license_invalid' })
  t.equal((await validate(50, { authorization: 'guess' })).status, 400)
  t.equal((await validate(50, { authorization })).status, 200)
  const info = await running.send('GET', '/api/v2/info', { headers: { authorization } })
  t.match(info.json(), { license: { license_id: 'days-50' } })
})

test('a plain deployment needs no license and accepts none', async (t) => {
  const running = await runningApp(t)
  t.match((await running.send('GET', '/api/v2/info')).json(), { license: null })
  for (const route of ['generate', 'validate']) {
    const answer = await running.send('POST', `/api/v2/license/${route}`, { body: 'x', type: 'text/plain' })
    t.ok(answer.status === 403 || answer.status === 415, `${route}: ${answer.status}`)
  }
})
