// A release: one version everywhere, a changelog, checksums, lists of components, and nothing published without --publish.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { publishedPackages } from '../pack.ts'
import { differences, writeChecksums } from '../release/checksums.ts'
import { publicationCommands } from '../release/publication.ts'
import { debianComponents } from '../release/sbom.ts'
import { changelogFaults, sectionOf, setVersion, versionFaults, versionOf } from '../release/version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The files of this repository that state a version. */
function copyOfVersions(t: Test): string {
  const dir = t.testdir()
  const packages = readdirSync(path.join(root, 'packages')).filter((name) => name !== 'client-python')
  const files = [
    'package.json',
    'package-lock.json',
    'benchmarks/package.json',
    'docs/package.json',
    'docs/changelog.md',
    'docker/helm/annal/Chart.yaml',
    'packages/client-python/pyproject.toml',
    'packages/client-python/src/annal/__init__.py',
    ...packages.map((name) => `packages/${name}/package.json`),
  ]
  for (const file of files) cpSync(path.join(root, file), path.join(dir, file), { recursive: true })
  return dir
}

test('every place states one version', (t) => {
  t.strictSame(versionFaults(root), [])
  t.end()
})

test('a prepared version is in every place, and the unreleased changes have its heading', (t) => {
  const dir = copyOfVersions(t)
  const unreleased = sectionOf(readFileSync(path.join(dir, 'docs/changelog.md'), 'utf8'), 'Unreleased')
  setVersion(dir, '12.34.56', '2026-01-02')
  t.equal(versionOf(dir), '12.34.56')
  t.strictSame(versionFaults(dir), [])
  t.strictSame(changelogFaults(dir), [])
  const changelog = readFileSync(path.join(dir, 'docs/changelog.md'), 'utf8')
  t.equal(sectionOf(changelog, '12.34.56'), unreleased)
  t.match(changelog, '## 12.34.56 (2026-01-02)')
  // Only lines that state versions of ours have changed.
  const changed = execFileSync('bash', [
    '-c',
    'diff "$0" "$1" | grep "^>" || true',
    path.join(root, 'package-lock.json'),
    path.join(dir, 'package-lock.json'),
  ])
  const lines = changed.toString().trim().split('\n')
  t.ok(lines.length > 10)
  t.strictSame(
    lines.filter((line) => !/^> +"(version|@annal\/\w+|annal)": "12\.34\.56",?$/.test(line)),
    [],
  )
  t.throws(() => setVersion(dir, '1.0', '2026-01-02'), /version 1\.0 has not the form/)
  t.end()
})

test('each place with another version is named', (t) => {
  const dir = copyOfVersions(t)
  const version = versionOf(dir)
  const change = (file: string, from: string, to: string) => {
    const text = readFileSync(path.join(dir, file), 'utf8')
    t.ok(text.includes(from), `${file} has ${from}`)
    writeFileSync(path.join(dir, file), text.replace(from, to))
  }
  change('packages/wal/package.json', `"version": "${version}"`, '"version": "7.0.0"')
  change('packages/cli/package.json', `"@annal/wal": "${version}"`, '"@annal/wal": "^7.0.0"')
  change('packages/client-python/pyproject.toml', `version = "${version}"`, 'version = "7.0.1"')
  change('packages/client-python/src/annal/__init__.py', `__version__ = "${version}"`, '__version__ = "7.0.2"')
  change('docker/helm/annal/Chart.yaml', `appVersion: ${version}`, 'appVersion: 7.0.4')
  change(
    'package-lock.json',
    `"name": "@annal/engine",\n      "version": "${version}"`,
    '"name": "@annal/engine",\n      "version": "7.0.3"',
  )
  t.strictSame(versionFaults(dir).sort(), [
    `docker/helm/annal/Chart.yaml: version 7.0.4 instead of ${version}`,
    `package-lock.json: @annal/engine has version 7.0.3 instead of ${version}`,
    `packages/cli/package.json: dependencies has @annal/wal ^7.0.0 instead of ${version}`,
    `packages/client-python/pyproject.toml: version 7.0.1 instead of ${version}`,
    `packages/client-python/src/annal/__init__.py: version 7.0.2 instead of ${version}`,
    `packages/wal/package.json: version 7.0.0 instead of ${version}`,
  ])
  writeFileSync(path.join(dir, 'docs/changelog.md'), '# Changelog\n\n## Unreleased\n\n- A change.\n')
  t.strictSame(changelogFaults(dir), [
    `docs/changelog.md: there is no text for ${version}`,
    'docs/changelog.md: there are unreleased changes',
  ])
  t.end()
})

test('checksums are those that sha256sum finds, and two folders are compared byte by byte', async (t) => {
  const dir = t.testdir({ one: { a: 'first', b: 'second' }, other: { a: 'first', b: 'Second', c: 'third' } })
  await writeChecksums(path.join(dir, 'one'))
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: path.join(dir, 'one') })
  const found = await differences(path.join(dir, 'one'), path.join(dir, 'other'))
  t.match(found, [/^b has other bytes in a second build: /, /^c is in one of two builds only$/])
  t.equal(found.length, 2)
  t.strictSame(await differences(path.join(dir, 'one'), path.join(dir, 'one')), [])
})

test('Debian packages are components with the names that scanners know', (t) => {
  const [component, ...more] = debianComponents('libstdc++6\t12.2.0-14+deb12u1\tamd64\n')
  t.equal(component?.purl, 'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64')
  t.strictSame(more, [])
  t.end()
})

test('what would be published is every artifact, dependencies first, with its provenance', (t) => {
  const out = t.testdir({ 'annal-1.2.3-py3-none-any.whl': '', 'annal-1.2.3.tar.gz': '' })
  const release = {
    version: '1.2.3',
    commit: 'abc',
    out,
    images: 'registry.example/annal',
    dockerOptions: [],
    epoch: 5,
  }
  const commands = publicationCommands(release)
  const packages = commands.filter(({ program }) => program === 'npm')
  t.equal(packages.length, publishedPackages.length)
  t.ok(packages.every(({ args }) => args.includes('--provenance')))
  t.match(packages[0]?.args.at(-1), /annal-wal-1\.2\.3\.tgz$/)
  t.match(packages.at(-1)?.args.at(-1), /\/annal-1\.2\.3\.tgz$/)
  t.equal(commands[0]?.args[0], 'tag')
  t.match(commands.find(({ program }) => program === 'python3')?.args, [
    /-m/,
    /twine/,
    /upload/,
    /--attestations/,
    /whl$/,
    /tar\.gz$/,
  ])
  t.equal(commands.filter(({ program }) => program === 'docker').length, 2)
  t.equal(
    publicationCommands({ ...release, images: undefined }).filter(({ program }) => program === 'docker').length,
    0,
  )
  t.end()
})

test('without --dry-run or --publish nothing happens', (t) => {
  const main = path.join(root, 'scripts/release/main.ts')
  for (const args of [[], ['--dry-run', '--publish'], ['--publish', '--as', '1.0.0'], ['prepare']]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
    t.equal(status, 64, args.join(' '))
    t.match(stderr, /^usage: npm run release/)
  }
  t.end()
})

test('a folder with files that are not of a release is not removed', (t) => {
  const out = t.testdir({ 'letter.txt': 'kept' })
  const main = path.join(root, 'scripts/release/main.ts')
  const { status, stderr } = spawnSync(process.execPath, [main, '--dry-run', '--out', out], { encoding: 'utf8' })
  t.not(status, 0)
  t.match(stderr, /has files, and no SHA256SUMS of an earlier release/)
  t.strictSame(readdirSync(out), ['letter.txt'])
  t.end()
})
