// Runs every command and every program of the guides and of the packages' pages, and compares their output with the page.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import tap, { type Test, test } from 'tap'
import { missing, type Step, scriptOf, stepsOf } from './code-blocks.ts'

// The limit of the whole file; a loaded machine is slow.
tap.setTimeout(900_000)

const house = fileURLToPath(new URL('../../', import.meta.url))

/** Blocks that are not run here, by their first words, and the reason. */
const leftOut: readonly { readonly page: string; readonly begins: string; readonly why: string }[] = [
  {
    page: 'docs/guide/install.md',
    begins: 'npm install\nnpx annal',
    why: 'packages/cli/test/checkout.test.ts runs it in a checkout, packages.test.ts as installed',
  },
  {
    page: 'docs/guide/install.md',
    begins: 'npm install && npm run build',
    why: 'packages/cli/test/packages.test.ts makes the tarballs and installs them in an empty project',
  },
  {
    page: 'docs/guide/install.md',
    begins: 'docker/',
    why: 'docker/test/install.test.ts runs it where there is Docker',
  },
  {
    page: 'packages/client-python/README.md',
    begins: 'from annal import Annal\n\nroot',
    why: 'ROOT_TOKEN is for the reader',
  },
]

/** Pages that another test runs, which also checks their output. */
const elsewhere: Readonly<Record<string, string>> = {
  'README.md': 'packages/client/test/guide.test.ts',
  'docs/guide/quick-start.md': 'packages/client/test/guide.test.ts',
  'docs/guide/backup-and-restore.md': 'packages/cli/test/backup-guide.test.ts',
}
const startsServer = /annal serve/

const pages = [
  ...readdirSync(path.join(house, 'docs/guide'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/guide/${name}`),
  ...['client', 'engine', 'client-python'].map((name) => `packages/${name}/README.md`),
]
const python = pythonWith('requests', 'msgpack', 'httpx')

for (const page of pages.filter((page) => elsewhere[page] === undefined)) {
  const steps = toRun(page)
  if (steps.length === 0) continue
  const isPython = steps.some(({ language }) => language === 'python')
  const skip = isPython && python === undefined ? 'needs python3-requests python3-msgpack python3-httpx' : false
  test(`${page}: ${steps.length} blocks`, { skip, timeout: 300_000 }, (t) => read(t, steps))
}

test('what is left out is there', async (t) => {
  for (const [page, runner] of Object.entries(elsewhere))
    t.match(readFileSync(path.join(house, runner), 'utf8'), page, `${runner} runs ${page}`)
  for (const { page, begins, why } of leftOut) {
    t.ok(
      stepsOf(path.join(house, page)).some(({ code }) => code.startsWith(begins)),
      `${page}: ${begins.split('\n')[0]} (${why})`,
    )
  }
})

function toRun(page: string): Step[] {
  const out = leftOut.filter((block) => block.page === page)
  return stepsOf(path.join(house, page)).filter(({ code }) => !out.some(({ begins }) => code.startsWith(begins)))
}

async function read(t: Test, steps: readonly Step[]): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-docs-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const port = await freePort()
  const here = (text: string) => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
  const command = path.join(dir, 'annal')
  const entry = path.join(house, 'packages/cli/src/annal.ts')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" --conditions=annal-source "${entry}" "$@"\n`)
  chmodSync(command, 0o755)
  symlinkSync(path.join(house, 'node_modules'), path.join(dir, 'node_modules'))
  const fileOf = ({ language, code }: Step, index: number) => {
    const file = `step-${index}.${language === 'ts' ? 'ts' : 'py'}`
    writeFileSync(path.join(dir, file), language === 'ts' ? here(code) : addressed(code, port))
    return file
  }
  const script = here(scriptOf(steps, fileOf)).replaceAll('python3 step', `${python} step`)
  const server = steps.some(({ code }) => startsServer.test(code)) ? '' : startServer(port)
  const { stdout, stderr, code } = await shell(t, server + script, {
    cwd: dir,
    env: {
      PATH: `${dir}:${path.dirname(process.execPath)}:${process.env.PATH}`,
      HOME: dir,
      NDD_SERVER_PORT: String(port),
      NDD_SERVER_URL: `http://127.0.0.1:${port}`,
      NDD_NUM_THREADS: '1',
      ...(process.env.ANNAL_SERVER_THREADS && { NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS }),
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      PYTHONPATH: path.join(house, 'packages/client-python/src'),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  })
  if (code !== 0) throw new Error(`the script ended with ${code}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`)
  t.same(missing(steps, stdout), [])
}

/** Runs a bash script as its own process group, which is ended when the test ends. */
async function shell(t: Test, script: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    ...options,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => endGroup(child.pid))
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { stdout, stderr, code: code as number | null }
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}

/** Starts the server that a page expects to be running. */
function startServer(port: number): string {
  return [
    'annal serve -d served > server.log 2>&1 & READERS_SERVER=$!',
    `until curl -fsS http://127.0.0.1:${port}/api/v2/health > health.json 2>&1; do kill -0 $READERS_SERVER; sleep 0.1; done`,
    '',
  ].join('\n')
}

/** A client without an address uses port 8080. */
function addressed(code: string, port: number): string {
  return code.replaceAll('Annal()', `Annal(base_url="http://127.0.0.1:${port}")`)
}

function pythonWith(...modules: readonly string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find((candidate) => {
    if (candidate.startsWith('/') && !existsSync(candidate)) return false
    try {
      execFileSync(candidate, ['-c', modules.map((name) => `import ${name}`).join('\n')], { stdio: 'ignore' })
      return true
    } catch {
      // Not installed, or without one of the modules.
      return false
    }
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
