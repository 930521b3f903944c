// Installs packages that a benchmark compares with and that are not dependencies of the project, on first use, in a temporary directory
// where later runs find them.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The exports of a package at an exact version. The caller supplies the types of that version. */
export function installed<T>(name: string, version: string): T {
  const directory = join(tmpdir(), 'annal-peers', `${name}-${version}`)
  const manifest = join(directory, 'package.json')
  if (!existsSync(join(directory, 'node_modules', name))) {
    mkdirSync(directory, { recursive: true })
    writeFileSync(manifest, '{"private":true}')
    const args = ['install', '--no-audit', '--no-fund', '--save-exact', `${name}@${version}`]
    // Some packages compile themselves, which takes time.
    execFileSync('npm', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'], timeout: 900_000 })
  }
  return createRequire(manifest)(name) as T
}
