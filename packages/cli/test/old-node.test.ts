// Every command that a package installs refuses a Node.js that is too old: one sentence, which names both versions, and exit code 78.
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'

const packages = path.resolve(import.meta.dirname, '../..')
const oldVersion = 'Object.defineProperty(process.versions, "node", { value: "20.19.0" })'
const asNode20 = `--import=data:text/javascript,${encodeURIComponent(oldVersion)}`

interface Package {
  readonly name: string
  readonly type?: string
  readonly engines: { readonly node: string }
  readonly bin?: Readonly<Record<string, string>>
}

test('every command refuses a Node.js that is too old', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-old-node-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  let commands = 0
  for (const file of globSync('*/package.json', { cwd: packages })) {
    const { bin = {}, engines } = JSON.parse(readFileSync(path.join(packages, file), 'utf8')) as Package
    for (const [command, program] of Object.entries(bin)) {
      // As installed: without sources, which a checkout has.
      const installed = path.join(folder, command)
      cpSync(path.join(packages, file), path.join(installed, 'package.json'))
      cpSync(path.join(packages, path.dirname(file), path.dirname(program)), path.join(installed, 'bin'), {
        recursive: true,
      })
      const run = promisify(execFile)(
        process.execPath,
        [path.join(installed, 'bin', path.basename(program)), '--help'],
        {
          env: { PATH: process.env.PATH, NODE_OPTIONS: asNode20 },
        },
      )
      const ended = await run.then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
      )
      const needed = `${engines.node.slice(2)}.0`
      const sentence = `${command}: Annal needs Node.js ${needed} or newer, and this process runs on 20.19.0\n`
      t.strictSame(ended, { code: 78, stdout: '', stderr: sentence }, command)
      commands++
    }
  }
  t.ok(commands >= 2, `${commands} commands`)
})
