// Pages that lead readers to files: each path that they name exists, and so does each page that they link to.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { houseDir } from './source-files.ts'

/** Pages whose paths in backticks are checked. Links are checked in every page. */
const pagesWithPaths = ['README.md', 'docs/architecture.md', 'docs/glossary.md', 'docs/contributing.md']

/** Pages that the build of the site writes; it checks the links to them. */
const builtPages = /^docs\/(benchmarks|reference\/(http-api|libraries\/\w+))\.md$/

/** Folders of a data directory, which are not in the repository. */
const dataFolders = new Set(['wal', 'checkpoints', 'originals', 'backups', 'imports', 'archive', 'queries', 'audit'])

/** Returns a sentence for each path without a file and for each link without a page. */
export function namedPathFaults(): string[] {
  const read = (page: string) => readFileSync(path.join(houseDir, page), 'utf8')
  return [
    ...pagesWithPaths.flatMap((page) => pathFaults(page, read(page))),
    ...['README.md', ...docPages('docs')].flatMap((page) => linkFaults(page, read(page))),
  ]
}

/** The paths in backticks of a page that do not exist. */
export function pathFaults(page: string, text: string): string[] {
  const bases = basesOfPaths()
  return pathsIn(text)
    .filter((name) => !bases.some((base) => existsSync(path.join(houseDir, base, name))))
    .map((name) => `${page}: there is no ${name}`)
}

/** The relative links of a page that lead to no page. */
export function linkFaults(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:|mailto:|#|\/)([^)\s#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to)
  const target = (to: string) => path.posix.join(path.posix.dirname(page), to)
  return [...new Set(links)]
    .filter((to) => !builtPages.test(target(to)) && !existsSync(path.join(houseDir, target(to))))
    .map((to) => `${page}: the link to ${to} leads nowhere`)
}

/** The texts in backticks that are paths of this repository: they end as a source file or a folder does. */
export function pathsIn(text: string): readonly string[] {
  const withoutBlocks = text.replaceAll(/^```[\s\S]*?^```/gm, '')
  const spans = [...withoutBlocks.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...new Set(spans.filter(isPath))]
}

/** Paths are written from the top, from docs, from a package, or from the sources of a package. */
function basesOfPaths(): readonly string[] {
  const packages = readdirSync(path.join(houseDir, 'packages')).map((name) => `packages/${name}`)
  return ['', 'docs', ...packages, ...packages.map((name) => `${name}/src`)]
}

function isPath(span: string): boolean {
  if (!/^\w[\w.-]*(\/[\w.-]+)*\/?$/.test(span)) return false
  if (/^(packages|docs|scripts|benchmarks|docker)\//.test(span)) return true
  if (span.endsWith('/')) return !dataFolders.has(span.slice(0, -1))
  return /\/.*\.(ts|tsx|mjs|js|md|json|proto|py)$|^[\w-]+\.(ts|tsx|mjs|proto)$/.test(span)
}

function docPages(folder: string): string[] {
  return readdirSync(path.join(houseDir, folder)).flatMap((name) => {
    const file = `${folder}/${name}`
    if (name.startsWith('.') || name === 'node_modules') return []
    if (statSync(path.join(houseDir, file)).isDirectory()) return docPages(file)
    return name.endsWith('.md') ? [file] : []
  })
}
