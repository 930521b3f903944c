// One owner per directory: races have one winner, dead owners are replaced, running ones never are.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, Socket } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { xxh64 } from '../src/checksum.ts'
import { acquireLock, lockHolder, WalError } from '../src/index.ts'
import { directoryKey, nodeVfs } from '../src/node-vfs.ts'
import { processAt } from '../src/process-facts.ts'
import { faultVfs } from '../src/testing/index.ts'
import { patient, sized } from './patience.ts'

interface Helper {
  readonly child: ChildProcess
  send(command: string): Promise<string>
}

/** `through` is a command that runs the one that follows it. */
function helper(t: { teardown(fn: () => void): void }, through: readonly string[] = []): Helper {
  const script = fileURLToPath(new URL('./lock-process.ts', import.meta.url))
  const [program = '', ...args] = [...through, process.execPath, '--conditions=annal-source', script]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: Interface = createInterface({ input: child.stdout })
  return {
    child,
    async send(command) {
      child.stdin.write(`${command}\n`)
      const [line] = await once(lines, 'line')
      return String(line)
    },
  }
}

function directory(t: { teardown(fn: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), 'annal-lock-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const codeOf = (error: unknown) => (error instanceof WalError ? error.code : String(error))

test(
  'of two processes that start at once exactly one wins, and the other is refused and changes nothing',
  patient,
  async (t) => {
    const [a, b] = [helper(t), helper(t)]
    let races = 0
    for (; races < sized(100, 1000); races++) {
      const dir = directory(t)
      const answers = await Promise.all([a.send(`take ${dir}`), b.send(`take ${dir}`)])
      if (answers.sort().join() !== 'directory_locked 73,won') t.fail(`race ${races}: ${answers.join()}`)
      const owner: unknown = JSON.parse(readFileSync(join(dir, 'LOCK'), 'utf8'))
      t.match(owner, { host: hostname() })
      await Promise.all([a.send('release'), b.send('release')])
      if (existsSync(join(dir, 'LOCK'))) t.fail('the lock was not released')
    }
    t.pass(`${races} races`)
  },
)

test('a killed owner is replaced at once, a running one never', patient, async (t) => {
  for (let i = 0; i < sized(5, 100); i++) {
    const dir = directory(t)
    const owner = helper(t)
    t.equal(await owner.send(`take ${dir}`), 'won')
    await t.rejects(acquireLock(dir), { code: 'directory_locked', details: { pid: owner.child.pid } })
    owner.child.kill('SIGKILL')
    await once(owner.child, 'exit')
    const lock = await acquireLock(dir)
    await lock.release()
    await lock.release()
  }
})

test('an old LOCK file is judged by pid, start time, boot, host and directory', async (t) => {
  const dir = directory(t)
  const path = join(dir, 'LOCK')
  const lock = await acquireLock(dir)
  const own: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
  await lock.release()
  const outcome = async (change: Record<string, unknown>) => {
    writeFileSync(path, JSON.stringify({ ...own, ...change }))
    try {
      const taken = await acquireLock(dir)
      await taken.release()
      return 'taken'
    } catch (error) {
      return codeOf(error)
    }
  }
  t.equal(await outcome({}), 'directory_locked', 'a process that lives')
  t.equal(await outcome({ started: '1' }), 'taken', 'its pid belongs to another process now')
  t.equal(await outcome({ pid: 2 ** 22 - 1 }), 'taken', 'no such process')
  t.equal(await outcome({ boot: 'another' }), 'taken', 'the machine was started again')
  t.equal(await outcome({ host: 'elsewhere' }), 'directory_locked', 'a host whose state cannot be checked')
  t.equal(await outcome({ host: 'elsewhere', boot: 'another' }), 'directory_locked', 'that host may be running')
  t.equal(await outcome({ directory: '1:2' }), 'taken', 'it came with a copy of a directory in use')
  writeFileSync(path, '{"pid":')
  const cut = await acquireLock(dir)
  await cut.release()
  writeFileSync(path, JSON.stringify({ ...own, host: 'elsewhere' }))
  const forced = await acquireLock(dir, { force: true })
  await forced.release()
})

/** Runs a command as a container does: with pids and a network of its own, and with the host name of all containers of its kind. */
const inContainer = ['unshare', '--pid', '--net', '--fork', '--kill-child', '--mount-proc']

test('a process of another container that runs or is stopped is never replaced, one that ended always is', {
  ...patient,
  skip: spawnSync(inContainer[0] ?? '', [...inContainer.slice(1), 'true']).status !== 0 && 'needs the right to unshare',
}, async (t) => {
  // Longer than the path of a socket may be.
  const dir = join(directory(t), 'd'.repeat(120))
  mkdirSync(dir)
  const [a, b] = [helper(t, inContainer), helper(t, inContainer)]
  t.equal(await a.send(`take ${dir}`), 'won')
  t.equal(await b.send(`take ${dir}`), 'directory_locked 73')
  await t.rejects(acquireLock(dir), { code: 'directory_locked' }, 'from outside of containers')
  const inside = Number(readFileSync(`/proc/${a.child.pid}/task/${a.child.pid}/children`, 'latin1'))
  process.kill(inside, 'SIGSTOP')
  t.equal(await b.send(`take ${dir}`), 'directory_locked 73', 'its owner is stopped')
  t.match(await lockHolder(dir), { isGone: false })
  process.kill(inside, 'SIGKILL')
  await once(a.child, 'exit')
  t.match(await lockHolder(dir), { isGone: true })
  t.equal(await b.send(`take ${dir}`), 'won')
  t.equal(readdirSync(dir).filter((name) => name.endsWith('.socket')).length, 1, 'the socket of the first was removed')
  t.equal(await b.send('release'), 'released')
  t.same(readdirSync(dir), [])

  const outside = await acquireLock(dir)
  t.equal(await b.send(`take ${dir}`), 'directory_locked 73', 'its owner is in no container')
  await outside.release()
})

test('on a full disk a lock gets its space from the old file, or from the reserve', async (t) => {
  const dir = directory(t)
  const room = { files: 0 }
  const vfs = faultVfs(nodeVfs(), ({ call, path }) => {
    if (!path.startsWith(join(dir, 'LOCK'))) return undefined
    if (call === 'remove' && path.endsWith('-old')) room.files++
    return call === 'write' && room.files-- <= 0 ? { errno: 'ENOSPC' } : undefined
  })
  await t.rejects(acquireLock(dir, { vfs }), { code: 'ENOSPC' })
  t.same(readdirSync(dir), [], 'nothing is left')
  const makeRoom = async () => {
    room.files = 1
    return true
  }
  const reserved = await acquireLock(dir, { vfs, makeRoom })
  const left = readFileSync(join(dir, 'LOCK'), 'utf8')
  await reserved.release()
  room.files = 0
  writeFileSync(join(dir, 'LOCK'), left.replace(/"started":"\d+"/, '"started":"1"'))
  const taken = await acquireLock(dir, { vfs })
  await taken.release()
})

test('a directory copied while it is in use can be opened', async (t) => {
  const dir = directory(t)
  const lock = await acquireLock(dir)
  const copy = `${dir}-copy`
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(dir, copy, { recursive: true })
  const second = await acquireLock(copy)
  await second.release()
  await lock.release()
})

test('a directory that was deleted while it was locked refuses no directory of later', async (t) => {
  const waits: (number | undefined)[] = []
  const locks = []
  // A file system may give the inode of the deleted directory to the next one, which then had the same key.
  for (let i = 0; i < 20; i++) {
    const dir = directory(t)
    locks.push(await acquireLock(dir, { onWait: (pid) => waits.push(pid) }))
    rmSync(dir, { recursive: true })
  }
  t.same(waits, [])
  for (const lock of locks) await lock.release()
})

/** Binds the socket of a directory without a LOCK: the state in the last moment of a process that exits. */
async function bindSocketOf(dir: string): Promise<() => Promise<void>> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen({ path: `\0annal-${xxh64(Buffer.from(directoryKey(dir))).toString(16)}` }, resolve)
  })
  return () => new Promise((resolve) => server.close(() => resolve()))
}

test('an exiting owner is waited for, with a notice', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const dir = directory(t)
  const release = await bindSocketOf(dir)
  const waits: (number | undefined)[] = []
  const lock = await acquireLock(dir, {
    onWait: (pid) => {
      waits.push(pid)
      void release()
    },
  })
  t.same(waits, [undefined], 'said once')
  await lock.release()

  const owner = helper(t)
  await owner.send(`take ${dir}`)
  const text = readFileSync(join(dir, 'LOCK'), 'utf8')
  owner.child.kill('SIGKILL')
  await once(owner.child, 'exit')
  writeFileSync(join(dir, 'LOCK'), text)
  const again = await bindSocketOf(dir)
  const after = await acquireLock(dir, {
    onWait: (pid) => {
      waits.push(pid)
      void again()
    },
  })
  t.same(waits, [undefined, owner.child.pid], 'by its number where that is known')
  await after.release()
})

test('a process that ended but was not reaped does not hold a directory', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const dir = directory(t)
  const path = join(dir, 'LOCK')
  const lock = await acquireLock(dir)
  const own: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
  await lock.release()
  // A child of a shell that became another program, which never reaps its child.
  const script = 'cat <&3 & echo $!; exec sleep 600'
  const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
  t.teardown(() => parent.kill('SIGKILL'))
  const pid = Number(String((await once(parent.stdout as Readable, 'data'))[0]))
  while (!readFileSync(`/proc/${parent.pid}/comm`, 'utf8').startsWith('sleep')) await new Promise(setImmediate)
  const input = parent.stdio[3]
  if (input instanceof Socket) input.destroy()
  let found = await processAt(pid)
  while (found?.isEnding === false) found = await processAt(pid)
  t.ok(found?.isEnding, 'it is there, and ended')
  writeFileSync(path, JSON.stringify({ ...own, pid, started: found?.started }))
  const taken = await acquireLock(dir)
  await taken.release()
})
