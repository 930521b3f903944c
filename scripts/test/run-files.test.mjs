// Files next to each other: never more than there are cores, the longest first, and nothing of them is left.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'tap'
import { runFiles } from '../testing/run-files.mjs'

const tapOf = (body) => `${body}\nconsole.log('ok 1 - it\\n1..1')\n`

async function run(t, files, { weights = {}, cores = 2, alone = [], patience = 1 } = {}) {
  const folder = t.testdir(Object.fromEntries(Object.entries(files).map(([name, body]) => [name, tapOf(body)])))
  const own = Object.fromEntries(Object.entries(weights).map(([name, weight]) => [path.join(folder, name), weight]))
  const results = []
  const jobs = Object.keys(files).map((name) => ({ file: path.join(folder, name), alone: alone.includes(name) }))
  await runFiles(jobs, { weights: own, cores, seed: '7', patience, ended: (result) => results.push(result) })
  return { folder, resultOf: (name) => results.find(({ file }) => path.basename(file) === name) }
}

/** Notes when it begins and ends in a file that all of them share, and ends once `begun` of them have begun. */
const noted = (begun) => `
import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const log = new URL('log', import.meta.url)
appendFileSync(log, '+' + import.meta.url.replace(/.*\\//, '') + '\\n')
while (readFileSync(log, 'utf8').split('+').length <= ${begun}) await sleep(5)
appendFileSync(log, '-\\n')`

function mostAtOnce(log) {
  let [now, most] = [0, 0]
  for (const line of log.trim().split('\n')) {
    now += line.startsWith('+') ? 1 : -1
    most = Math.max(most, now)
  }
  return most
}

test('each file has the seed and a temporary folder of its own, which is gone afterwards', async (t) => {
  const body = `
import { writeFileSync } from 'node:fs'
import os from 'node:os'
writeFileSync(new URL(import.meta.url.replace(/mjs$/, 'json')), JSON.stringify([os.tmpdir(), process.env.ANNAL_SEED]))`
  const { folder, resultOf } = await run(t, { 'a.mjs': body, 'b.mjs': body })
  const said = ['a', 'b'].map((name) => JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8')))
  t.not(said[0][0], said[1][0])
  for (const [temporary, seed] of said) {
    t.equal(seed, '7')
    t.notOk(existsSync(temporary))
  }
  t.match(resultOf('a.mjs'), { passed: 1, failed: 0 })
})

test('the longest begin first, as many as there are cores', async (t) => {
  const names = ['a.mjs', 'b.mjs', 'c.mjs', 'd.mjs', 'e.mjs']
  const weights = Object.fromEntries(names.map((name, i) => [name, { seconds: i + 1, cpu: i + 1 }]))
  const { folder } = await run(t, Object.fromEntries(names.map((name) => [name, noted(2)])), { weights })
  const log = readFileSync(path.join(folder, 'log'), 'utf8')
  t.equal(mostAtOnce(log), 2)
  t.same(log.match(/\+.*/g).slice(0, 2).sort(), ['+d.mjs', '+e.mjs'])
})

test('files that mostly wait share a core, and one that measures runs alone and last', async (t) => {
  const names = ['a.mjs', 'b.mjs', 'c.mjs', 'd.mjs']
  const weights = Object.fromEntries(names.map((name) => [name, { seconds: 9, cpu: 1 }]))
  const { folder } = await run(t, Object.fromEntries(names.map((name) => [name, noted(3)])), {
    weights,
    alone: ['a.mjs'],
  })
  const log = readFileSync(path.join(folder, 'log'), 'utf8')
  t.equal(mostAtOnce(log), 3)
  t.match(log, /-\n\+a\.mjs\n-\n$/)
})

test('a file that needs a core is not passed by shorter ones that wait', async (t) => {
  const names = ['a.mjs', 'b.mjs', 'c.mjs', 'd.mjs', 'e.mjs']
  const weights = Object.fromEntries(
    names.map((name, i) => [name, { seconds: 9 - i, cpu: name === 'd.mjs' ? 9 - i : 1 }]),
  )
  const { folder } = await run(t, Object.fromEntries(names.map((name) => [name, noted(4)])), { weights })
  const log = readFileSync(path.join(folder, 'log'), 'utf8')
  t.equal(log.match(/\+.*/g).at(-1), '+e.mjs')
})

test('a file that leaves a process running fails, and the process is ended', async (t) => {
  const leaving = `
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const left = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'ignore' })
left.unref()
writeFileSync(new URL('pid', import.meta.url), String(left.pid))`
  const { folder, resultOf } = await run(t, { 'a.mjs': leaving })
  t.match(resultOf('a.mjs'), { passed: 1, failed: 1, failures: [/left processes running: .*setInterval/] })
  const pid = Number(readFileSync(path.join(folder, 'pid'), 'utf8'))
  const isThere = () => {
    try {
      process.kill(pid, 0)
      return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return false
    }
  }
  while (isThere()) await new Promise(setImmediate)
  t.pass('it is gone')
})

test('a file that crashes fails with what it said', async (t) => {
  const { resultOf } = await run(t, { 'a.mjs': `throw new Error('no good')` })
  t.match(resultOf('a.mjs'), { passed: 0, failed: 1 })
  t.match(resultOf('a.mjs').failures.join('\n'), /no good/)
})

test('a file that does not end is ended, and says where it waits', async (t) => {
  const endless = `
import { setTimeout as sleep } from 'node:timers/promises'
const until = async (check) => {
  while (!check()) await sleep(10)
}
setInterval(() => undefined, 1_000)
// Looking each of these up would take longer than the file has to end.
const wait = new Function('return async () => { await new Promise(() => undefined) }')()
globalThis.waiting = Array.from({ length: 3_000 }, wait)
await until(() => false)`
  const { resultOf } = await run(t, { 'a.mjs': endless }, { patience: 0.02 })
  const { failed, failures } = resultOf('a.mjs')
  t.equal(failed, 1)
  t.match(failures.join('\n'), /the file takes too long, and waits here:\n {2}/)
  t.match(failures.join('\n'), /a\.mjs:4: while \(!check\(\)\) await sleep/)
  t.match(failures.join('\n'), /a\.mjs:10: await until\(\(\) => false\)/)
  t.match(failures.at(-1), /did not end within 6 s/)
})

test('a test that times out says where it waits', async (t) => {
  const late = `
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'tap'
const server = createServer().listen(0)
test('it', { timeout: 50 }, async () => {
  await once(server, 'connection')
})
test('others', async () => server.close())`
  const folder = t.testdir({ 'a.mjs': late })
  const results = []
  await runFiles([{ file: path.join(folder, 'a.mjs') }], { weights: {}, seed: '7', ended: (one) => results.push(one) })
  t.match(results, [{ passed: 1, failed: 1 }])
  t.match(
    results[0].failures.join('\n'),
    /a test timed out, and waits here:\n.*a\.mjs:7: await once\(server, 'connection'\)/,
  )
})

test('the processor time of a file is that of it and its children, and not of files next to it', async (t) => {
  const busy = (ms) => `const { user } = process.cpuUsage(); while (process.cpuUsage().user < user + ${ms}_000);`
  const body = `
import { execFileSync } from 'node:child_process'
${busy(200)}
execFileSync(process.execPath, ['-e', '${busy(200)}'])`
  const waits = `await new Promise((resolve) => setTimeout(resolve, 1_000))`
  const { resultOf } = await run(t, { 'a.mjs': body, 'b.mjs': waits })
  const [a, b] = ['a.mjs', 'b.mjs'].map((name) => resultOf(name).cpu)
  t.ok(a >= 0.4, `${a} s`)
  t.ok(b > 0 && b < a - 0.2, `${b} s next to ${a} s`)
})
