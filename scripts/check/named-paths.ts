// Pages that lead readers to files: each path that they name exists, and so does each page that they link to.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { houseDir } from './source-files.ts'

/** Pages whose paths are not checked: they describe other directories, or the state of another day. */
const pagesOfOtherPlaces = /^docs\/(guide|lab|decisions)\/|^docs\/changelog\.md$/

/** Pages that the build of the site writes; it checks the links to them. */
const builtPages = /^docs\/(benchmarks|reference\/(http-api|libraries\/\w+))\.md$/

/** Folders of a data directory, which are not in the repository. */
const dataFolders = new Set([
  'wal',
  'checkpoints',
  'originals',
  'backups',
  'imports',
  'archive',
  'queries',
  'audit',
  'uploads',
])

/** Folders whose folders each have a row in the architecture page. */
const foldersWithRows = /^packages\/(wal|engine|server|client|cli)\/(src|assembly)\//

/** Returns a sentence for each path without a file, each link without a page, and each folder of sources without a row. */
export function namedPathFaults(): string[] {
  const all = filesAndFolders()
  const pages = all.filter((name) => /^(docs\/.*|README|SECURITY)\.md$/.test(name))
  return pages.flatMap((page) => {
    const text = readFileSync(path.join(houseDir, page), 'utf8')
    const rows = page === 'docs/architecture.md' ? folderFaults(page, text, all) : []
    return [...(pagesOfOtherPlaces.test(page) ? [] : pathFaults(page, text, all)), ...linkFaults(page, text), ...rows]
  })
}

/** The folders of sources that have no row in a table of the page. The tests of a package are not listed. */
export function folderFaults(page: string, text: string, all = filesAndFolders()): string[] {
  const rows = new Set([...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, folder]) => folder))
  const folders = all.filter((name) => name.endsWith('/') && foldersWithRows.test(name) && !name.includes('/testing/'))
  return folders
    .map((folder) => folder.slice(0, -1))
    .filter((folder) => !/\/(src|assembly)$/.test(folder) && !rows.has(folder))
    .map((folder) => `${page}: ${folder} has no row`)
}

/** The paths in backticks of a page that do not exist. A path may begin below the top: `http/bodies.ts`. */
export function pathFaults(page: string, text: string, all = filesAndFolders()): string[] {
  const exists = (name: string) => all.some((file) => file === name || file.endsWith(`/${name}`))
  return pathsIn(text)
    .filter((name) => !exists(name))
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

function isPath(span: string): boolean {
  if (!/^\w[\w.-]*(\/[\w.-]+)*\/?$/.test(span)) return false
  if (/^(packages|docs|scripts|benchmarks|docker)\//.test(span)) return true
  if (span.endsWith('/')) return !dataFolders.has(span.slice(0, -1))
  return /\/.*\.(ts|tsx|mjs|js|md|json|proto|py)$|^[\w-]+\.(ts|tsx|mjs|proto)$/.test(span)
}

/** From the top of the repository; folders end with a slash, and are listed without one, too. */
function filesAndFolders(): readonly string[] {
  const options = { cwd: houseDir, encoding: 'utf8', maxBuffer: 1 << 26 } as const
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], options).split('\n')
  const files = listed.filter((file) => file !== '' && existsSync(path.join(houseDir, file)))
  const folders = new Set(files.flatMap((file) => foldersAbove(file)))
  return [...files, ...[...folders].flatMap((folder) => [folder, `${folder}/`])]
}

function foldersAbove(file: string): string[] {
  const folder = path.posix.dirname(file)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}
