// However a server is started, the part of V8's heap for new objects is capped.
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { commandProgram } from '../../server/test/programs.ts'
import { allocatorSettings, semiSpaceMiB } from '../src/young-generation.ts'
import { freshDir, serve } from './command.ts'

const skip = existsSync('/proc/self/cmdline') && process.execve !== undefined ? false : 'needs /proc and process.execve'
const flag = `--max-semi-space-size=${semiSpaceMiB}`

function argumentsOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
}

/** The settings of the allocator in the environment of a process. */
function settingsOf(pid: number): Readonly<Record<string, string>> {
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  return Object.fromEntries(
    environment.map((one) => one.split('=') as [string, string]).filter(([name]) => name.startsWith('MALLOC_')),
  )
}

test('annal serve replaces its process by one with the cap, once', { skip }, async (t) => {
  const { address, child, stop } = await serve(t, freshDir(t))
  const given = argumentsOf(child.pid as number)
  t.strictSame(
    given.filter((argument) => argument.includes('semi-space')),
    [flag],
  )
  t.ok(
    commandProgram.every((argument) => given.includes(argument)) && given.includes('--data-dir'),
    'what it was started with stays',
  )
  t.strictSame(settingsOf(child.pid as number), allocatorSettings)
  t.match(await (await fetch(`${address}/api/v2/health`)).json(), { status: 'ok' })
  t.match(await stop(), { code: 0 }, 'signals reach it')
})

test('a cap that somebody chose stays', { skip }, async (t) => {
  const { child, stop } = await serve(t, freshDir(t), { NODE_OPTIONS: '--max_semi_space_size=4' })
  t.notOk(argumentsOf(child.pid as number).some((argument) => argument.includes('semi')))
  t.match(await stop(), { code: 0 })
})

test('a setting of the allocator that somebody chose stays', { skip }, async (t) => {
  const { child, stop } = await serve(t, freshDir(t), { MALLOC_MMAP_THRESHOLD_: '65536' })
  t.equal(settingsOf(child.pid as number).MALLOC_MMAP_THRESHOLD_, '65536')
  t.match(await stop(), { code: 0 })
})

test('npm start has the same cap', async (t) => {
  t.match(readFileSync(new URL('../../../scripts/start.mjs', import.meta.url), 'utf8'), `'${flag}'`)
})
