// Packages that the benchmark compares with and the project does not depend on: installed when they are first asked for, beside
// other temporary files, where the next run finds them.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a package exports, at exactly the version; the types are the caller's, who knows that version. */
export function installed<T>(name: string, version: string): T {
  const directory = join(tmpdir(), 'annal-peers', `${name}-${version}`)
  const manifest = join(directory, 'package.json')
  if (!existsSync(join(directory, 'node_modules', name))) {
    mkdirSync(directory, { recursive: true })
    writeFileSync(manifest, '{"private":true}')
    const args = ['install', '--no-audit', '--no-fund', '--save-exact', `${name}@${version}`]
    // Some compile themselves, in as long as that takes.
    execFileSync('npm', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'], timeout: 900_000 })
  }
  return createRequire(manifest)(name) as T
}
