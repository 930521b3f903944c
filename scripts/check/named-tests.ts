// Pages that say which test shows what: the file is there, and has a test of that name.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { houseDir } from './source-files.ts'

const pages = [
  'docs/guarantees.md',
  'docs/reliability.md',
  'docs/reference/security.md',
  'docs/reference/spec-coverage.md',
]
/** `` `server/test/x.test.ts`: a sentence; another `` up to the end of the cell; the file also with `packages/` before it. */
const mention = /`(?:packages\/)?([a-z-]+\/test\/[\w/-]+\.test\.ts)`(?:: ([^|`]+))?/g

export function namedTestFaults(): string[] {
  return pages.flatMap((page) => {
    const text = readFileSync(path.join(houseDir, page), 'utf8')
    return [...text.matchAll(mention)].flatMap(([, file = '', names = '']) => {
      const source = path.join(houseDir, /^(docker|docs|benchmarks|scripts)\//.test(file) ? '' : 'packages', file)
      if (!existsSync(source)) return [`${page}: there is no ${file}`]
      const tests = readFileSync(source, 'utf8')
      return sentences(names)
        .filter((name) => !tests.includes(name))
        .map((name) => `${page}: ${file} has no test "${name}"`)
    })
  })
}

function sentences(names: string): string[] {
  return names
    .split('; ')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
