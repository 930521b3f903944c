// `node scripts/run.mjs --built scripts/node-versions.ts [VERSION ...]`: runs what a user runs on each version of Node.js that is
// supported: the packed packages in a project of their own, with the examples of the engine, the client, and the server, `require`, a
// bundle as the guide shows it, the command, and every block of README and the guides, whose Python programs use the wheel in an environment
// of its own; and compares the digest of the text analyzer. Then `npm start` in this checkout with the Node.js that is first on the path.
// HOME is an empty folder. Prints a line for each and exits with 1 if one fails. Downloads the versions from the registry.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import S3rver from 's3rver'
import { type Place, pages, pythonWith, runPage, toRun } from '../docs/test/run-page.ts'
import { packAll } from './pack.ts'
import { packPython, pythonWithHatchling } from './pack-python.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const given = process.argv.slice(2)
const versions = given.length > 0 ? given : ['22', '24', '26']

const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
const anyPort = { NDD_SERVER_PORT: '0' }

const embeddedClient = `import { openEmbedded } from '@annal/client/embedded'
const client = await openEmbedded({ dataDir: './inside' })
const songs = await client.createIndex({ name: 'songs', dimension: 2 })
await songs.upsert([{ id: 'so-what', vector: [1, 2] }])
console.log(await songs.query({ vector: [1, 2] }))
await client.close()`

const requiring = `const { openEngine } = require('@annal/engine')
openEngine({ dataDir: './data' }).then(async (engine) => {
  await engine.close()
  console.log('required')
})`

const folder = await mkdtemp(path.join(os.tmpdir(), 'annal-node-versions-'))
const environment = { PATH: process.env.PATH, HOME: path.join(folder, 'home'), NDD_NUM_THREADS: '1' }
try {
  const project = await installProject()
  const python = await installPython()
  for (const version of versions) {
    const node = await installNode(version)
    await checkVersion(node, project)
    await checkPages(node, project, python)
  }
  await checkStart()
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** A project with the packed packages and esbuild, as a user has it. */
async function installProject(): Promise<string> {
  const project = path.join(folder, 'project')
  await makeFolder(project, { name: 'stranger', private: true, type: 'module' })
  const tarballs = await packAll(path.join(folder, 'tarballs'))
  const { devDependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const wanted = [...tarballs, `esbuild@${devDependencies.esbuild}`]
  await run('npm', ['install', '--ignore-scripts', '--prefer-offline', ...quiet, ...wanted], { cwd: project })
  return project
}

/** Resolves to the program. */
async function installNode(version: string): Promise<string> {
  const dir = path.join(folder, `node-${version}`)
  // Its install script puts the binary in place.
  await makeFolder(dir, { private: true, allowScripts: { node: true } })
  // That script calls npm once more, without these options.
  const env = {
    ...process.env,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  }
  await run('npm', ['install', ...quiet, `node@${version}`], { cwd: dir, env })
  return path.join(dir, 'node_modules', '.bin', 'node')
}

async function checkVersion(node: string, project: string): Promise<void> {
  const name = (await run(node, ['--version'])).stdout.trim()
  const program = async (file: string, code: string) => {
    await writeFile(path.join(project, file), code)
    return run(node, [path.join(project, file)], { cwd: project, env: environment })
  }
  for (const dir of ['data', 'inside']) await rm(path.join(project, dir), { recursive: true, force: true })
  const example = await readmeExample('engine')
  await check(`${name}: the example of the engine`, async () =>
    expect((await program('embedded.mjs', example)).stdout, /the-tyger/),
  )
  await check(`${name}: the client on the embedded engine`, async () =>
    expect((await program('inside.mjs', embeddedClient)).stdout, /so-what/),
  )
  await check(`${name}: require('@annal/engine')`, async () => {
    const required = await program('required.cjs', requiring).catch(
      (failed: { readonly stderr: string }) => failed.stderr,
    )
    if (typeof required !== 'string') return expect(required.stdout, /required/)
    // Node.js cannot require a module that waits while it loads, and says so.
    expect(required, /import\(\)/)
    return `refused: ${/Error.*?: (.*)/.exec(required)?.[1]}`
  })
  await check(`${name}: a bundle of esbuild`, async () => {
    await writeFile(path.join(project, 'app.mjs'), example)
    await program('bundle.mjs', await bundler())
    const alone = path.join(folder, 'alone')
    await rename(path.join(project, 'bundle'), alone)
    try {
      return expect(
        (await run(node, [path.join(alone, 'app.mjs')], { cwd: alone, env: environment })).stdout,
        /the-tyger/,
      )
    } finally {
      await rm(alone, { recursive: true })
    }
  })
  await check(`${name}: the digest of the text analyzer`, async () => {
    const corpus = path.join(root, 'packages', 'engine', 'test', 'text', 'corpus.ts')
    return expect((await run(node, ['--conditions=annal-source', corpus])).stdout, /same digest/)
  })
  if (name.startsWith('v22.')) {
    await check(`${name}: the tables of the text analyzer`, async () => {
      await run(node, [path.join(root, 'packages', 'engine', 'scripts', 'make-text-tables.mjs'), '--check'])
      return 'as its script makes them'
    })
  }
  const annal = path.join(project, 'node_modules', 'annal', 'dist', 'annal.js')
  const command = (...args: string[]) => run(node, [annal, ...args], { cwd: project, env: environment })
  await check(`${name}: annal verify`, async () => expect((await command('verify', './data')).stdout, /good/))
  await check(`${name}: annal doctor`, async () =>
    expect((await command('doctor', './data', '--port', '0')).stdout, /no problems found/),
  )
  await check(`${name}: annal serve`, () =>
    serves(spawn(node, [annal, 'serve', '-d', './data'], { cwd: project, env: { ...environment, ...anyPort } })),
  )
}

/** The wheel in an environment of its own, which has its dependencies from the system. Resolves to its Python, or to undefined. */
async function installPython(): Promise<string | undefined> {
  const system = pythonWith('requests', 'msgpack', 'httpx', 'venv')
  if (system === undefined || pythonWithHatchling() === undefined) return undefined
  const [, wheel = ''] = (await packPython(path.join(folder, 'python'))).toReversed()
  const environment = path.join(folder, 'venv')
  await run(system, ['-m', 'venv', '--system-site-packages', environment])
  const python = path.join(environment, 'bin', 'python')
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', wheel])
  return python
}

/** Every block of README and the guides, with the installed packages. */
async function checkPages(node: string, project: string, python: string | undefined): Promise<void> {
  const name = (await run(node, ['--version'])).stdout.trim()
  const bin = path.join(folder, `bin-${name}`)
  await run('mkdir', ['-p', bin])
  const command = path.join(bin, 'annal')
  const entry = path.join(project, 'node_modules', 'annal', 'bin', 'annal.js')
  await writeFile(command, `#!/bin/sh\nexec "${node}" "${entry}" "$@"\n`, { mode: 0o755 })
  const bucket = await startBucket()
  const place: Place = {
    ...{ node, python: python ?? 'python3', pythonPath: '' },
    path: [bin, path.dirname(node)],
    modules: path.join(project, 'node_modules'),
    addresses: { 'http://127.0.0.1:9000': bucket.address },
  }
  try {
    for (const page of pages) {
      const steps = toRun(page)
      if (steps.length === 0) continue
      if (python === undefined && steps.some(({ language }) => language === 'python')) {
        console.log(
          `skipped ${name}: ${page}: needs python3-requests python3-msgpack python3-httpx python3-venv python3-hatchling`,
        )
        continue
      }
      await check(`${name}: ${page}`, async () => {
        const missing = await runPage(steps, place)
        if (missing.length > 0) throw new Error(missing.join('\n'))
        return `${steps.length} blocks`
      })
    }
  } finally {
    await bucket.stop()
  }
}

/** The bucket of the guide to backups. */
async function startBucket(): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const server = new S3rver({
    ...{ address: '127.0.0.1', port: 0, silent: true, directory: path.join(folder, 'bucket') },
    configureBuckets: [{ name: 'annal-backups', configs: [] }],
  })
  const { port } = await server.run()
  return { address: `http://127.0.0.1:${port}`, stop: () => server.close() }
}

/** `npm start` as in a checkout: the scripts install and use a Node.js of their own. */
async function checkStart(): Promise<void> {
  const own = path.join(root, 'node_modules', '.bin')
  const elsewhere = (process.env.PATH ?? '').split(path.delimiter).filter((dir) => path.resolve(dir) !== own)
  const env = {
    ...process.env,
    ...anyPort,
    PATH: elsewhere.join(path.delimiter),
    NDD_DATA_DIR: path.join(folder, 'start'),
  }
  const { stdout } = await run('node', ['--version'], { env })
  await check(`${stdout.trim()}: npm start in the checkout`, () => serves(spawn('npm', ['start'], { cwd: root, env })))
}

/** Waits until the server answers, and ends it. */
async function serves(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit')
  const lines: string[] = []
  child.stderr?.on('data', (bytes: Buffer) => void lines.push(bytes.toString()))
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const address = /https?:\/\/\S+/.exec(line)?.[0]
    if (address === undefined || !line.includes('serves')) continue
    const health = (await (await fetch(`${address}/api/v2/health`)).json()) as { readonly status: string }
    child.kill('SIGTERM')
    const [code] = (await ended) as [number | null]
    if (health.status !== 'ok' || code !== 0) throw new Error(`health ${health.status}, exit code ${code}`)
    return 'health ok, exit code 0'
  }
  throw new Error(`it did not serve: ${lines.join('')}`)
}

async function check(what: string, attempt: () => Promise<string>): Promise<void> {
  try {
    console.log(`ok      ${what}: ${await attempt()}`)
  } catch (error) {
    process.exitCode = 1
    console.log(`failed  ${what}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function expect(text: string, pattern: RegExp): string {
  if (pattern.test(text)) return 'good'
  throw new Error(`${pattern} is not in ${JSON.stringify(text.slice(0, 400))}`)
}

async function makeFolder(dir: string, manifest: object): Promise<void> {
  await run('mkdir', ['-p', dir])
  await writeFile(path.join(dir, 'package.json'), JSON.stringify(manifest))
}

async function readmeExample(name: string): Promise<string> {
  const text = await readFile(path.join(root, 'packages', name, 'README.md'), 'utf8')
  return /^```ts\n([\s\S]*?)^```/m.exec(text)?.[1] ?? ''
}

/** The program that the guide shows. */
async function bundler(): Promise<string> {
  const guide = await readFile(path.join(root, 'docs', 'guide', 'embedded.md'), 'utf8')
  return /^## Bundles\n[\s\S]*?^```\n([\s\S]*?)^```/m.exec(guide)?.[1] ?? ''
}
