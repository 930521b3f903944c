// `npx annal` in a checkout after `npm install`, before anything is built. The checkout is a small one whose build only records that it
// ran.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { after, test } from 'tap'

const run = promisify(execFile)
const cli = fileURLToPath(new URL('../', import.meta.url))
const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'annal-checkout-test-')))
after(() => rmSync(folder, { recursive: true }))

/** The output of a Node.js that is too old. */
const asNode20 = `--import=data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })",
)}`

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
  writeFileSync(path.join(folder, file), text)
}

const setup = `import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
export const node = process.execPath
export const ensureInstalled = async () => {}
export async function turbo(task) {
  console.error('ran', task)
  const dist = new URL('../packages/cli/dist/', import.meta.url)
  mkdirSync(dist)
  writeFileSync(new URL('annal.js', dist), 'console.log("annal", ...process.argv.slice(2)); process.exitCode = 3')
}
export const run = (command, args) => new Promise((resolve) => {
  const { NODE_OPTIONS, ...env } = process.env
  spawn(command, args, { stdio: 'inherit', env }).on('close', resolve)
})
export const runMain = (main) => main(process.argv.slice(2)).then((code) => { process.exitCode = code })
`

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function annal(args: readonly string[], nodeOptions = ''): Promise<Ended> {
  const command = path.join(folder, 'node_modules', '.bin', 'annal')
  const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, NODE_OPTIONS: nodeOptions }
  return run(command, args, { cwd: folder, env }).then(
    (ended) => ({ code: 0, ...ended }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  )
}

test('in a checkout npm links the command, which builds what is missing and keeps standard output clean', async (t) => {
  const manifest = JSON.parse(readFileSync(path.join(cli, 'package.json'), 'utf8')) as { readonly bin: object }
  write('package.json', '{"name":"house","private":true,"workspaces":["packages/*"]}')
  write(
    'packages/cli/package.json',
    JSON.stringify({ name: 'annal', version: '1.0.0', type: 'module', bin: manifest.bin }),
  )
  write('packages/cli/src/annal.ts', '')
  write('scripts/setup.mjs', setup)
  cpSync(path.join(cli, 'bin'), path.join(folder, 'packages/cli/bin'), { recursive: true })
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder })
  t.match(await annal(['serve', '--help']), { code: 3, stdout: 'annal serve --help\n', stderr: 'ran build\n' })
  t.strictSame(await annal(['x']), { code: 3, stdout: 'annal x\n', stderr: '' }, 'what is built is run')
  t.strictSame(await annal(['x'], asNode20), { code: 3, stdout: 'annal x\n', stderr: '' }, 'also with an old Node.js')
})

test('an installed package says which Node.js it needs', async (t) => {
  rmSync(path.join(folder, 'packages/cli/src'), { recursive: true, force: true })
  const ended = await annal(['x'], asNode20)
  t.match(ended, {
    code: 78,
    stdout: '',
    stderr: /needs Node\.js 22\.12\.0 or newer, and this process runs on 20\.19\.0/,
  })
})
