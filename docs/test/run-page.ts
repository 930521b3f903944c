// Runs the commands and programs of one page as a reader would, against the sources or against installed packages.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { missing, type Step, scriptOf, stepsOf } from './code-blocks.ts'

const house = fileURLToPath(new URL('../../', import.meta.url))

/** Blocks that are not run here, by their first words, and the reason. */
export const leftOut: readonly { readonly page: string; readonly begins: string; readonly why: string }[] = [
  {
    page: 'README.md',
    begins: 'npm start',
    why: 'packages/cli/test/checkout.test.ts runs it in a checkout',
  },
  {
    page: 'README.md',
    begins: 'npm run demo',
    why: 'packages/client/test/demo.test.ts runs a short form of it',
  },
  {
    page: 'README.md',
    begins: 'npm test',
    why: 'it runs this test',
  },
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
    page: 'docs/guide/kubernetes.md',
    begins: '',
    why: 'docker/test/kubernetes-guide.test.ts runs it where there is kubectl',
  },
  {
    page: 'packages/client-python/README.md',
    begins: 'from annal import Annal\n\nroot',
    why: 'ROOT_TOKEN is for the reader',
  },
]

/** Pages that another test runs, which also checks their output. */
export const elsewhere: Readonly<Record<string, string>> = {
  'docs/guide/quick-start.md': 'packages/client/test/guide.test.ts',
  'docs/guide/backup-and-restore.md': 'packages/cli/test/backup-guide.test.ts',
}

export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(path.join(house, 'docs/guide'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/guide/${name}`),
  ...['client', 'engine', 'client-python'].map((name) => `packages/${name}/README.md`),
]

/** The blocks of a page that are run. */
export function toRun(page: string): Step[] {
  const out = leftOut.filter((block) => block.page === page)
  return stepsOf(path.join(house, page)).filter(({ code }) => !out.some(({ begins }) => code.startsWith(begins)))
}

/** What a page finds on the machine of its reader. */
export interface Place {
  /** The command that runs a TypeScript file. */
  readonly node: string
  readonly python: string
  /** Folders with `annal` and `node`, before those of the system. */
  readonly path: readonly string[]
  /** The node_modules of the reader's project. */
  readonly modules: string
  readonly pythonPath: string
  /** Addresses in the page that are replaced, such as that of a bucket. */
  readonly addresses?: Readonly<Record<string, string>>
}

const startsServer = /annal serve/

/** Resolves to the lines of output that the page shows and nothing printed. Rejects if the script fails. */
export async function runPage(steps: readonly Step[], place: Place): Promise<string[]> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-docs-test-'))
  const port = await freePort()
  const addresses = Object.entries({ ...place.addresses, '127.0.0.1:8080': `127.0.0.1:${port}` })
  const here = (text: string) => addresses.reduce((result, [from, to]) => result.replaceAll(from, to), text)
  symlinkSync(place.modules, path.join(dir, 'node_modules'))
  const fileOf = ({ language, code }: Step, index: number) => {
    const file = `step-${index}.${language === 'ts' ? 'ts' : 'py'}`
    writeFileSync(path.join(dir, file), language === 'ts' ? here(code) : addressed(code, port))
    return file
  }
  const script = here(scriptOf(steps, fileOf, place))
  const server = steps.some(({ code }) => startsServer.test(code)) ? '' : startServer(port)
  try {
    const { stdout, stderr, code } = await shell(server + script, {
      cwd: dir,
      env: {
        PATH: [...place.path, process.env.PATH].join(path.delimiter),
        HOME: dir,
        NDD_SERVER_PORT: String(port),
        NDD_SERVER_URL: `http://127.0.0.1:${port}`,
        NDD_NUM_THREADS: '1',
        NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS ?? '1',
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
        PYTHONPATH: place.pythonPath,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    })
    if (code !== 0) throw new Error(`the script ended with ${code}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`)
    return missing(steps, stdout)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Runs a bash script as its own process group, of which nothing is left afterwards. */
async function shell(script: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    ...options,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { stdout, stderr, code: code as number | null }
  } finally {
    endGroup(child.pid)
  }
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

/** Returns a Python that has all of the modules. */
export function pythonWith(...modules: readonly string[]): string | undefined {
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
