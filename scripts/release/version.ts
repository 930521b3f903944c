// One version in every place that states it: manifests of npm packages with their dependencies on each other, the lock file, the Python
// client, the chart of Helm, and the changelog.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly [member: string]: unknown
}

interface LockFile {
  readonly packages: { readonly [folder: string]: { readonly name?: string; readonly version?: string } }
}

const pythonProject = 'packages/client-python/pyproject.toml'
const pythonModule = 'packages/client-python/src/annal/__init__.py'
const chart = 'docker/helm/annal/Chart.yaml'
const changelog = 'docs/changelog.md'
const dependencyKinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

const read = (root: string, file: string) => readFileSync(path.join(root, file), 'utf8')

export function versionOf(root: string): string {
  return (JSON.parse(read(root, 'package.json')) as Manifest).version
}

/** The manifests of this repository, from its top. */
function manifestFiles(root: string): string[] {
  const packages = readdirSync(path.join(root, 'packages')).filter((name) => name !== 'client-python')
  return ['package.json', ...packages.map((name) => `packages/${name}/package.json`)].concat(
    'benchmarks/package.json',
    'docs/package.json',
  )
}

/** A sentence for each place that states another version. */
export function versionFaults(root: string): string[] {
  const version = versionOf(root)
  const manifests = manifestFiles(root).map((file): Manifest & { readonly file: string } => ({
    file,
    ...(JSON.parse(read(root, file)) as Manifest),
  }))
  const ours = new Set(manifests.map(({ name }) => name))
  const faults = manifests.flatMap((manifest) => [
    ...(manifest.version === version ? [] : [`${manifest.file}: version ${manifest.version} instead of ${version}`]),
    ...dependencyKinds.flatMap((kind) =>
      Object.entries((manifest[kind] ?? {}) as { readonly [name: string]: string })
        .filter(([name, range]) => ours.has(name) && range !== version)
        .map(([name, range]) => `${manifest.file}: ${kind} has ${name} ${range} instead of ${version}`),
    ),
  ])
  const { packages } = JSON.parse(read(root, 'package-lock.json')) as LockFile
  for (const { file, name } of manifests) {
    const locked = packages[path.posix.dirname(file).replace(/^\.$/, '')]?.version
    if (locked !== version) faults.push(`package-lock.json: ${name} has version ${locked} instead of ${version}`)
  }
  for (const [file, pattern] of otherVersions) {
    const stated = pattern.exec(read(root, file))?.[2]
    if (stated !== version) faults.push(`${file}: version ${stated} instead of ${version}`)
  }
  return faults
}

const otherVersions: readonly (readonly [string, RegExp])[] = [
  [pythonProject, /^(version = ")([^"]*)(")$/m],
  [pythonModule, /^(__version__ = ")([^"]*)(")$/m],
  [chart, /^(version: )(.*)()$/m],
  [chart, /^(appVersion: )(.*)()$/m],
]

/** A sentence if the changelog has no section of the version, or changes that belong to none. */
export function changelogFaults(root: string): string[] {
  const version = versionOf(root)
  const text = read(root, changelog)
  const faults: string[] = []
  if ((sectionOf(text, version) ?? '').trim() === '') faults.push(`${changelog}: there is no text for ${version}`)
  if ((sectionOf(text, 'Unreleased') ?? '').trim() !== '') faults.push(`${changelog}: there are unreleased changes`)
  return faults
}

/** The text below the heading of the version, which may have a date after it. */
export function sectionOf(text: string, version: string): string | undefined {
  const sections = text.split(/^## /m).slice(1)
  const section = sections.find((part) => /^\S+/.exec(part)?.[0] === version)
  return section?.slice(section.indexOf('\n') + 1)
}

/**
 * Writes the version everywhere and gives the unreleased changes its heading.
 * @param day such as `2026-11-27`
 */
export function setVersion(root: string, version: string, day: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`version ${version} has not the form 1.2.3`)
  const before = versionOf(root)
  const names = new Set(manifestFiles(root).map((file) => (JSON.parse(read(root, file)) as Manifest).name))
  // A line that states a version of one of our packages. The form of the files stays as it is.
  const withDependencies = (text: string) =>
    text.replace(/^(\s*")([^"]+)(": ")([^"]+)(",?)$/gm, (line, open, name, middle, range, close) =>
      names.has(name) && range === before ? `${open}${name}${middle}${version}${close}` : line,
    )
  for (const file of manifestFiles(root))
    replaceIn(root, file, (text) => withDependencies(text).replace(/^( {2}"version": ")[^"]*(",)$/m, `$1${version}$2`))
  replaceIn(root, 'package-lock.json', (text) => withOwnVersions(withDependencies(text), root, version))
  for (const [file, pattern] of otherVersions) replaceIn(root, file, (text) => text.replace(pattern, `$1${version}$3`))
  replaceIn(root, changelog, (text) => text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${day})`))
}

/** The lock file with the version in the entries of our folders, and at its top. */
function withOwnVersions(text: string, root: string, version: string): string {
  const folders = manifestFiles(root).map((file) => path.posix.dirname(file).replace(/^\.$/, ''))
  return folders.reduce(
    (lock, folder) =>
      lock.replace(
        new RegExp(`^( {4}"${folder}": \\{\\n(?: {6}"name": "[^"]*",\\n)? {6}"version": ")[^"]*`, 'm'),
        `$1${version}`,
      ),
    text.replace(/^( {2}"version": ")[^"]*(",)$/m, `$1${version}$2`),
  )
}

function replaceIn(root: string, file: string, change: (text: string) => string): void {
  writeFileSync(path.join(root, file), change(read(root, file)))
}
