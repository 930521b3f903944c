// The Python client's own tests, with the system's Python and the packages that Debian has: python3-requests, python3-msgpack,
// python3-pytest, and where they are there python3-numpy, python3-mypy and python3-hatchling.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../', import.meta.url))
const environment = {
  ...process.env,
  PYTHONPATH: path.join(home, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  ANNAL_NODE: process.execPath,
}

/** The first Python that has the modules; the system's may have them where another one is first on the path. */
function pythonWith(...modules: readonly string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find((python) => {
    try {
      execFileSync(python, ['-c', modules.map((name) => `import ${name}`).join('\n')], { stdio: 'ignore' })
      return true
    } catch {
      // Not there, or without one of the modules.
      return false
    }
  })
}

const python = pythonWith('requests', 'msgpack', 'pytest')
const typed = pythonWith('requests', 'msgpack', 'mypy')
const builder = pythonWith('hatchling.build')

function unless(found: string | undefined, packages: string): { readonly skip: string | false } {
  return { skip: found === undefined ? `needs ${packages}` : false }
}

test(
  'its tests pass against the real server',
  unless(python, 'python3-requests python3-msgpack python3-pytest'),
  async (t) => {
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=short']
    const { stdout } = await run(python ?? '', args, { cwd: home, env: environment })
    t.match(stdout, /\d+ passed/)
    t.comment(stdout.trim().split('\n').at(-1) ?? '')
  },
)

test('its types hold', unless(typed, 'python3-mypy'), async (t) => {
  const { stdout } = await run(
    typed ?? '',
    ['-m', 'mypy', `--cache-dir=${path.join(os.tmpdir(), 'annal-mypy-cache')}`, 'src'],
    {
      cwd: home,
      env: environment,
    },
  )
  t.match(stdout, 'Success')
})

test('it builds a wheel and a source distribution', unless(builder, 'python3-hatchling'), async (t) => {
  const out = mkdtempSync(path.join(os.tmpdir(), 'annal-wheel-'))
  t.teardown(() => rmSync(out, { recursive: true }))
  const code = `from hatchling import build; build.build_wheel(${JSON.stringify(out)}); build.build_sdist(${JSON.stringify(out)})`
  await run(builder ?? '', ['-c', code], { cwd: home, env: environment })
  t.match(readdirSync(out).sort(), [/^annal-.*-py3-none-any\.whl$/, /^annal-.*\.tar\.gz$/])
  const wheel = readdirSync(out).find((name) => name.endsWith('.whl')) ?? ''
  const list = `import zipfile; print(*zipfile.ZipFile(${JSON.stringify(path.join(out, wheel))}).namelist(), sep="\\n")`
  const { stdout } = await run(builder ?? '', ['-c', list])
  t.match(stdout, /^annal\/py\.typed$/m)
  t.notMatch(stdout, 'tests/')
})
