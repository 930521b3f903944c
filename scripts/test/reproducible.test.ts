// Two builds have the same bytes, whatever the folder, the time, the umask, and the time zone. Here one npm package and the Python client are
// built; with ANNAL_LONG=1 all of them are, from clones of the commit. Images are built where a builder can set times.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { packOne } from '../pack.ts'
import { packPython, pythonWithHatchling } from '../pack-python.ts'
import { differences, digestsOf } from '../release/checksums.ts'
import { buildImages, missingForImages } from '../release/images.ts'
import { compareTwoBuilds } from '../release/reproduce.ts'
import { runStep } from '../release/run-step.ts'

// The limit of the whole file; a loaded machine is slow.
tap.setTimeout(3_600_000)

const root = fileURLToPath(new URL('../../', import.meta.url))
const bin = path.join(root, 'node_modules', '.bin')

/** What the build of one package reads, in a folder of its own. */
function copyOfPackage(name: string, folder: string): string {
  mkdirSync(path.join(folder, 'packages'), { recursive: true })
  for (const file of ['tsup.base.ts', 'tsconfig.json', 'package.json'])
    cpSync(path.join(root, file), path.join(folder, file))
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const target = path.join(folder, 'packages', name)
  const leftOut = ['dist', 'node_modules', 'test', '.turbo'].map((part) => path.join(root, 'packages', name, part))
  cpSync(path.join(root, 'packages', name), target, {
    recursive: true,
    filter: (file) => !leftOut.includes(file),
  })
  return target
}

test('two builds of an npm package have the same bytes', { timeout: 300_000 }, async (t) => {
  const top = t.testdir()
  const places = [
    { folder: 'a', umask: 0o022, env: { TZ: 'UTC' }, at: new Date('2020-01-01') },
    { folder: 'b b/longer', umask: 0o077, env: { TZ: 'Asia/Tokyo' }, at: new Date('2024-05-06') },
  ]
  for (const { folder, umask, env, at } of places) {
    const dir = copyOfPackage('wal', path.join(top, folder))
    utimesSync(path.join(dir, 'README.md'), at, at)
    const run = { cwd: dir, umask, env: { ...env, PATH: `${bin}${path.delimiter}${process.env.PATH}` } }
    await runStep('tsup', [], run)
    await packOne(dir, path.join(top, `out-${folder.charAt(0)}`))
  }
  t.strictSame(await differences(path.join(top, 'out-a'), path.join(top, 'out-b')), [])
  const [[tarball = ''] = []] = await digestsOf(path.join(top, 'out-a'))
  t.match(tarball, /^annal-wal-.*\.tgz$/)
  const listed = execFileSync('tar', ['-tvzf', path.join(top, 'out-b', tarball)], { encoding: 'utf8' })
  const modes = new Map(listed.split('\n').map((line) => [line.split('package/')[1], line.slice(0, 10)]))
  t.equal(modes.get('bin/annal-wal.js'), '-rwxr-xr-x', 'everybody can run the command')
  t.equal(modes.get('dist/index.js'), '-rw-r--r--')
})

test('two builds of the Python client have the same bytes', {
  skip: pythonWithHatchling() === undefined ? 'needs python3-hatchling' : false,
}, async (t) => {
  const top = t.testdir()
  const client = path.join(root, 'packages', 'client-python')
  for (const [name, at] of [['a', '2020-01-01'] as const, ['b b', '2024-05-06'] as const]) {
    const copy = path.join(top, name)
    for (const part of ['pyproject.toml', 'README.md', 'LICENSE', 'src', 'tests'])
      cpSync(path.join(client, part), path.join(copy, part), {
        recursive: true,
        filter: (file) => !file.endsWith('__pycache__'),
      })
    utimesSync(path.join(copy, 'README.md'), new Date(at), new Date(at))
    await packPython(path.join(top, `out-${name.charAt(0)}`), 1_700_000_000, copy)
  }
  const [one, other] = [path.join(top, 'out-a'), path.join(top, 'out-b')]
  t.strictSame(await differences(one, other), [])
  t.match([...(await digestsOf(one)).keys()], [/^annal-.*-py3-none-any\.whl$/, /^annal-.*\.tar\.gz$/])
  writeFileSync(path.join(top, 'b b', 'README.md'), '# Another text\n')
  await packPython(path.join(top, 'out-c'), 1_700_000_000, path.join(top, 'b b'))
  t.equal((await differences(one, path.join(top, 'out-c'))).length, 2, 'other sources have other bytes')
})

const missingBuilder = await missingForImages()

test('an image has the same bytes after another image was built on it', {
  skip: missingBuilder ?? false,
}, async (t) => {
  const dir = t.testdir({ docker: { a: 'text', b: 'text' } })
  // A builder remembers under which name it read an image. The time makes an image that this builder has not seen.
  writeFileSync(path.join(dir, 'docker/server.Dockerfile'), `FROM scratch\nCOPY docker/a /a\nENV TIME=${Date.now()}\n`)
  writeFileSync(path.join(dir, 'docker/web.Dockerfile'), 'ARG SERVER_IMAGE\nFROM $SERVER_IMAGE\nCOPY b /b\n')
  const outs = ['first', 'second'].map((name) => path.join(dir, name))
  for (const out of outs) {
    utimesSync(path.join(dir, 'docker/a'), new Date(), new Date())
    await buildImages({ dir, epoch: 1_700_000_000 }, '1.2.3', out, ['--no-cache'])
  }
  t.strictSame([...(await digestsOf(outs[0] ?? '')).keys()], ['annal-server-1.2.3.oci.tar', 'annal-web-1.2.3.oci.tar'])
  t.strictSame(await differences(outs[0] ?? '', outs[1] ?? ''), [])
})

test('two builds of every package have the same bytes', {
  timeout: 3_600_000,
  skip: process.env.ANNAL_LONG ? false : 'builds everything twice; set ANNAL_LONG=1',
}, async (t) => {
  t.strictSame(await compareTwoBuilds('HEAD', { images: false, dockerOptions: [] }), [])
})
