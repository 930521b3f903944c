// The install paths of the guides in a container that has Node.js and nothing else: the npm packages are installed from their files, with a
// network for the registry, and then run without any network. It needs a Docker engine, `npm run build`, and ANNAL_LONG=1.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { after, test } from 'tap'
import { packAll } from '../../scripts/pack.ts'
import { skipDocker } from './docker-engine.ts'

const run = promisify(execFile)
const house = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-container-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const image = 'node:24-bookworm-slim'

/** Runs a script in a new container whose only folder from outside is the project. */
async function inContainer(network: string, script: string): Promise<string> {
  const project = ['--volume', `${folder}:/project`, '--workdir', '/project', '--env', 'HOME=/tmp/home']
  const args = ['run', '--rm', '--network', network, ...project, image, 'sh', '-euc', script]
  return (await run('docker', args, { maxBuffer: 2 ** 26 })).stdout
}

function readmeProgram(name: string): string {
  const text = readFileSync(path.join(house, 'packages', name, 'README.md'), 'utf8')
  return /^```ts\n([\s\S]*?)^```/m.exec(text)?.[1] ?? ''
}

test('packages install in a bare container, and the command, the library, and the client run without a network', {
  skip: skipDocker,
  timeout: 900_000,
}, async (t) => {
  await packAll(path.join(folder, 'tarballs'))
  mkdirSync(path.join(folder, 'programs'))
  writeFileSync(path.join(folder, 'package.json'), '{"name":"stranger","private":true,"type":"module"}\n')
  writeFileSync(path.join(folder, 'programs', 'embedded.ts'), readmeProgram('engine'))
  writeFileSync(path.join(folder, 'programs', 'client.ts'), readmeProgram('client'))
  await inContainer('host', 'npm install --no-audit --no-fund --loglevel=error ./tarballs/*.tgz')

  t.match(await inContainer('none', 'npx --no annal --version'), /^\d+\.\d+\.\d+/)
  t.match(await inContainer('none', 'node programs/embedded.ts'), 'the-tyger')
  const served = await inContainer(
    'none',
    [
      'npx --no annal serve -d /tmp/data > /tmp/server.log 2>&1 &',
      'health="fetch(\'http://127.0.0.1:8080/api/v2/health\').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"',
      'until node -e "$health"; do kill -0 $!; sleep 0.2; done',
      'node programs/client.ts',
    ].join('\n'),
  )
  t.match(served, /so-what 0\.9/)
})
