// The clock of the system jumps under a real process, by libfaketime: expired objects are hidden, nothing is deleted, and the health says so.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { until } from './rig.ts'

const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const library = `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`
const skip = existsSync(library) ? false : 'libfaketime is not installed'

interface State {
  readonly count: number
  readonly clockJumps: number
  readonly deleted: number
  readonly isDeleting: boolean
  readonly reasons: readonly string[]
}

function start(t: Test, dataDir: string, clockFile: string) {
  const env = {
    ...process.env,
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const program = fileURLToPath(new URL('faketime-program.ts', import.meta.url))
  const args = ['--conditions=annal-source', program, dataDir]
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async state(): Promise<State> {
      child.stdin.write('\n')
      const { value } = await lines.next()
      return JSON.parse(value as string)
    },
    async close(): Promise<void> {
      child.stdin.end()
      await ended
    },
  }
}

test('a clock that jumps hides objects and deletes nothing', { skip, timeout: 300_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-faketime-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const [dataDir, clockFile] = [join(dir, 'data'), join(dir, 'clock')]
  await writeFile(clockFile, '+0')
  let engine = start(t, dataDir, clockFile)
  t.match(await engine.state(), { count: 2, clockJumps: 0, reasons: [] })
  await writeFile(clockFile, '+2h')
  await until(async () => (await engine.state()).clockJumps === 1)
  t.match(await engine.state(), { count: 1, deleted: 0, isDeleting: false, reasons: [/clock jumped 7200 s forward/] })
  await writeFile(clockFile, '-2h')
  await until(async () => (await engine.state()).clockJumps === 2)
  t.match(await engine.state(), { count: 2, deleted: 0, reasons: [/clock jumped 14400 s back/] })
  await engine.close()
  // After a downtime, nothing is a jump.
  await writeFile(clockFile, '+2h')
  engine = start(t, dataDir, clockFile)
  t.match(await engine.state(), { count: 1, clockJumps: 0, deleted: 0, reasons: [] })
  await engine.close()
})
