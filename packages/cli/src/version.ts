// The version of this package.
import { readFileSync } from 'node:fs'

interface PackageFile {
  readonly version: string
}

// One folder up, from the source and from the build.
const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
export const version = (JSON.parse(file) as PackageFile).version
