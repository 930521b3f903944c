// The systemd unit: how much of the machine it leaves to the server, and that the server needs no more. Where systemd does not run, the server
// runs under what the unit stands for: no rights, a read-only file system except its directory, its own /tmp; its system calls are compared
// with the filter of the unit.
import { execFileSync } from 'node:child_process'
import { chownSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { eventually } from '../../packages/server/test/eventually.ts'
import { send } from '../../packages/server/test/running-app.ts'
import { startProcess } from '../../packages/server/test/running-process.ts'
import { answers } from './docker-engine.ts'
import { tracedBy } from './traced-by.ts'

tap.setTimeout(300_000)

const unit = fileURLToPath(new URL('../annal.service', import.meta.url))
const skipAnalyze = answers('systemd-analyze', '--version') ? false : 'needs systemd-analyze'
/** Exposure as systemd-analyze counts it, 0 to 10. */
const exposureMax = 1.5

test('the unit leaves little to the server', { skip: skipAnalyze }, async (t) => {
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', unit], { encoding: 'utf8' })
  const exposure = Number(/Overall exposure level for annal\.service: ([\d.]+)/.exec(report)?.[1])
  t.comment(`exposure ${exposure}`)
  t.ok(exposure <= exposureMax, report)
})

/** The values of a key, each line and word. */
function valuesOf(key: string): string[][] {
  const lines = readFileSync(unit, 'utf8').matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))
  return [...lines].map(([, value = '']) => value.split(' '))
}

/** What the lines of SystemCallFilter= allow, in their order. */
function allowedCalls(): Set<string> {
  const groups = new Map<string, string[]>()
  let calls: string[] = []
  for (const line of execFileSync('systemd-analyze', ['syscall-filter'], { encoding: 'utf8' }).split('\n')) {
    const name = /^(@[\w-]+)/.exec(line)?.[1]
    if (name !== undefined) {
      calls = []
      groups.set(name, calls)
    } else if (/^ +[@\w]/.test(line)) calls.push(line.trim())
  }
  const expand = (name: string): string[] => (name.startsWith('@') ? (groups.get(name) ?? []).flatMap(expand) : [name])
  const allowed = new Set(expand('@default'))
  for (const [first = '', ...others] of valuesOf('SystemCallFilter')) {
    const denies = first.startsWith('~')
    for (const call of [first.replace('~', ''), ...others].flatMap(expand)) {
      if (denies) allowed.delete(call)
      else allowed.add(call)
    }
  }
  return allowed
}

const program = ['unshare', 'setpriv', 'strace'].find((name) => !answers(name, '--version'))
const skipSandbox =
  program !== undefined
    ? `needs ${program}`
    : process.getuid?.() === 0 && answers('unshare', '-m', 'true')
      ? skipAnalyze
      : 'needs root and mounts'

test('the server works with the rights of the unit, and calls nothing that its filter refuses', {
  skip: skipSandbox,
}, async (t) => {
  const home = await mkdtemp('/var/tmp/annal-unit-')
  chownSync(home, 65_534, 65_534)
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const summary = path.join(home, 'calls')
  const sandbox = [
    'mount --make-rprivate /',
    `mount --bind ${home} ${home}`,
    'mount -o remount,bind,ro /',
    'mount -t tmpfs tmpfs /tmp',
    'chmod 1777 /tmp',
    'exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs "$@"',
  ].join(' && ')
  const trace = ['strace', '-f', '-C', '-e', 'trace=all', '-e', 'quiet=all', '-o', summary]
  const through = ['unshare', '-m', 'sh', '-c', sandbox, 'sh', ...trace]
  const settings = { NDD_DATA_DIR: path.join(home, 'data'), NODE_COMPILE_CACHE: '/tmp/compile-cache', HOME: home }
  const running = startProcess({ ...settings, NDD_NUM_SERVER_THREADS: '2', NDD_NUM_THREADS: '2' }, undefined, through)
  t.teardown(() => {
    for (const pid of tracedBy(running.child)) process.kill(pid, 'SIGKILL')
    running.child.kill('SIGKILL')
  })
  const url = await running.serving

  const fields = [{ name: 'v', type: 'vector', params: { dimension: 8, space_type: 'l2' } }]
  t.equal((await send(url, 'POST', '/api/v2/collection', { json: { name: 'docs', fields } })).status, 200)
  const objects = Array.from({ length: 600 }, (_, n) => ({
    id: `${n}`,
    fields: { v: Array.from({ length: 8 }, (__, at) => Math.sin(n * (at + 1))) },
  }))
  t.equal((await send(url, 'POST', '/api/v2/collection/docs/objects', { json: { objects } })).status, 200)
  const query = { fields: { v: { query: Array.from({ length: 8 }, (_, at) => Math.sin(7 * (at + 1))), limit: 1 } } }
  const found = await send(url, 'POST', '/api/v2/collection/docs/search', { json: query, accept: 'application/json' })
  t.match(found.json(), { results: { v: [{ id: '7' }] } })
  t.equal((await send(url, 'POST', '/api/v2/collection/docs/backup', { json: { name: 'b' } })).status, 202)
  await eventually(async () => /^annal_backups 1$/m.test((await send(url, 'GET', '/metrics')).text) || undefined)
  t.throws(() => readFileSync('/tmp/compile-cache'), 'its /tmp is its own')

  for (const pid of tracedBy(running.child)) process.kill(pid, 'SIGTERM')
  t.equal((await running.ended).code, 0)

  const text = readFileSync(summary, 'utf8')
  const table = text.slice(text.lastIndexOf('% time'))
  const called = [...table.matchAll(/^ *[\d.]+ .* ([a-z]\w+)$/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'total')
  t.ok(called.length > 40, `${called.length} system calls`)
  const allowed = allowedCalls()
  t.same(
    called.filter((name) => !allowed.has(name)),
    [],
    'the filter allows every system call of the server',
  )
  const families = new Set([...text.matchAll(/\bsocket(?:pair)?\((AF_\w+)/g)].map(([, family = '']) => family))
  t.ok(families.has('AF_INET'))
  const [declared = []] = valuesOf('RestrictAddressFamilies')
  t.same(
    [...families].filter((family) => !declared.includes(family)),
    [],
  )
  t.same(valuesOf('MemoryDenyWriteExecute'), [], 'V8 writes code and executes it')
})
