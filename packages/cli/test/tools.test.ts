// serve, doctor, verify, waldump and repair in sequence on one directory.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { connect } from '@annal/client'
import { test } from 'tap'
import { annal, freshDir, serve } from './command.ts'

async function filled(t: Parameters<typeof freshDir>[0], dir: string, options: { readonly kill: boolean }) {
  const { address, child, stop } = await serve(t, dir)
  const films = await connect({ url: address }).createIndex({ name: 'films', dimension: 2 })
  for (let i = 0; i < 5; i += 1) await films.upsert([{ id: `film ${i}`, vector: [1, i] }])
  if (options.kill) child.kill('SIGKILL')
  return stop()
}

function tail(dir: string): string {
  const wal = path.join(dir, 'wal')
  const name = readdirSync(wal)
    .filter((file) => file !== 'TIP')
    .sort()
    .at(-1)
  return path.join(wal, String(name))
}

test('serve serves the directory it is given and ends cleanly; the tools find nothing wrong', async (t) => {
  const dir = freshDir(t)
  t.equal((await filled(t, dir, { kill: false })).code, 0)
  const verified = await annal(['verify', dir])
  t.equal(verified.code, 0)
  t.match(verified.out, /^good: \d+ records, LSN 1 to \d+, .*closed cleanly/)
  t.match(JSON.parse((await annal(['verify', dir, '--json'])).out), { isGood: true, findings: [] })
  t.match(
    (await annal(['verify', dir, '--deep'])).out,
    /^good: \d+ records, \d+ checkpoints?; the state built in \d+ ways/,
  )
  const lines = (await annal(['waldump', dir, '--from', '2', '--to', '3'])).out.trim().split('\n')
  const records = lines.map((line) => JSON.parse(line)).filter((line) => line.kind === 'record')
  t.strictSame(
    records.map(({ lsn }) => lsn),
    [2, 3],
  )
  const doctor = await annal(['doctor', dir, '--port', '0'])
  t.equal(doctor.code, 0, doctor.out + doctor.err)
  t.match(doctor.out, 'no problems found')
  t.match(doctor.out, / records in 1 segment, up to LSN /)
})

test('the doctor sees who has the directory open, and that a killed server is no matter', async (t) => {
  const dir = freshDir(t)
  const { address, child, stop } = await serve(t, dir)
  const { port } = new URL(address)
  const while_ = await annal(['doctor', dir, '--port', port, '--json'])
  t.equal(while_.code, 0, while_.out)
  const { findings } = JSON.parse(while_.out)
  t.match(findings.find(({ about }: { about: string }) => about === 'lock').what, `process ${child.pid} `)
  t.match(findings.find(({ about }: { about: string }) => about === 'port').what, 'an Annal server is running')
  t.match(findings.find(({ about }: { about: string }) => about === 'fields').what, /about \d+ fields that hold data/)
  t.equal((await annal(['verify', dir, '--deep'])).code, 73)
  const second = await annal(['serve', '--data-dir', dir, '--port', '0'])
  t.equal(second.code, 73, 'a second server is refused')
  t.match(second.err, `in use by process ${child.pid}`)
  child.kill('SIGKILL')
  await stop()
  const after = await annal(['doctor', dir, '--port', port])
  t.equal(after.code, 0)
  t.match(after.out, 'ended without closing')
})

test('damage is found by verify and doctor, refused by serve, and cut by repair only when that is said', async (t) => {
  const dir = freshDir(t)
  await filled(t, dir, { kill: true })
  const file = tail(dir)
  const bytes = readFileSync(file)
  const records = (await annal(['waldump', dir])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const hurt = records.filter(({ kind }) => kind === 'record')[3]
  bytes[hurt.offset + 40] = (bytes[hurt.offset + 40] as number) ^ 0xff
  writeFileSync(file, bytes)
  t.equal((await annal(['waldump', dir])).code, 65)
  const verified = await annal(['verify', dir])
  t.equal(verified.code, 65)
  t.match(verified.out, `LSN ${hurt.lsn}`)
  const deep = await annal(['verify', dir, '--deep'])
  t.equal(deep.code, 65)
  t.match(deep.out, /damage: .*\n {2}-> /)
  const doctor = await annal(['doctor', dir, '--port', '0'])
  t.equal(doctor.code, 65)
  t.match(doctor.out, `--truncate-at ${hurt.lsn}`)
  const refused = await annal(['serve', '--data-dir', dir, '--port', '0'])
  t.equal(refused.code, 65)
  t.equal((await annal(['repair', dir, '--truncate-at', String(hurt.lsn)])).code, 64)
  t.equal((await annal(['verify', dir])).code, 65, 'nothing was changed')
  const repaired = await annal(['repair', dir, '--truncate-at', String(hurt.lsn), '--accept-data-loss', '--json'])
  t.equal(repaired.code, 0, repaired.err)
  t.match(JSON.parse(repaired.out), { lsnLast: hurt.lsn - 1 })
  const { address } = await serve(t, dir)
  t.ok((await connect({ url: address }).listIndexes()).length <= 1)
})

test('a whole directory is restored as of a record next to the one in use', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const films = await connect({ url: address }).createIndex({ name: 'films', dimension: 2 })
  for (let i = 0; i < 5; i += 1) await films.upsert([{ id: `film ${i}`, vector: [1, i] }])
  const [from, to] = [path.join(dir, 'data'), path.join(dir, 'then')]
  const lines = (await annal(['waldump', from])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const upserts = lines.filter(({ kind, name }) => kind === 'record' && name === undefined)
  const restored = await annal(['restore', from, to, '--to-lsn', String(upserts.at(-3).lsn), '--json'])
  t.equal(restored.code, 0, restored.err)
  t.match(JSON.parse(restored.out), { directory: to, lsn: upserts.at(-3).lsn })
  const then = await serve(t, to)
  t.equal((await connect({ url: then.address }).index('films').describe()).count, 3)
  const again = await annal(['restore', from, to, '--whole'])
  t.equal(again.code, 64)
  t.match(again.err, 'already exists')
  const future = await annal(['restore', from, path.join(dir, 'never'), '--to-lsn', '999999'])
  t.equal(future.code, 76)
  t.notOk(existsSync(path.join(dir, 'never')))
  t.match((await annal(['archive', from])).out, 'has no archive')
})

test('the doctor names what is wrong and what to do', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await new Promise((resolve) => taken.once('listening', resolve))
  const address = taken.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  taken.on('connection', (socket) => socket.destroy())
  const found = await annal(['doctor', '/dev/null', '--port', port], { NDD_TOP_K_MAX: 'many', NDD_TYPO: '1' })
  t.equal(found.code, 65)
  t.match(found.out, /BAD port .*in use by another program\n.*-> stop it/)
  t.match(found.out, /BAD settings .*NDD_TOP_K_MAX must be a whole number/)
  t.match(found.out, /BAD directory .*is not a directory/)
})

test('wrong usage is reported with a hint at the help', async (t) => {
  for (const args of [
    ['frob'],
    ['serve', '--frob'],
    ['verify', 'a', 'b'],
    ['repair', '.'],
    ['waldump', '--from', 'x'],
  ]) {
    const { code, err, out } = await annal(args)
    t.equal(code, 64, args.join(' '))
    t.match(err, /--help|no such directory/)
    t.equal(out, '')
  }
  t.equal((await annal(['--help'])).code, 0)
  t.match((await annal(['help', 'repair'])).out, '--truncate-at')
  t.match((await annal(['--version'])).out, /^\d+\.\d+\.\d+\n$/)
})

test('a missing file of a checkpoint is found by verify and doctor, and the server starts without it', async (t) => {
  const dir = freshDir(t)
  await filled(t, dir, { kill: false })
  const checkpoints = path.join(dir, 'checkpoints')
  const newest = path.join(checkpoints, readdirSync(checkpoints).sort().at(-1) ?? '')
  const lost = readdirSync(newest).find((name) => name.endsWith('part-0.snap')) ?? ''
  rmSync(path.join(newest, lost))
  const doctor = await annal(['doctor', dir, '--port', '0'])
  t.equal(doctor.code, 1, doctor.out)
  t.match(doctor.out, new RegExp(`${lost} is missing`))
  t.match(doctor.out, '-> start the server: it ')
  const verified = await annal(['verify', dir, '--checkpoints'])
  t.equal(verified.code, 65)
  t.match(verified.out, new RegExp(`${lost} is missing`))
  const { address, stop } = await serve(t, dir)
  const health = (await (await fetch(`${address}/api/v2/health`)).json()) as { status: string; reasons?: string[] }
  t.equal(health.status, 'degraded')
  t.equal((await connect({ url: address }).index('films').describe()).count, 5)
  await stop()
  t.equal((await annal(['doctor', dir, '--port', '0'])).code, 0, 'the checkpoint that the stop took replaces it')
})

test('a path that is missing, or that is no data directory, is named by every tool', async (t) => {
  const dir = freshDir(t)
  const none = path.join(dir, 'none')
  const empty = path.join(dir, 'empty')
  mkdirSync(empty)
  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    ...['verify', 'waldump', 'archive'].map((tool) => [[tool, none], /no such directory: .*none/] as const),
    ...['verify', 'waldump'].map((tool) => [[tool, empty], /neither a data directory nor a log/] as const),
    [['verify', empty, '--checkpoints'], /not a data directory/],
    [['repair', empty, '--truncate-at', '1', '--accept-data-loss'], /neither a data directory nor a log/],
    [['restore', none, path.join(dir, 'to'), '--whole'], /not a data directory/],
  ]
  for (const [args, said] of refused) {
    const ended = await annal([...args])
    t.equal(ended.code, 64, args.join(' '))
    t.match(ended.err, said)
    t.notMatch(ended.err, /NDD_DATA_DIR|\n {4}at /, args.join(' '))
  }
  await filled(t, path.join(dir, 'data'), { kill: false })
  rmSync(path.join(dir, 'data', 'wal'), { recursive: true })
  for (const args of [['verify'], ['verify', '--checkpoints'], ['doctor', '--port', '0'], ['waldump']]) {
    const [tool = '', ...rest] = args
    const ended = await annal([tool, path.join(dir, 'data'), ...rest])
    t.equal(ended.code, 65, args.join(' '))
    t.match(ended.out + ended.err, /IDENTITY records a log/, args.join(' '))
  }
})
