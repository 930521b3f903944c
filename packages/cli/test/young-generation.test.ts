// However a server is started, the part of V8's heap for new objects is capped.
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { semiSpaceMiB } from '../src/young-generation.ts'
import { freshDir, serve } from './command.ts'

const skip = existsSync('/proc/self/cmdline') && process.execve !== undefined ? false : 'needs /proc and process.execve'
const flag = `--max-semi-space-size=${semiSpaceMiB}`

function argumentsOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
}

test('annal serve replaces its process by one with the cap, once', { skip }, async (t) => {
  const { address, child, stop } = await serve(t, freshDir(t))
  const given = argumentsOf(child.pid as number)
  t.strictSame(
    given.filter((argument) => argument.includes('semi-space')),
    [flag],
  )
  t.ok(given.includes('--conditions=annal-source') && given.includes('--data-dir'), 'what it was started with stays')
  t.match(await (await fetch(`${address}/api/v2/health`)).json(), { status: 'ok' })
  t.match(await stop(), { code: 0 }, 'signals reach it')
})

test('a cap that somebody chose stays', { skip }, async (t) => {
  const { child, stop } = await serve(t, freshDir(t), { NODE_OPTIONS: '--max_semi_space_size=4' })
  t.notOk(argumentsOf(child.pid as number).some((argument) => argument.includes('semi')))
  t.match(await stop(), { code: 0 })
})

test('npm start has the same cap', async (t) => {
  t.match(readFileSync(new URL('../../../scripts/start.mjs', import.meta.url), 'utf8'), `'${flag}'`)
})
