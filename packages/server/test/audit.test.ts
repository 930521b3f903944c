// The audit log: one line for each change and each kind of refusal, chained so that tampering is detected, durable across restarts.
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { test } from 'tap'
import { createAttempts } from '../src/access/attempts.ts'
import { createApp, readConfig, slotWith, verifyAudit } from '../src/index.ts'
import { AuditLog } from '../src/observe/audit.ts'
import type { AuditEvent, AuditLine } from '../src/observe/audit-chain.ts'
import { layLicense, testLicensing } from './licenses.ts'
import { send, temporaryDirectory } from './running-app.ts'

const event = (action: string): AuditEvent => ({ action, status: 200, request_id: 'r', ip: '127.0.0.1' })

async function linesIn(dir: string): Promise<AuditLine[]> {
  const names = (await readdir(dir)).sort()
  const texts = await Promise.all(names.map((name) => readFile(path.join(dir, name), 'utf8')))
  return texts
    .join('')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as AuditLine)
}

test('each change and each refusal is one line with the caller, the action, and the outcome, and without tokens', async (t) => {
  const dir = await temporaryDirectory(t)
  const auditDir = path.join(dir, 'audit')
  const authToken = 'a-token-that-nobody-may-see'
  const engine = await openEngine({ dataDir: dir, threads: 1 })
  const audit = new AuditLog(auditDir)
  const app = createApp({
    slot: slotWith(engine),
    config: { ...readConfig({}).config, authToken, logLevel: 'silent' },
    audit,
    attempts: createAttempts({ later: setImmediate }),
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  const headers = { authorization: authToken }
  await send(url, 'POST', '/api/v1/index/create', { headers, json: { index_name: 'a', dim: 4, space_type: 'l2' } })
  await audit.open()
  await send(url, 'POST', '/api/v1/index/create', { headers, json: { index_name: 'a', dim: 4, space_type: 'l2' } })
  await send(url, 'POST', '/api/v1/index/create', { headers, json: { index_name: 'b\n"x', dim: 4, space_type: 'l2' } })
  await send(url, 'POST', '/api/v1/index/a/search', { headers, json: { k: 1, vector: [1, 2, 3, 4] } })
  await send(url, 'DELETE', '/api/v1/index/a/vectors/delete', { headers, json: { filter: [] } })
  await send(url, 'DELETE', '/api/v2/collection/a', { headers })
  for (let i = 0; i < 5; i++)
    await send(url, 'GET', '/api/v1/index/list', { headers: { authorization: 'wrong-token' } })
  await audit.close()
  const lines = await linesIn(auditDir)
  t.match(lines, [
    { action: 'index.create', object: 'a', status: 200, ip: '127.0.0.1', token_id: /^[0-9a-f]{12}$/, lsn: Number },
    { action: 'index.create', object: 'a', status: 409 },
    { action: 'index.create', object: 'b\n"x', status: 400 },
    { action: 'objects.delete_by_filter', object: 'a', status: 200 },
    { action: 'collection.delete', object: 'a', status: 200 },
    { action: 'auth.refused', status: 401, token_id: /^[0-9a-f]{12}$/ },
  ])
  t.equal(lines.length, 6, 'five refusals within a second are one line, a search is none')
  t.strictSame(await verifyAudit(auditDir), { lines: 6, fault: undefined })
  const text = JSON.stringify(lines)
  t.notMatch(text, authToken)
  t.notMatch(text, 'wrong-token')
  const [name] = await readdir(auditDir)
  t.equal((await stat(path.join(auditDir, name!))).mode & 0o777, 0o600)
  t.equal((await stat(auditDir)).mode & 0o777, 0o700)
})

test('the chain continues across restarts, days, and half a line left by a crash', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  let now = Date.parse('2026-01-31T23:59:59Z')
  for (let day = 0; day < 3; day++) {
    const audit = new AuditLog(dir, () => now)
    await audit.open()
    for (let i = 0; i < 4; i++) audit.record(event(`day${day}.${i}`))
    await audit.close()
    now += 86_400_000
  }
  const files = (await readdir(dir)).sort()
  t.strictSame(files, ['audit-20260131.log', 'audit-20260201.log', 'audit-20260202.log'])
  await appendFile(path.join(dir, files[2]!), '{"ts":"2026-02-02T')
  now -= 86_400_000
  const after = new AuditLog(dir, () => now)
  await after.open()
  after.record(event('after'))
  await after.close()
  t.strictSame(await verifyAudit(dir), { lines: 13, fault: undefined })
})

test('the chain continues when the clock jumps, also across days and restarts', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  const day = 86_400_000
  let now = Date.parse('2026-11-29T00:10:00Z')
  let lines = 0
  for (const jump of [0, -1_200_000, 3_652 * day, -3_652 * day, -now]) {
    now += jump
    const audit = new AuditLog(dir, () => now)
    await audit.open()
    for (let i = 0; i < 2; i++) {
      audit.record(event(`${lines++}`))
      await audit.close()
      now += day
    }
    t.strictSame(await verifyAudit(dir), { lines, fault: undefined }, `after a jump of ${jump} ms`)
    t.same(
      (await linesIn(dir)).map(({ action }) => Number(action)),
      Array.from({ length: lines }, (_, i) => i),
      'in order',
    )
  }
  t.match((await linesIn(dir)).at(-1), { ts: /^1970-01-/ }, 'lines have the time of the clock')
})

test('a clock that was set back hides no refusals', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  let [now, elapsedMs] = [Date.parse('2026-11-29T12:00:00Z'), 0]
  const audit = new AuditLog(
    dir,
    () => now,
    () => elapsedMs,
  )
  await audit.open()
  for (let i = 0; i < 3; i++) {
    audit.recordSparingly(event('auth.refused'))
    audit.recordSparingly(event('auth.refused'))
    now -= 3_600_000
    elapsedMs += 1_000
  }
  await audit.close()
  t.match(await linesIn(dir), [{ action: 'auth.refused' }, { left_out: 1 }, { left_out: 1 }])
})

test('a changed, removed, moved, or inserted line is detected', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  const audit = new AuditLog(dir)
  await audit.open()
  for (let i = 0; i < 8; i++) audit.record({ ...event(`action.${i}`), object: `name ${i}` })
  await audit.close()
  const file = path.join(dir, (await readdir(dir))[0]!)
  const good = await readFile(file, 'utf8')
  const lines = good.trimEnd().split('\n')
  const forgeries: [string, string[]][] = [
    ['a byte changed', lines.map((line, i) => (i === 3 ? line.replace('name 3', 'name 4') : line))],
    ['a line removed', lines.filter((_, i) => i !== 3)],
    ['the first line removed', lines.slice(1)],
    ['two lines swapped', [...lines.slice(0, 2), lines[3]!, lines[2]!, ...lines.slice(4)]],
    ['a line twice', [...lines.slice(0, 4), lines[3]!, ...lines.slice(4)]],
    ['a line made unreadable', lines.map((line, i) => (i === 3 ? line.slice(5) : line))],
  ]
  for (const [what, forged] of forgeries) {
    await writeFile(file, `${forged.join('\n')}\n`)
    t.match((await verifyAudit(dir)).fault, /audit-\d{8}\.log: line \d/, what)
  }
  await writeFile(file, good)
  t.equal((await verifyAudit(dir)).fault, undefined)
})

test('health reports an audit log that cannot be written, and requests continue', async (t) => {
  const dir = await temporaryDirectory(t)
  const auditDir = path.join(dir, 'audit')
  const engine = await openEngine({ dataDir: dir, threads: 1 })
  const audit = new AuditLog(auditDir)
  await audit.open()
  const app = createApp({ slot: slotWith(engine), config: { ...readConfig({}).config, logLevel: 'silent' }, audit })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  t.match((await app.inject('/api/v1/health')).json(), { status: 'ok' })
  await rm(auditDir, { recursive: true })
  await writeFile(auditDir, 'no directory any more')
  const payload = { index_name: 'a', dim: 4, space_type: 'l2' }
  t.equal((await app.inject({ method: 'POST', url: '/api/v1/index/create', payload })).statusCode, 200)
  await audit.close()
  t.match((await app.inject('/api/v1/health')).json(), {
    status: 'degraded',
    reasons: [/^the audit log cannot be written \([A-Z]+\)$/],
  })
})

test('the chain continues after a crash in the first line of a day', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  let now = Date.parse('2026-01-31T23:59:59Z')
  const before = new AuditLog(dir, () => now)
  await before.open()
  before.record(event('before'))
  await before.close()
  now += 86_400_000
  await writeFile(path.join(dir, 'audit-20260201.log'), '{"ts":"2026-02-01T')
  const after = new AuditLog(dir, () => now)
  await after.open()
  after.record(event('after'))
  await after.close()
  t.strictSame(await verifyAudit(dir), { lines: 2, fault: undefined })
})

test('the chain continues after a failed write, whatever part of its lines it left', async (t) => {
  const parent = await temporaryDirectory(t)
  const dir = path.join(parent, 'audit')
  const audit = new AuditLog(dir)
  await audit.open()
  audit.record(event('before'))
  await audit.close()
  const [name] = await readdir(dir)
  await rename(dir, path.join(parent, 'aside'))
  audit.record(event('lost'))
  await audit.close()
  t.match(audit.fault, /cannot be written/)
  await rename(path.join(parent, 'aside'), dir)
  await appendFile(path.join(dir, name!), '{"ts":"2026')
  audit.record(event('after'))
  await audit.close()
  t.strictSame(await verifyAudit(dir), { lines: 2, fault: undefined })
})

test('events wait until the log is open, up to a limit, and then the gap is recorded', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  const audit = new AuditLog(dir)
  for (let i = 0; i < 1_000; i++) audit.record(event(`early.${i}`))
  t.equal(audit.fault, undefined)
  audit.record(event('one too many'))
  t.match(audit.fault, /faster/)
  await mkdir(dir, { recursive: true })
  await audit.open()
  await audit.close()
  t.strictSame(await verifyAudit(dir), { lines: 1_000, fault: undefined })
})

test('events that arrive during a write are bounded, and are written together in their order', async (t) => {
  const dir = path.join(await temporaryDirectory(t), 'audit')
  const audit = new AuditLog(dir)
  await audit.open()
  // The first is being written, 1,000 wait, and no more.
  for (let i = 0; i < 1_001; i++) audit.record(event(`${i}`))
  t.equal(audit.fault, undefined)
  audit.record(event('one too many'))
  t.match(audit.fault, /faster/)
  await audit.close()
  t.strictSame(await verifyAudit(dir), { lines: 1_001, fault: undefined })
  const lines = await linesIn(dir)
  t.strictSame(
    lines.map(({ action }) => action),
    Array.from({ length: 1_001 }, (_, i) => `${i}`),
  )
  t.ok(new Set(lines.map(({ ts }) => ts)).size <= 2, 'two writes')
})

test('each action of the control plane, and each refusal, is one line that names the database', async (t) => {
  const dir = await temporaryDirectory(t)
  const rootToken = 'a-root-token-that-nobody-may-see'
  const engine = await openEngine({ dataDir: dir, threads: 1 })
  await layLicense(dir)
  const audit = new AuditLog(path.join(dir, 'audit'))
  await audit.open()
  const config = { ...readConfig({}).config, rootToken, logLevel: 'silent' as const }
  const app = createApp({ slot: slotWith(engine), config, audit, licensing: await testLicensing(dir, engine) })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  const ask = (authorization: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
    app.inject({ method, url: `/api/v2${url}`, headers: { authorization }, ...(payload && { payload }) })
  const token = (await ask(rootToken, 'POST', '/admin/dbs', { db_name: 'acme' })).json().db_token as string
  await ask(rootToken, 'PUT', '/admin/dbs/acme/type', { db_type: 'pro' })
  await ask(rootToken, 'POST', '/admin/dbs/acme/tokens', { name: 'web', token_type: 'r' })
  await ask(token, 'POST', '/tokens', { name: 'own' })
  await ask(token, 'DELETE', '/tokens/own')
  await ask(token, 'GET', '/admin/dbs')
  await ask(token, 'DELETE', '/collection/absent')
  await ask(rootToken, 'POST', '/admin/dbs/acme/deactivate')
  await ask(rootToken, 'POST', '/admin/dbs/acme/activate')
  await ask(rootToken, 'DELETE', '/admin/dbs/acme/tokens/web')
  await ask(rootToken, 'DELETE', '/admin/dbs/acme')
  await ask(rootToken, 'POST', '/license/generate', { email: 'someone@example.com' })
  await audit.close()
  const lines = await linesIn(path.join(dir, 'audit'))
  t.strictSame(
    lines.map(({ action, object, database, status }) => [action, object ?? '-', database ?? '-', status].join(' ')),
    [
      'database.create acme - 201',
      'database.type - acme 200',
      'token.create web acme 201',
      'token.create own acme 201',
      'token.delete own acme 200',
      'access.refused - acme 403',
      'collection.delete absent acme 404',
      'database.deactivate - acme 200',
      'database.activate - acme 200',
      'token.delete web acme 200',
      'database.delete - acme 200',
      'license.generate - - 200',
    ],
  )
  const secrets = [rootToken, token, token.slice('acme:'.length), 'someone@example.com']
  for (const secret of secrets) t.notMatch(JSON.stringify(lines), secret)
  t.strictSame(await verifyAudit(path.join(dir, 'audit')), { lines: 12, fault: undefined })
})
