// `node scripts/install-locked.ts TARBALLS DIR`: puts the packed command `annal` into DIR/node_modules with exactly the versions of
// dependencies that package-lock.json states, copied from the installation of this checkout. `npm install` of the tarballs would take the
// newest versions that fit, which nobody has tested and which change from day to day.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

interface Locked {
  readonly version?: string
  readonly link?: boolean
  readonly resolved?: string
  readonly dependencies?: { readonly [name: string]: string }
  readonly optionalDependencies?: { readonly [name: string]: string }
  readonly peerDependencies?: { readonly [name: string]: string }
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } }
}

export type Lock = { readonly [folder: string]: Locked }

export function readLock(): Lock {
  return (JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as { readonly packages: Lock })
    .packages
}

/** The folders of the lock file that a package of this repository needs when it runs, its own among them. */
export function neededFolders(lock: Lock, start: string): ReadonlySet<string> {
  const found = new Set<string>()
  const open = [start]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (found.has(folder)) continue
    found.add(folder)
    const entry = lock[folder] ?? {}
    for (const name of dependenciesOf(entry)) {
      const target = resolveFrom(lock, folder, name)
      if (target !== undefined) open.push(target)
      else if (entry.dependencies?.[name] !== undefined && entry.optionalDependencies?.[name] === undefined)
        throw new Error(`package-lock.json: ${folder} needs ${name}, which has no entry`)
    }
  }
  return found
}

function dependenciesOf(entry: Locked): string[] {
  const peers = Object.keys(entry.peerDependencies ?? {})
  const wanted = peers.filter((name) => entry.peerDependenciesMeta?.[name]?.optional !== true)
  return [...Object.keys(entry.dependencies ?? {}), ...Object.keys(entry.optionalDependencies ?? {}), ...wanted]
}

/** As Node.js looks for a package: in the node_modules of the folder, and of every folder above. */
function resolveFrom(lock: Lock, folder: string, name: string): string | undefined {
  for (let at = folder; ; at = path.posix.dirname(at)) {
    const candidate = path.posix.join(at === '.' ? '' : at, 'node_modules', name)
    const entry = lock[candidate]
    if (entry !== undefined) return entry.link ? entry.resolved : candidate
    if (at === '.') return undefined
  }
}

/** Copies everything. Optional packages that this platform does not have are left out. */
export function installLocked(tarballs: readonly string[], dir: string): void {
  const lock = readLock()
  const modules = path.join(dir, 'node_modules')
  mkdirSync(modules, { recursive: true })
  const folders = [...neededFolders(lock, 'packages/cli')].sort()
  const nameOf = (workspace: string) =>
    (JSON.parse(readFileSync(path.join(root, workspace, 'package.json'), 'utf8')) as { readonly name: string }).name
  for (const folder of folders) {
    const [, workspace] = /^(packages\/[^/]+)/.exec(folder) ?? []
    const place =
      workspace === undefined
        ? folder.slice('node_modules/'.length)
        : nameOf(workspace) + folder.slice(workspace.length)
    const target = path.join(modules, place)
    if (folder === workspace) unpack(tarballOf(tarballs, place), target)
    else if (existsSync(path.join(root, folder))) copyPackage(path.join(root, folder), target)
  }
}

function tarballOf(tarballs: readonly string[], name: string): string {
  const begin = `${name.replace('@', '').replace('/', '-')}-`
  const found = tarballs.find((file) => new RegExp(`^${begin}\\d`).test(path.basename(file)))
  if (found === undefined) throw new Error(`there is no tarball of ${name}`)
  return found
}

function unpack(tarball: string, target: string): void {
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['--extract', '--file', tarball, '--strip-components=1', '--no-same-owner', '-C', target])
}

/** Without the packages inside it, which have entries of their own in the lock file. */
function copyPackage(source: string, target: string): void {
  const inside = path.join(source, 'node_modules')
  cpSync(source, target, { recursive: true, filter: (file) => file !== inside })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [from, dir] = process.argv.slice(2)
  if (from === undefined || dir === undefined) {
    console.error('usage: node scripts/install-locked.ts TARBALLS DIR')
    process.exitCode = 64
  } else {
    const names = readdirSync(from).filter((name) => name.endsWith('.tgz'))
    installLocked(
      names.map((name) => path.join(from, name)),
      dir,
    )
  }
}
