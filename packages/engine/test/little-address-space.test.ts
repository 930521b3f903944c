// If a process has address space for fewer fields than hold data, a start serves the collections that fit. A write to another one is
// rejected with the name of its field before it is appended. With more address space, all collections open.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { takenByProcess } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { roomLeft } from '../src/health.ts'

tap.setTimeout(300_000)

const skip = takenByProcess() === undefined && 'the system has no /proc to read limits from'
const gibibyteInKilobytes = 2 ** 20
/** The process itself needs about 60 GiB. */
const little = 260 * gibibyteInKilobytes
const collections = 31

async function run(dataDir: string, act: string, limit: number | 'unlimited') {
  const program = fileURLToPath(new URL('little-address-space-program.ts', import.meta.url))
  const args = ['--conditions=annal-source', program, dataDir, act, `${collections}`]
  const { NODE_OPTIONS: _, ...env } = process.env
  const shell = ['-c', `ulimit -v ${limit} && exec "$0" "$@"`, process.execPath, ...args]
  const { stdout } = await promisify(execFile)('/bin/sh', shell, { env })
  return stdout === '' ? undefined : JSON.parse(stdout)
}

for (const from of ['a checkpoint', 'the log'] as const)
  test(`more fields than address space, from ${from}`, { skip }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-address-space-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const dataDir = join(dir, 'data')
    await run(dataDir, 'fill', 'unlimited')
    if (from === 'the log') await rm(join(dataDir, 'checkpoints'), { recursive: true })
    const poor = await run(dataDir, 'refuse', little)
    t.comment(JSON.stringify(poor))
    t.ok(poor.ready > 5 && poor.ready < collections, 'some serve')
    t.equal(poor.answered, poor.ready)
    t.match(poor.refusal, { code: 'memory_exhausted', message: /field "v".*address space/, field: 'v', appended: 0 })
    t.ok(poor.reasons.length > 0, 'health says so')
    const rich = await run(dataDir, 'look', 'unlimited')
    t.match(rich, { ready: collections, answered: collections, reasons: [] })
  })

test('health reports the number of fields when only a few more fit', async (t) => {
  t.same(roomLeft(89, 100), [])
  t.match(roomLeft(90, 100), [/90 fields hold data; the address space of this process is enough for about 100/])
})
