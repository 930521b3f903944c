// Runs the Python client's tests with the system's Python and the packages of Debian: python3-requests, python3-msgpack,
// python3-pytest, and, if installed, python3-numpy, python3-mypy and python3-hatchling.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { pythonEnvironment, pythonHome, pythonWith } from './python.ts'

const run = promisify(execFile)

const python = pythonWith('requests', 'msgpack', 'pytest')
const typed = pythonWith('requests', 'msgpack', 'httpx', 'mypy')
const builder = pythonWith('hatchling.build')

function unless(found: string | undefined, packages: string): { readonly skip: string | false } {
  return { skip: found === undefined ? `needs ${packages}` : false }
}

test(
  'its tests pass against the real server',
  unless(python, 'python3-requests python3-msgpack python3-pytest'),
  async (t) => {
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=short']
    const { stdout } = await run(python ?? '', args, { cwd: pythonHome, env: pythonEnvironment })
    t.match(stdout, /\d+ passed/)
    t.comment(stdout.trim().split('\n').at(-1) ?? '')
  },
)

test('its types hold', unless(typed, 'python3-mypy'), async (t) => {
  const { stdout } = await run(
    typed ?? '',
    ['-m', 'mypy', `--cache-dir=${path.join(os.tmpdir(), 'annal-mypy-cache')}`, 'src'],
    {
      cwd: pythonHome,
      env: pythonEnvironment,
    },
  )
  t.match(stdout, 'Success')
})

test('it builds a wheel and a source distribution', unless(builder, 'python3-hatchling'), async (t) => {
  const out = mkdtempSync(path.join(os.tmpdir(), 'annal-wheel-'))
  t.teardown(() => rmSync(out, { recursive: true }))
  const code = `from hatchling import build; build.build_wheel(${JSON.stringify(out)}); build.build_sdist(${JSON.stringify(out)})`
  await run(builder ?? '', ['-c', code], { cwd: pythonHome, env: pythonEnvironment })
  t.match(readdirSync(out).sort(), [/^annal-.*-py3-none-any\.whl$/, /^annal-.*\.tar\.gz$/])
  const wheel = readdirSync(out).find((name) => name.endsWith('.whl')) ?? ''
  const list = `import zipfile; print(*zipfile.ZipFile(${JSON.stringify(path.join(out, wheel))}).namelist(), sep="\\n")`
  const { stdout } = await run(builder ?? '', ['-c', list])
  t.match(stdout, /^annal\/py\.typed$/m)
  t.notMatch(stdout, 'tests/')
})
