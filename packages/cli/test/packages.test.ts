// The published packages as a user installs them: tarballs in an empty project, without this repository.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { after, before, type Test, test } from 'tap'
import { neededFolders, readLock } from '../../../scripts/install-locked.ts'
import { packAll, publishedPackages } from '../../../scripts/pack.ts'
import { packagesBom } from '../../../scripts/release/sbom.ts'

const run = promisify(execFile)
const packages = fileURLToPath(new URL('../../', import.meta.url))
// Outside this repository, where Node.js would find missing dependencies of the project.
const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'annal-packages-test-')))
const project = path.join(folder, 'project')
let tarballs: readonly string[] = []
after(() => rmSync(folder, { recursive: true }))

before(async () => {
  tarballs = await packAll(path.join(folder, 'tarballs'))
  mkdirSync(project)
  writeFileSync(path.join(project, 'package.json'), '{"name":"stranger","private":true,"type":"module"}\n')
  const args = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', [...args, ...tarballs], { cwd: project })
})

/** Runs a program of the project with the given Node.js. */
function program(name: string, code: string, node: string = process.execPath) {
  const file = path.join(project, name)
  writeFileSync(file, code)
  return run(node, [file], { cwd: project, env: { PATH: process.env.PATH, NDD_NUM_THREADS: '1' } })
}

/** What a program that fails prints to standard error. */
function failureOf(running: Promise<unknown>): Promise<string> {
  return running.then(
    () => 'it did not fail',
    ({ stderr }: { readonly stderr: string }) => stderr,
  )
}

function readmeExample(name: string): string {
  const text = readFileSync(path.join(packages, name, 'README.md'), 'utf8')
  return /^```ts\n([\s\S]*?)^```/m.exec(text)?.[1] ?? ''
}

const embedded = `import { openEmbedded } from '@annal/client/embedded'
const client = await openEmbedded({ dataDir: './inside' })
const songs = await client.createIndex({ name: 'songs', dimension: 2 })
await songs.upsert([{ id: 'so-what', vector: [1, 2] }])
console.log(await songs.query({ vector: [1, 2] }))
await client.close()`

async function quickStartsWork(t: Test, node: string) {
  for (const dir of ['data', 'inside']) rmSync(path.join(project, dir), { recursive: true, force: true })
  const { stdout } = await program('embedded.mjs', readmeExample('engine'), node)
  t.match(stdout, 'the-tyger')
  await program('log.mjs', readmeExample('wal'), node)
  t.match((await program('inside.mjs', embedded, node)).stdout, 'so-what')
  const server = readmeExample('server').replace("'8080'", "'0'").replace("'./data'", "'./served'")
  const client = readmeExample('client').replace("'http://127.0.0.1:8080'", 'server.address')
  const imports = /^import .*\n/gm
  const both = server.replace('await server.stop()', `${client.replace(imports, '')}\nawait server.stop()`)
  const started = await program('server.mjs', `${client.match(imports)?.join('')}${both}`, node)
  t.match(started.stdout, /http:\/\/127\.0\.0\.1:\d+\nso-what 0\.9/)
  rmSync(path.join(project, 'served'), { recursive: true })
  const annal = path.join(project, 'node_modules', 'annal', 'dist', 'annal.js')
  t.match((await run(node, [annal, 'verify', './data'], { cwd: project })).stdout, 'good')
  t.match((await run(node, [annal, 'doctor', './data', '--port', '0'], { cwd: project })).stdout, 'no problems found')
}

test('the examples of every package work in an empty project without a compiler', (t) =>
  quickStartsWork(t, process.execPath))

test('they work on Node.js 22, too', {
  skip: process.env.ANNAL_LONG ? false : 'downloads another Node.js; set ANNAL_LONG=1',
}, async (t) => {
  const other = path.join(folder, 'node-22')
  mkdirSync(other)
  // Its install script puts the binary in place.
  writeFileSync(path.join(other, 'package.json'), '{"private":true,"allowScripts":{"node":true}}')
  await run('npm', ['install', '--no-audit', '--no-fund', 'node@22'], { cwd: other })
  const node = path.join(other, 'node_modules', '.bin', 'node')
  t.match((await run(node, ['--version'])).stdout, /^v22\./)
  await quickStartsWork(t, node)
})

test('every package that is not private is packed', async (t) => {
  const found = readdirSync(packages).filter((name) => {
    const file = path.join(packages, name, 'package.json')
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).private !== true
  })
  t.strictSame(found.sort(), [...publishedPackages].sort())
})

test('npx finds the command, which serves ./data at once', async (t) => {
  const { stdout } = await run('npx', ['--no', 'annal', '--version'], { cwd: project })
  t.match(stdout, /^\d+\.\d+\.\d+/)
  const annal = path.join(project, 'node_modules', '.bin', 'annal')
  const environment = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, NDD_SERVER_PORT: '0' }
  const server = spawn(annal, [], { cwd: project, env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'close')
  for await (const line of createInterface({ input: server.stdout })) {
    t.match(line, `with data in ${path.join(project, 'data')}`)
    const health = await fetch(`${/http:\S+/.exec(line)?.[0]}/api/v2/health`)
    t.match(await health.json(), { status: 'ok' })
    server.kill('SIGTERM')
  }
  t.strictSame((await ended)[0], 0)
})

test('every package states what a registry shows, and nothing that only this repository needs', async (t) => {
  const { version } = JSON.parse(readFileSync(path.join(packages, 'cli', 'package.json'), 'utf8'))
  for (const [i, name] of publishedPackages.entries()) {
    const read = (entry: string) => run('tar', ['-xzOf', tarballs[i] ?? '', `package/${entry}`])
    const manifest = JSON.parse((await read('package.json')).stdout)
    t.match(
      manifest,
      {
        name: name === 'cli' ? 'annal' : `@annal/${name}`,
        version,
        description: /^[A-Z].{20,}/,
        license: 'MIT',
        type: 'module',
        engines: { node: '>=22.12' },
        publishConfig: { access: 'public' },
      },
      name,
    )
    t.ok(manifest.keywords.length >= 4, `${name}: keywords`)
    for (const member of ['scripts', 'devDependencies', 'private', 'workspaces'])
      t.notOk(member in manifest, `${name}: ${member}`)
    for (const kind of ['dependencies', 'peerDependencies'])
      for (const [other, range] of Object.entries(manifest[kind] ?? {}))
        if (/^(annal$|@annal\/)/.test(other))
          t.equal(range, version, `${name} needs exactly its own version of ${other}`)
    t.match((await read('LICENSE')).stdout, /^MIT License/)
    const { stdout } = await run('tar', ['-tzf', tarballs[i] ?? ''])
    const entries = stdout.trim().split('\n')
    const targets = [...Object.values(manifest.bin ?? {}), ...Object.values(manifest.exports ?? {}).flatMap(targetsOf)]
    t.strictSame(
      targets.filter((target) => !entries.includes(path.posix.join('package', target as string))),
      [],
      `${name}: every entry point is in the tarball`,
    )
    const listed = (await run('tar', ['-tvzf', tarballs[i] ?? ''])).stdout
    const programs = [...Object.values(manifest.bin ?? {}), ...(name === 'cli' ? ['./dist/annal.js'] : [])]
    for (const program of programs as string[])
      t.match(
        listed,
        new RegExp(`^-rwxr-xr-x .* package/${path.posix.normalize(program)}$`, 'm'),
        `${program} can be run`,
      )
    t.strictSame(
      entries.filter((entry) => /(\.tsx?$|\/src\/|\/test\/|tsbuildinfo)/.test(entry) && !entry.endsWith('.d.ts')),
      [],
      `${name}: no sources`,
    )
  }
})

/** The files of one entry of `exports`. */
function targetsOf(entry: unknown): string[] {
  return typeof entry === 'string' ? [entry] : Object.values(entry as Record<string, string>)
}

test('the list of components is what is installed', async (t) => {
  const { version } = JSON.parse(readFileSync(path.join(packages, 'cli', 'package.json'), 'utf8'))
  const release = { version, epoch: 1_700_000_000 }
  const bom = await packagesBom(tarballs, release)
  const lock = readLock()
  const needed = [...neededFolders(lock, 'packages/cli')]
  const here = needed.filter((folder) => existsSync(path.join(packages, '..', folder)))
  const names = here.map((folder) => `${nameIn(folder)}@${lock[folder]?.version}`)
  t.strictSame(
    bom.components.map((component) => `${component.name}@${component.version}`).sort(),
    [...new Set(names)].sort(),
  )
  t.match(bom.metadata, { timestamp: '2023-11-14T22:13:20.000Z', component: { name: 'annal', version } })
  t.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

/** The name of the package of a folder of the lock file. */
function nameIn(folder: string): string {
  return JSON.parse(readFileSync(path.join(packages, '..', folder, 'package.json'), 'utf8')).name
}

test('publint has nothing to say', async (t) => {
  for (const [i, name] of publishedPackages.entries()) {
    const bytes = readFileSync(tarballs[i] ?? '')
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true })
    t.strictSame(
      messages.map((message) => formatMessage(message, pkg, { color: false })),
      [],
      name,
    )
  }
})

test('types resolve wherever an ES module can be imported', async (t) => {
  for (const [i, name] of publishedPackages.entries()) {
    // These two are not imported.
    if (name === 'cli' || name === 'dashboard') continue
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarballs[i] ?? ''))))
    if (!analysis.types) return t.fail(`${name} has no types`)
    // CommonJS and the resolution of Node.js 10 support neither ES modules nor `exports`; versions before Node.js 22 are not supported.
    const problems = analysis.problems.filter(
      (problem) =>
        problem.kind !== 'CJSResolvesToESM' &&
        !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
    )
    const doors = problems.filter(
      (problem) => !('entrypoint' in problem && ['./main', './worker'].includes(problem.entrypoint)),
    )
    t.strictSame(doors, [], name)
  }
})

test('the client bundles for browsers, with nothing of Node.js in it', async (t) => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: "export * from '@annal/client'", resolveDir: project },
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'silent',
  })
  t.same(warnings, [])
  const code = outputFiles[0]?.text ?? ''
  // As the name of a module, not as a key.
  t.notMatch(code, /["'`]node:/)
  t.ok(code.length < 100_000, `${code.length} bytes`)
})

test('a bundle made as the guide shows runs without the packages, and says what is missing', async (t) => {
  const guide = readFileSync(path.join(packages, '..', 'docs', 'guide', 'embedded.md'), 'utf8')
  const bundler = /^## Bundles\n[\s\S]*?^```\n([\s\S]*?)^```/m.exec(guide)?.[1] ?? ''
  const example = readmeExample('engine')
  writeFileSync(path.join(project, 'app.mjs'), example)
  await program('bundle.mjs', bundler.replace("'esbuild'", `'${import.meta.resolve('esbuild')}'`))
  const alone = path.join(folder, 'alone')
  renameSync(path.join(project, 'bundle'), alone)
  const start = () =>
    run(process.execPath, [path.join(alone, 'app.mjs')], { cwd: alone, env: { NDD_NUM_THREADS: '1' } })
  t.match((await start()).stdout, 'the-tyger')
  for (const name of ['annal-worker.mjs', 'annal-relaxed.wasm']) {
    renameSync(path.join(alone, name), path.join(alone, 'away'))
    t.match(await failureOf(start()), new RegExp(`${name} of the engine was not found.*engine_file_missing`, 's'))
    renameSync(path.join(alone, 'away'), path.join(alone, name))
  }
  const stdin = { contents: "import '@annal/engine'", resolveDir: project }
  const required = build({ stdin, bundle: true, write: false, platform: 'node', format: 'cjs', logLevel: 'silent' })
  await t.rejects(required, /Top-level await/, 'the bundler refuses CommonJS')
})

test('types compile without skipLibCheck', async (t) => {
  const file = path.join(project, 'types.ts')
  const clients = ['@annal/client', '@annal/client/judging', '@annal/client/embedded']
  const doors = ['@annal/wal', '@annal/engine', '@annal/server', ...clients]
  writeFileSync(file, doors.map((door, i) => `export * as door${i} from '${door}'\n`).join(''))
  const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
  const types = fileURLToPath(new URL('../../../node_modules/@types', import.meta.url))
  const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'es2024']
  const args = [tsc, ...options, '--typeRoots', types, '--types', 'node', file]
  const { stdout } = await run(process.execPath, args, { cwd: project }).catch((failed: { stdout: string }) => failed)
  t.strictSame(stdout, '')
})

test('a tarball holds what runs, and nothing else', async (t) => {
  for (const name of ['wal', 'engine', 'server', 'client']) {
    const dir = path.join(project, 'node_modules', '@annal', name)
    const kept = readdirSync(dir).filter((entry) => entry !== 'node_modules')
    t.strictSame(
      kept.sort(),
      [
        ...(name === 'engine' || name === 'server' ? ['kernel'] : []),
        ...(name === 'wal' ? ['bin'] : []),
        ...(name === 'engine' ? ['LICENSE-stop-words.txt'] : []),
        'LICENSE',
        'README.md',
        'dist',
        'package.json',
      ].sort(),
    )
    t.notMatch(readFileSync(path.join(dir, 'package.json'), 'utf8'), 'annal-source')
  }
})
