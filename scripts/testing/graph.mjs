// Which file of the repository a file depends on: what it imports, and whatever else its text names that is there (programs it
// starts, workers, golden files, pages). Too many edges cost a test that need not run; a missing one hides a fault, so a string
// that could be a path is taken for one.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { root } from '../setup.mjs'

const code = /\.(ts|tsx|mts|js|mjs|cjs)$/
/** A line of a block comment: examples in docstrings import nothing. */
const commentLine = /^\s*\*.*$/gm
const typesOnly = /^\s*(?:import|export)\s+type\b[^'"]*from\s+'[^']+'/gm
/** One string of a line, without blanks. */
const string = /(['"`])([^'"`\s]{1,200}?)\1/g
/** 'a', 'b' as the arguments of path.join. */
const listed = /'[^'\s]+'(?:,\s*'[^'\s]+')+/g

/** What everything depends on. */
const everything =
  /^(package\.json|package-lock\.json|tsconfig\.json|tsup\.base\.ts|turbo\.json|\.ci\/|scripts\/(setup|test)\.mjs$|scripts\/testing\/)/
/** What no test reads unless it names it; `npm run check` looks at these. */
const nothing = /^(biome\.json|LICENSE|\.gitignore|\.taprc|.*\.md)$|^benchmarks\/results\/|^docs\//

/** The files of the repository, with those of `also` that are no longer there. */
export function openGraph(also = []) {
  const listing = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  const files = new Set(listing.split('\n').filter((file) => file !== '' && existsSync(path.join(root, file))))
  for (const file of also) files.add(file)
  const folders = new Map()
  for (const file of files) {
    for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
      if (!folders.has(folder)) folders.set(folder, [])
      folders.get(folder).push(file)
    }
  }
  const graph = { files, folders, packages: packagesOf(files), edges: new Map(), texts: new Map() }
  return graph
}

function packagesOf(files) {
  const packages = new Map()
  for (const file of files) {
    if (!/^(packages\/[^/]+|docs|benchmarks)\/package\.json$/.test(file) || !existsSync(path.join(root, file))) continue
    const { name, exports = {} } = JSON.parse(readFileSync(path.join(root, file), 'utf8'))
    packages.set(name, { folder: path.posix.dirname(file), exports })
  }
  return packages
}

export function textOf(graph, file) {
  let text = graph.texts.get(file)
  if (text === undefined) {
    const there = code.test(file) && existsSync(path.join(root, file))
    text = there ? readFileSync(path.join(root, file), 'utf8') : ''
    graph.texts.set(file, text)
  }
  return text
}

/** The files that `file` names, itself left out. */
function edgesOf(graph, file) {
  let edges = graph.edges.get(file)
  if (edges !== undefined) return edges
  edges = new Set()
  const text = textOf(graph, file).replace(commentLine, '').replace(typesOnly, '')
  for (const [, , name] of text.matchAll(string)) for (const target of named(graph, file, name)) edges.add(target)
  for (const [list] of text.matchAll(listed)) {
    const joined = list.replaceAll("'", '').split(/,\s*/).join('/')
    for (const target of named(graph, file, joined)) edges.add(target)
  }
  edges.delete(file)
  graph.edges.set(file, edges)
  return edges
}

function named(graph, from, name) {
  const imported = /^(@[\w-]+\/[\w-]+|[\w-]+)(\/.*)?$/.exec(name)
  const sibling = imported && graph.packages.get(imported[1])
  if (sibling) return entryOf(graph, sibling, imported[2] ?? '')
  if (name.startsWith('#kernel/')) return below(graph, 'packages/engine/assembly')
  // Of a template only what stands before its first value is known: a folder.
  const template = name.indexOf('${')
  const plain = template < 0 ? name : name.slice(0, name.lastIndexOf('/', template) + 1)
  if (plain === '' || !/[/.]/.test(plain)) return []
  const home = path.posix.dirname(from)
  const packageFolder = /^(packages\/[^/]+|docs|benchmarks|docker)\//.exec(from)?.[1] ?? '.'
  const starts = plain.startsWith('.') ? [home] : [home, packageFolder, '.']
  return starts.flatMap((start) => there(graph, path.posix.join(start, plain)))
}

/** A file, all files of a folder, or, for a built file, the sources of its package. */
function there(graph, name) {
  const target = name.replace(/\/$/, '')
  if (graph.files.has(target)) return [target]
  const built = /^(packages\/[^/]+)\/dist(\/|$)/.exec(target)
  if (built) return below(graph, `${built[1]}/src`)
  if (/^packages\/[^/]+\/kernel(\/|$)/.test(target)) return below(graph, 'packages/engine/assembly')
  // The top of the repository or of a package says where something is, not what is read there.
  if (/^(packages|packages\/[^/]+|packages\/[^/]+\/(src|test)|docs|benchmarks|docker|scripts|\.)$/.test(target))
    return []
  return below(graph, target)
}

function below(graph, folder) {
  return graph.folders.get(folder) ?? []
}

function entryOf(graph, { folder, exports }, rest) {
  const entry = exports[`.${rest}`]?.['annal-source'] ?? (rest === '' ? exports['annal-source'] : undefined)
  if (typeof entry === 'string' && graph.files.has(path.posix.join(folder, entry)))
    return [path.posix.join(folder, entry)]
  return below(graph, `${folder}/src`)
}

/** The file and all it depends on. */
export function closureOf(graph, file, among = () => true) {
  const seen = new Set([file])
  const open = [file]
  while (open.length > 0) {
    for (const next of edgesOf(graph, open.pop())) {
      if (seen.has(next) || !among(next)) continue
      seen.add(next)
      open.push(next)
    }
  }
  return seen
}

/** Those of `tests` that what changed can affect, and why where that is more than their imports. */
export function affectedTests(graph, tests, changed) {
  const reasons = []
  const wide = changed.filter((file) => everything.test(file))
  if (wide.length > 0) return { tests, reasons: [`everything depends on ${wide.join(', ')}`] }
  const closures = new Map(tests.map((test) => [test, closureOf(graph, test)]))
  const affected = new Set()
  for (const file of changed) {
    let reached = tests.filter((test) => closures.get(test).has(file))
    const owner = /^(packages\/[^/]+|docs|benchmarks|docker)\//.exec(file)?.[1]
    const settings =
      owner !== undefined && file.split('/').length === owner.split('/').length + 1 && !nothing.test(file)
    if (settings) {
      // What configures a package is behind everything that uses the package.
      reached = tests.filter((test) => [...closures.get(test)].some((one) => one.startsWith(`${owner}/`)))
      reasons.push(`${file}: every test that uses ${owner}`)
    } else if (/^docs\/.*\.(md|ts)$/.test(file)) {
      reached = [...reached, ...tests.filter((test) => test.startsWith('docs/test/'))]
    } else if (!nothing.test(file) && (reached.length === 0 || !code.test(file))) {
      // Nobody may name what is no code, and yet read it: the files of a folder, a package of another language.
      const widened = owner === undefined ? tests : tests.filter((test) => test.startsWith(`${owner}/test/`))
      reached = [...reached, ...widened]
      reasons.push(`${file}: all tests of ${owner ?? 'the repository'}`)
    }
    for (const test of reached) affected.add(test)
  }
  return { tests: tests.filter((test) => affected.has(test)), reasons }
}
