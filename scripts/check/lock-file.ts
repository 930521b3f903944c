// The lock file names the binaries for every platform, not only for those that the registry at hand had: `npm ci` refuses a lock file that
// leaves any of them out.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { houseDir } from './source-files.ts'

interface Locked {
  readonly optionalDependencies?: { readonly [name: string]: string }
}

export function lockFileFaults(): string[] {
  const text = readFileSync(path.join(houseDir, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: { readonly [path: string]: Locked } }
  return Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !(`${folder}/node_modules/${name}` in packages || `node_modules/${name}` in packages))
      .map(
        ([name, version]) => `package-lock.json: ${folder} has no entry for ${name} ${version} (docs/decisions/0002)`,
      ),
  )
}
